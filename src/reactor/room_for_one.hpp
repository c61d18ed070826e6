/// Memory for an operation of Asio's, had beforehand.
#pragma once

#include <cstddef>
#include <utility>

namespace holdfast::reactor {

/// Room for one operation, of which there is never more than one at a time: to begin it can't fail. Asio
/// gives the room back before it calls the handler, which may begin the next one. An io_context that is
/// destroyed looks at what it didn't get to do, so this outlives it, or belongs to what the handler owns.
class room_for_one {
 public:
  template <class T>
  struct allocator {
    using value_type = T;

    explicit allocator(room_for_one& in) noexcept : room{&in} {}
    template <class U>
    allocator(allocator<U> const& other) noexcept : room{other.room} {}  // NOLINT(*-explicit-*): as it has to

    [[nodiscard]] T* allocate(std::size_t /*n: 1*/) noexcept {
      static_assert(sizeof(T) <= sizeof(room->bytes_) && alignof(T) <= alignof(std::max_align_t));
      return reinterpret_cast<T*>(room->bytes_);
    }
    void deallocate(T* /*at*/, std::size_t /*n*/) noexcept {}

    template <class U>
    friend bool operator==(allocator const& a, allocator<U> const& b) noexcept {
      return a.room == b.room;
    }

    room_for_one* room;
  };

  room_for_one() = default;
  room_for_one(room_for_one const&) = delete;
  room_for_one& operator=(room_for_one const&) = delete;

 private:
  alignas(std::max_align_t) std::byte bytes_[256];
};

/// A handler whose operation is put into that room.
template <class F>
struct in_room {
  using allocator_type = room_for_one::allocator<std::byte>;

  [[nodiscard]] allocator_type get_allocator() const noexcept { return allocator_type{*room}; }

  template <class... Args>
  void operator()(Args&&... args) {
    f(std::forward<Args>(args)...);
  }

  room_for_one* room;
  F f;
};
template <class F>
in_room(room_for_one*, F) -> in_room<F>;

}  // namespace holdfast::reactor
