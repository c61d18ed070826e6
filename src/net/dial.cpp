#include "net/dial.hpp"

#include <unistd.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <exception>
#include <utility>

namespace holdfast::net {
namespace {

namespace asio = boost::asio;

std::string name_of(endpoint const& to) {
  if (to.transport == endpoint::scheme::unix_socket) return to.path;
  bool const v6 = to.host.find(':') != std::string::npos;
  return (v6 ? "[" + to.host + "]" : to.host) + ":" + std::to_string(to.port);
}

/// Sets no_delay, for small requests, and keep_alive, to detect a dead peer in the end. Ignores errors.
void tune(stream_socket& socket, endpoint::scheme scheme) {
  boost::system::error_code ignored;
  if (scheme != endpoint::scheme::unix_socket) {
    socket.set_option(asio::ip::tcp::no_delay{true}, ignored);
    socket.set_option(asio::socket_base::keep_alive{true}, ignored);
  }
  socket.non_blocking(true, ignored);
}

/// Opens a socket that programs started by this one don't inherit: an inherited connection isn't ended when
/// this process closes it or dies, and gives the other program all our rights.
stream_socket open_socket(asio::io_context& io, asio::generic::stream_protocol const& protocol,
                          boost::system::error_code& failure) {
  stream_socket result{io};
  auto const file = ::socket(protocol.family(), protocol.type() | SOCK_CLOEXEC, protocol.protocol());
  if (file < 0) {
    failure.assign(errno, boost::system::system_category());
  } else {
    try {
      result.assign(protocol, file, failure);
    } catch (std::exception const&) {
      ::close(file);
      throw;
    }
    if (failure) ::close(file);
  }
  return result;
}

}  // namespace

dial::dial(asio::io_context& io, endpoint to)
    : io_{io}, to_{std::move(to)}, name_{name_of(to_)}, socket_{io} {}

void dial::start(handler done) {
  std::lock_guard const hold{mutex_};
  if (cancelled_) {
    post_cancelled(done, "connect to " + name_);
    return;
  }
  done_ = std::move(done);
  addresses_ = known_addresses(to_);
  if (!addresses_.empty()) return try_next();
  resolution_ = resolve(io_, to_, [self = shared_from_this()](std::string const& failure, auto found) {
    self->resolved(failure, std::move(found));
  });
}

void dial::resolved(std::string const& failure, std::vector<resolved_address> found) {
  if (!failure.empty()) return finish("resolve " + to_.host + ": " + failure);
  std::lock_guard const hold{mutex_};
  if (cancelled_) return;
  resolution_.reset();
  addresses_ = std::move(found);
  try_next();
}

/// Under the lock; there is a next address.
void dial::try_next() {
  auto const& next = addresses_[next_];
  boost::system::error_code failure;
  socket_ = open_socket(io_, next.socket_address.protocol(), failure);
  if (failure) {
    asio::post(io_, [self = shared_from_this(), failure] { self->connected(failure); });
    return;
  }
  socket_.async_connect(next.socket_address,
                        [self = shared_from_this()](auto outcome) { self->connected(outcome); });
}

void dial::connected(boost::system::error_code failure) {
  {
    std::lock_guard const hold{mutex_};
    if (cancelled_) return;
    if (failure) {
      boost::system::error_code ignored;
      socket_.close(ignored);
      auto const& text = addresses_[next_].text;
      if (!failures_.empty()) failures_ += "; ";
      if (text != name_) failures_ += text + ": ";
      failures_ += failure.message();
      if (failure == boost::system::errc::too_many_files_open)
        failures_ += " (raise the number of files that this process may have open: ulimit -n)";
      if (next_ + 1 < addresses_.size()) {
        ++next_;
        return try_next();
      }
    } else {
      failures_.clear();
      tune(socket_, to_.transport);
    }
  }
  finish(failure ? "connect to " + name_ + ": " + failures_ : std::string{});
}

void dial::finish(std::string const& failure) {
  stream_socket socket{io_};
  handler done;
  {
    std::lock_guard const hold{mutex_};
    if (failure.empty()) socket = std::move(socket_);
    resolution_.reset();
    std::swap(done, done_);
  }
  if (done) done(failure, std::move(socket));
}

void dial::cancel() noexcept {
  handler done;  // destroyed when the lock is released: it may own the caller
  std::lock_guard const hold{mutex_};
  if (cancelled_) return;
  cancelled_ = true;
  boost::system::error_code ignored;
  socket_.close(ignored);
  auto const resolving = std::exchange(resolution_, nullptr);
  if (resolving) resolving->cancel();
  std::swap(done, done_);
  if (!done) return;
  try {
    post_cancelled(done, resolving ? "resolve " + to_.host : "connect to " + name_);
  } catch (std::exception const&) {
    return;  // the caller knows that it has cancelled
  }
}

/// Moves the handler into the posted call. The handler owns our owner: a loop that is destroyed before the
/// call runs has to destroy the handler with it.
void dial::post_cancelled(handler& done, std::string const& doing) {
  auto failure = doing + ": Operation canceled";
  asio::post(io_, [done = std::move(done), socket = stream_socket{io_},
                   failure = std::move(failure)]() mutable { done(failure, std::move(socket)); });
}

std::string dial::peer() const {
  std::lock_guard const hold{mutex_};
  return addresses_.empty() ? name_ : addresses_[next_].text;
}

}  // namespace holdfast::net
