/// The floors' client: hiredis, blocking, one request at a time.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

struct redisContext;
struct redisReply;

namespace holdfast::bench {

class connection {
 public:
  using words = std::vector<std::string>;

  explicit connection(int port);

  /// Sends one command and waits for its reply. Throws when it is an error.
  void call(words const& command);

  /// Sends all in one write, and waits for all replies.
  void call(std::vector<words> const& commands);

  /// Waits for what the server sends by itself: a message.
  void hear();

  /// The same for a command that answers with text, an integer, or a list whose first element is one.
  [[nodiscard]] std::string ask(words const& command);

  [[nodiscard]] bool has_command(std::string const& name);
  /// The module holdfast.
  [[nodiscard]] bool has_module() { return has_command("holdfast.take"); }

 private:
  struct close {
    void operator()(redisContext*) const noexcept;
  };
  struct free {
    void operator()(redisReply*) const noexcept;
  };
  void append(words const& command);
  [[nodiscard]] std::unique_ptr<redisReply, free> read(std::string const& command);
  [[nodiscard]] std::unique_ptr<redisReply, free> send(words const& command);

  std::unique_ptr<redisContext, close> context_;
  std::vector<char const*> arguments_;
  std::vector<std::size_t> lengths_;
};

/// The median round trip of a PING, in microseconds.
[[nodiscard]] double ping_us(int port);

}  // namespace holdfast::bench
