/// Memory for one of Asio's operations. <holdfast/asio.hpp> includes it.
#pragma once

#include <cstddef>

namespace holdfast::detail {

/// Room for an operation of which there is never more than one at a time: starting it can't fail. Asio gives
/// the room back before it calls the handler, which may start the next operation. The destructor of an
/// io_context accesses its pending operations, so the room outlives the io_context, or belongs to an object
/// that the handler owns.
class room_for_one {
 public:
  template <class T>
  struct allocator {
    using value_type = T;

    explicit allocator(room_for_one& storage) noexcept : room{&storage} {}
    template <class U>
    allocator(allocator<U> const& other) noexcept : room{other.room} {}  // NOLINT(*-explicit-*): required

    [[nodiscard]] T* allocate(std::size_t /*n: 1*/) noexcept {
      static_assert(sizeof(T) <= sizeof(room->bytes_) && alignof(T) <= alignof(std::max_align_t));
      return reinterpret_cast<T*>(room->bytes_);
    }
    void deallocate(T* /*p*/, std::size_t /*n*/) noexcept {}

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

}  // namespace holdfast::detail
