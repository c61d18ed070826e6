/// The server's side of one connection.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "memory/node.hpp"

namespace holdfast::memory {

/// Reads requests from bytes, and writes replies and messages as bytes. No I/O. All with the guard of the
/// node held.
class served_connection final : public connection {
 public:
  /// `on_output` is called when there is more to be read, or the connection has ended.
  served_connection(node& home, std::function<void()> on_output);
  ~served_connection() override;

  [[nodiscard]] std::uint64_t number() const noexcept override { return number_; }

  /// Bytes of the client, in pieces of any size.
  void receive(std::string_view bytes);

  /// There are bytes for the client.
  [[nodiscard]] bool readable() const noexcept { return !out_.empty() && !home_.is(trouble::silent); }
  /// Takes as many of them as fit.
  std::size_t read(char* into, std::size_t size);

  void end() override;
  [[nodiscard]] bool ended() const noexcept { return ended_; }
  [[nodiscard]] bool subscribed() const noexcept override { return !channels_.empty(); }
  [[nodiscard]] std::string info() const override;
  void go_on() override;

 private:
  void serve(std::string_view bytes);
  void answer(command words, std::string_view bytes);
  void carry_out_transaction();
  [[nodiscard]] resp::reply reply_to(command words);
  [[nodiscard]] resp::reply carry_out(command words);
  [[nodiscard]] resp::reply refusal_of(std::string_view verb);
  [[nodiscard]] resp::reply about_client(command words);
  [[nodiscard]] resp::reply about_channels(command words) const;
  [[nodiscard]] resp::reply scan(command words);
  [[nodiscard]] resp::reply acknowledged(command words) const;
  void subscribe(command words);
  void unsubscribe(command words);

  node& home_;
  std::function<void()> const on_output_;
  std::uint64_t const number_;
  std::string name_{};
  std::string in_{};                       ///< not read yet: a part of a command, or all if it is paused
  std::vector<std::string_view> words_{};  ///< of the command that it reads
  time_point now_{};                       ///< commands that come together are executed at one time
  /// From MULTI to EXEC.
  struct transaction {
    std::string commands{};
    std::size_t count = 0;
    bool open = false;
    bool spoilt = false;  ///< one was refused
  } transaction_{};
  std::set<std::string, std::less<>> channels_{};
  std::string out_{};
  bool ended_ = false;
};

}  // namespace holdfast::memory
