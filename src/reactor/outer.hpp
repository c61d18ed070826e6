/// What an event loop of the program, in which an io_context is driven, has to hear of it.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <utility>

#include "reactor/io_context.hpp"

namespace holdfast::reactor {

/// From now on the descriptor, of epoll, is readable when handlers may be ready. Throws std::bad_alloc.
[[nodiscard]] int descriptor_for_outer(boost::asio::io_context& io);

/// Whether that was asked for.
[[nodiscard]] bool has_outer(boost::asio::io_context& io) noexcept;

/// If so, makes its descriptor readable, from any thread.
void tell_outer(boost::asio::io_context& io) noexcept;

/// asio::post() by code that doesn't drive, perhaps in another thread.
template <class F>
void post(boost::asio::io_context& io, F f) {
  boost::asio::post(io, std::move(f));
  tell_outer(io);
}

}  // namespace holdfast::reactor
