/// Handlers whose operations have their memory already.
#pragma once

#include <cstddef>
#include <holdfast/room_for_one.hpp>
#include <utility>

namespace holdfast::reactor {

using detail::room_for_one;

/// A handler whose operation is allocated in a room_for_one.
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
