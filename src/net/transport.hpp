/// A byte stream to a server: TCP, unix socket or TLS.
#pragma once

#include <boost/system/error_code.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "net/url.hpp"
#include "reactor/io_context.hpp"

namespace holdfast::net {

class session;

/// One connection, used once: connect, read and write, close. Handlers run in whichever thread runs the
/// io_context, never inside the call that started them, and keep the transport alive until they have run. No
/// call but try_write may run at the same time as another: locking is the owner's job. No time-outs either:
/// the owner calls close().
///
/// What begins something may throw std::bad_alloc; then its handler isn't called. If memory is wanting later
/// the handler gets error::no_memory, or the exception comes out of the io_context, and the handler is lost.
class transport {
 public:
  /// Empty: connected. Else what failed, ready for a message: "connect to 127.0.0.1:1: Connection refused".
  using connect_handler = std::function<void(std::string const& failure)>;
  /// Copied without need of memory: two pointers at most.
  using io_handler = std::function<void(boost::system::error_code, std::size_t)>;

  transport() = default;
  transport(transport const&) = delete;
  transport& operator=(transport const&) = delete;
  virtual ~transport() = default;

  /// Resolves the name, tries each address in turn, and shakes hands for TLS.
  virtual void async_connect(connect_handler done) = 0;

  /// Reads at least one byte. One read at a time.
  virtual void async_read_some(char* into, std::size_t size, io_handler done) = 0;

  /// Writes all of it; the bytes must stay where they are until `done`. One write at a time.
  virtual void async_write(std::string_view bytes, io_handler done) = 0;

  /// Writes what fits without blocking, from any thread, and says how much that was; a full socket is no
  /// error (0). Not while an async_write is under way, whose bytes it would split. Always 0 unless direct().
  virtual std::size_t try_write(std::string_view bytes, boost::system::error_code& failure) = 0;

  /// Is try_write of use? Not with TLS: its state may be touched only by the thread that runs the loop.
  [[nodiscard]] virtual bool direct() const noexcept = 0;

  /// Ends everything; handlers under way get operation_aborted. What was written still arrives, if it can.
  /// May be called again.
  virtual void close() noexcept = 0;

  /// The same, but what was written and has not arrived never will, as far as it is up to this machine: no
  /// copy comes behind one that is sent again over another connection.
  virtual void reset() noexcept = 0;

  /// "127.0.0.1:6379", "/run/redis.sock": who answers, or what is being tried.
  [[nodiscard]] virtual std::string peer() const = 0;

  /// What an error of reading or writing says to people.
  [[nodiscard]] virtual std::string words_for(boost::system::error_code const& failure) const {
    return failure.message();
  }

  /// Whom it serves, for its handlers: the owner's own business, under its lock. Null: nobody any more.
  session* owner = nullptr;
};

/// The transport for `to`. Throws error{errc::bad_url} for files of certificates or keys that can't be read.
[[nodiscard]] std::shared_ptr<transport> make_transport(boost::asio::io_context& io, endpoint const& to);

}  // namespace holdfast::net
