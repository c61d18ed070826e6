/// A byte stream to a server: TCP, unix socket or TLS.
#pragma once

#include <boost/system/error_code.hpp>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "net/url.hpp"
#include "reactor/io_context.hpp"

namespace holdfast::net {

class resp_stream;

/// One connection, for one use: connect, read and write, close. Handlers run in the thread that runs the
/// io_context, never inside the call that started them, and keep the transport alive until they have run.
/// Only try_write may run at the same time as another call: locking is the owner's job. There are no
/// time-outs: the owner calls close().
///
/// A function that starts an operation may throw std::bad_alloc; then its handler isn't called. If an
/// allocation fails later, the handler gets error::no_memory, or an exception comes out of the io_context,
/// and the handler is lost.
class transport {
 public:
  /// Empty: connected. Otherwise the failure, for a message: "connect to 127.0.0.1:1: Connection refused".
  using connect_handler = std::function<void(std::string const& failure)>;
  /// Copied without an allocation: at most two pointers.
  using io_handler = std::function<void(boost::system::error_code, std::size_t)>;

  transport() = default;
  transport(transport const&) = delete;
  transport& operator=(transport const&) = delete;
  virtual ~transport() = default;

  /// Resolves the name, tries each address in turn, and does the TLS handshake.
  virtual void async_connect(connect_handler done) = 0;

  /// Reads at least one byte. One read at a time.
  virtual void async_read_some(char* into, std::size_t size, io_handler done) = 0;

  /// Writes all bytes; they must stay in place until `done`. One write at a time.
  virtual void async_write(std::string_view bytes, io_handler done) = 0;

  /// Writes as many bytes as it can without blocking, from any thread, and returns their number; a full
  /// socket is no error (0). Not during an async_write, whose bytes it would split. Always 0 unless direct().
  virtual std::size_t try_write(std::string_view bytes, boost::system::error_code& failure) = 0;

  /// True if try_write works. Not with TLS: only the thread that runs the loop may access its state.
  [[nodiscard]] virtual bool direct() const noexcept = 0;

  /// Ends all operations; their handlers get operation_aborted. Bytes that were written still arrive if
  /// possible. May be called again.
  virtual void close() noexcept = 0;

  /// Like close(), but this machine discards all written bytes that have not arrived: no late copy follows a
  /// request that is sent again over another connection.
  virtual void reset() noexcept = 0;

  /// "127.0.0.1:6379", "/run/redis.sock": the peer, or the address being tried.
  [[nodiscard]] virtual std::string peer() const = 0;

  /// The text of a read or write error for messages.
  [[nodiscard]] virtual std::string words_for(boost::system::error_code const& failure) const {
    return failure.message();
  }

  /// The stream that its handlers serve: set by that stream, under the client's lock. Null: none any more.
  resp_stream* owner = nullptr;
};

}  // namespace holdfast::net
