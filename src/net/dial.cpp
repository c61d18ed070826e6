#include "net/dial.hpp"

#include <unistd.h>

#include <algorithm>
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

dial::dial(asio::io_context& io, endpoint to) : io_{io}, to_{std::move(to)}, name_{name_of(to_)} {}

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
  std::unique_lock hold{mutex_};
  if (cancelled_) return;
  resolution_.reset();
  if (!failure.empty()) return finish(std::move(hold), "resolve " + to_.host + ": " + failure);
  addresses_ = std::move(found);
  try_next();
}

/// Under the lock; there is a next address.
void dial::try_next() {
  attempts_.reserve(addresses_.size());
  auto const which = attempts_.size();
  auto const& next = addresses_[which].socket_address;
  boost::system::error_code failure;
  attempts_.push_back(open_socket(io_, next.protocol(), failure));
  if (failure) {
    asio::post(io_, [self = shared_from_this(), which, failure] { self->connected(which, failure); });
  } else {
    attempts_[which].async_connect(
        next, [self = shared_from_this(), which](auto outcome) { self->connected(which, outcome); });
  }
  if (attempts_.size() < addresses_.size()) try_next_in_a_while();
}

/// Under the lock. Replaces the time that was set for an earlier address.
void dial::try_next_in_a_while() {
  if (!next_is_due_) next_is_due_.emplace(io_);
  next_is_due_->expires_after(attempt_delay);
  next_is_due_->async_wait([self = shared_from_this(), tried = attempts_.size()](auto aborted) {
    std::lock_guard const hold{self->mutex_};
    if (!aborted && self->done_ && self->attempts_.size() == tried) self->try_next();
  });
}

void dial::connected(std::size_t which, boost::system::error_code failure) {
  std::unique_lock hold{mutex_};
  if (!done_) return;  // cancelled, or another address was faster
  if (!failure) {
    connected_ = which;
    tune(attempts_[which], to_.transport);
    return finish(std::move(hold), {});
  }
  note(which, failure);
  if (attempts_.size() < addresses_.size()) return try_next();
  if (std::ranges::none_of(attempts_, &stream_socket::is_open))
    finish(std::move(hold), "connect to " + name_ + ": " + failures_);
}

/// Under the lock.
void dial::note(std::size_t which, boost::system::error_code failure) {
  boost::system::error_code ignored;
  attempts_[which].close(ignored);
  auto const& text = addresses_[which].text;
  if (!failures_.empty()) failures_ += "; ";
  if (text != name_) failures_ += text + ": ";
  failures_ += failure.message();
  if (failure == boost::system::errc::too_many_files_open)
    failures_ += " (raise the number of files that this process may have open: ulimit -n)";
}

void dial::finish(std::unique_lock<std::mutex> hold, std::string const& failure) {
  stream_socket socket{io_};
  if (connected_ != none) socket = std::move(attempts_[connected_]);
  end_attempts();
  resolution_.reset();
  auto const done = std::exchange(done_, {});
  hold.unlock();
  if (done) done(failure, std::move(socket));
}

/// Under the lock.
void dial::end_attempts() noexcept {
  attempts_.clear();
  next_is_due_.reset();
}

void dial::cancel() noexcept {
  handler done;  // destroyed when the lock is released: it may own the caller
  std::lock_guard const hold{mutex_};
  if (cancelled_) return;
  cancelled_ = true;
  end_attempts();
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
  if (addresses_.empty()) return name_;
  if (connected_ != none) return addresses_[connected_].text;
  auto const tried = std::ranges::find_if(attempts_, &stream_socket::is_open);
  return tried == attempts_.end() ? name_
                                  : addresses_[static_cast<std::size_t>(tried - attempts_.begin())].text;
}

}  // namespace holdfast::net
