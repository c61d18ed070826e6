/// Bytes out, replies in: RESP over a transport.
#pragma once

#include <cstdint>
#include <holdfast/client.hpp>
#include <memory>
#include <string>
#include <string_view>

#include "net/transport.hpp"
#include "reactor/reactor.hpp"
#include "resp/parser.hpp"

namespace holdfast::net {

/// A connected transport, the replies that are read from it, and the bytes that are being written to it. It
/// can be connected again after its end. Knows nothing of what the bytes mean. All under the client's lock.
class resp_stream {
 public:
  enum class failure {
    not_connected,
    hung_up,    ///< the peer closed it, or reset it
    broken,     ///< any other failure of a read
    not_resp,   ///< the peer doesn't speak RESP, or a reply is over a limit
    no_memory,  ///< an allocation failed, also in a function of the user's
  };

  /// The object that writes, and hears what comes in; it is flushed when more can be written. Its functions
  /// are called by handlers of the transport's, with the lock held, and may end the stream or connect it
  /// again, but not destroy it. After a failure nothing more comes; the user ends the stream.
  class user : public reactor::flushable {
   public:
    virtual void on_connected() = 0;
    virtual void on_received(resp::reply&& reply) = 0;
    /// `text` describes the failure for a message, without the peer's name; empty with `no_memory`.
    virtual void on_failed(failure kind, std::string_view text) noexcept = 0;
  };

  resp_stream(reactor::loop& loop, resp::limits const& limits, client_stats& counts, user& served);
  ~resp_stream() { end(ending::closed); }
  resp_stream(resp_stream const&) = delete;
  resp_stream& operator=(resp_stream const&) = delete;

  /// Once, before anything else, and again only after end(). Throws error{errc::bad_url}, std::bad_alloc.
  void connect(endpoint const& to);

  /// Once connected: begins to read.
  void read();

  /// Once connected, and not while writing(): takes and clears the bytes. If it throws, some or all of them
  /// were not written.
  void write(std::string& bytes);
  [[nodiscard]] bool writing() const noexcept { return !writing_.empty(); }

  /// When the replies that are being handled were read.
  [[nodiscard]] time_point read_at() const noexcept { return read_at_; }

  /// True if any thread may write, not only the one that runs the loop.
  [[nodiscard]] bool direct() const noexcept { return transport_ && transport_->direct(); }

  /// The peer, or the address being tried; empty when there is neither.
  [[nodiscard]] std::string peer() const { return transport_ ? transport_->peer() : std::string{}; }

  enum class ending {
    closed,  ///< bytes that were written still arrive
    reset,   ///< this machine discards them
  };
  void end(ending mode) noexcept;

 private:
  template <class Step>
  void handle(Step step) noexcept;
  void on_cut(boost::system::error_code cause);
  void on_bytes(std::size_t n);

  reactor::loop& loop_;
  client_stats& counts_;
  user& user_;
  std::shared_ptr<transport> transport_;
  std::uint64_t generation_ = 0;  ///< of the transport: handling a reply may replace the transport
  resp::parser parser_;
  time_point read_at_{};
  std::string writing_;  ///< being written; empty: no write is under way
};

}  // namespace holdfast::net
