/// A function to be called once, or a few times, later.
#pragma once

#include <cstddef>
#include <holdfast/move_only_function.hpp>

namespace holdfast {

/// Enough for the captures of the hot paths: a few pointers and a number, or a handler of the user's.
constexpr std::size_t usual_room = 48;

/// Has room in place for captures for which std::function would allocate.
template <class Signature, std::size_t Room = usual_room>
using callback = detail::move_only_function<Signature, Room>;

}  // namespace holdfast
