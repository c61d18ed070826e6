/// The server's side of one connection.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "memory/node.hpp"
#include "resp/parser.hpp"

namespace holdfast::memory {

/// Reads requests from bytes, and writes replies and messages as bytes. No I/O. All with the guard of the
/// node held.
class session {
 public:
  /// `on_output` is called when there is more to be read, or the connection has ended.
  session(node& home, std::function<void()> on_output);
  ~session();
  session(session const&) = delete;
  session& operator=(session const&) = delete;

  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }

  /// Bytes of the client.
  void receive(std::string_view bytes);

  /// There are bytes for the client.
  [[nodiscard]] bool readable() const noexcept { return !out_.empty() && !home_.is(trouble::silent); }
  /// Takes as many of them as fit.
  std::size_t read(char* into, std::size_t size);

  /// The server ends the connection: what the client hasn't read yet is lost.
  void end();
  [[nodiscard]] bool ended() const noexcept { return ended_; }
  [[nodiscard]] bool subscribed() const noexcept { return !channels_.empty(); }
  /// Its line in CLIENT LIST.
  [[nodiscard]] std::string info() const;
  /// Trouble is over.
  void go_on();

 private:
  void serve();
  void answer(command&& words);
  [[nodiscard]] resp::reply reply_to(command const& words);
  [[nodiscard]] resp::reply carry_out(command const& words);
  [[nodiscard]] resp::reply refusal_of(std::string const& verb);
  [[nodiscard]] resp::reply about_client(command const& words);
  [[nodiscard]] resp::reply about_channels(command const& words) const;
  [[nodiscard]] resp::reply scan(command const& words);
  [[nodiscard]] resp::reply acknowledged(command const& words) const;
  void subscribe(command const& words);
  void unsubscribe(command const& words);
  node& home_;
  std::function<void()> const on_output_;
  std::uint64_t const number_;
  std::string name_{};
  resp::parser parser_{};
  commands transaction_{};  ///< from MULTI on; empty: there is none
  bool spoilt_ = false;     ///< a command of the transaction was refused
  std::set<std::string> channels_{};
  std::string out_{};
  bool ended_ = false;
};

}  // namespace holdfast::memory
