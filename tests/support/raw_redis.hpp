/// An independent client of a Redis server, on hiredis: tests inspect the server without the code under test.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

struct redisContext;

namespace holdfast::test {

struct raw_reply {
  enum class kind { nil, integer, text, error, array };
  kind type = kind::nil;
  std::int64_t integer = 0;
  std::string text{};
  std::vector<raw_reply> elements{};

  [[nodiscard]] bool is_nil() const { return type == kind::nil; }
  [[nodiscard]] bool is_error() const { return type == kind::error; }
};

/// One connection, opened at the first command and again after it broke. Not for several threads at once.
/// Throws std::runtime_error when the server can't be reached or doesn't reply in time.
class raw_redis {
 public:
  /// `password` is the default user's; empty: the server requires none.
  explicit raw_redis(std::string socket_path, std::string password = {});
  virtual ~raw_redis();
  raw_redis(raw_redis&&) noexcept;
  raw_redis& operator=(raw_redis&&) noexcept;

  virtual raw_reply command(std::vector<std::string> const& words);
  /// For commands that change nothing: sent once more when the connection breaks. A sentinel makes a server
  /// close its clients' connections when the server gets another master.
  raw_reply query(std::vector<std::string> const& words);

  /// Sends all at once, then reads all replies: for filling a server.
  virtual void pipeline(std::vector<std::vector<std::string>> const& commands);

  std::optional<std::string> get(std::string const& key);
  std::int64_t pttl(std::string const& key);
  bool del(std::string const& key);
  bool exists(std::string const& key);
  std::vector<std::string> keys(std::string const& pattern = "*");

  /// The number of calls of each command (in lower case) since the server started, from INFO commandstats.
  /// Calls by scripts count too.
  std::map<std::string, std::uint64_t> command_counts();
  std::uint64_t calls_of(std::string const& command);

  /// A field of INFO; empty when there is none.
  std::string info(std::string const& section, std::string const& field);

  /// The ids of connections of type "normal" or "pubsub" that have a name, as Holdfast's have and this one
  /// hasn't; without those of sentinels.
  std::vector<std::string> client_ids(std::string const& type);
  void kill_clients(std::string const& type);

 private:
  void connect();

  struct closer {
    void operator()(redisContext*) const noexcept;
  };
  std::string socket_path_;
  std::string password_;
  std::unique_ptr<redisContext, closer> context_;
};

}  // namespace holdfast::test
