/// The server that a run measures against.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace holdfast::bench {

/// Calls so far by command name, as INFO commandstats counts them.
using call_counts = std::map<std::string, std::int64_t>;

/// What the clients of a measurement connect to, and what it has counted: one server, or all of several.
struct place {
  std::string url;
  std::function<call_counts()> calls;
};

/// A private server, of the program that the tests run, on a loopback port, without persistence; ends with
/// this object.
class redis_server {
 public:
  /// `core`: where it runs; negative: anywhere. `module`: a file to load; empty: none.
  explicit redis_server(int core, std::string const& module = {});
  ~redis_server();
  redis_server(redis_server const&) = delete;
  redis_server& operator=(redis_server const&) = delete;

  [[nodiscard]] int port() const noexcept { return port_; }
  [[nodiscard]] pid_t process() const noexcept { return process_; }
  [[nodiscard]] std::string url() const;
  /// "Redis 7.0.15", "Valkey 9.1.2".
  [[nodiscard]] std::string name() const;
  [[nodiscard]] call_counts calls() const;
  [[nodiscard]] bool has_command(std::string const& command) const;
  [[nodiscard]] bool has_module() const;
  [[nodiscard]] place here() const {
    return {url(), [this] { return calls(); }};
  }

  /// Deletes all keys.
  void clear() const;

 private:
  void wait_until_ready() const;

  int port_;
  pid_t process_;
};

/// Requests that clients sent between two counts. Commands that scripts call are counted by Redis too; they
/// are left out by name: Holdfast itself sends nothing but scripts, SUBSCRIBE, and what a new connection
/// needs. The bench's own INFO and FLUSHALL are left out as well.
[[nodiscard]] double requests_between(call_counts const& before, call_counts const& after);

/// Messages published between two counts.
[[nodiscard]] double messages_between(call_counts const& before, call_counts const& after);

}  // namespace holdfast::bench
