/// The objects of a Redisson client in Redis, made by raw commands, for tests of commands that show them.
#pragma once

#include "locks_of_others.hpp"
#include "script/names_redisson.hpp"

#include <chrono>
#include <list>
#include <string>

namespace holdfast::test {

class objects_of_java : public raw_locks {
 protected:
  static constexpr char const* java = "33333333-3333-4333-8333-333333333333:1";
  static constexpr char const* other_java = "44444444-4444-4444-8444-444444444444:7";
  /// The owner id of a client of Holdfast that has a record.
  static constexpr char const* holdfast_owner = "11111111-1111-4111-8111-111111111111:1";
  static constexpr char const* never = "922337203685477";

  void lock(std::string const& name, std::string const& owner = java, int count = 1) {
    transaction const batch{redis};
    redis.command({"HSET", name, owner, std::to_string(count)});
    redis.command({"PEXPIRE", name, "30000"});
  }
  void wait_in_fair_queue(std::string const& name, std::string const& owner, std::int64_t credit_ms) {
    auto const score = std::to_string(millis_in(credit_ms));
    transaction const batch{redis};
    redis.command({"RPUSH", names::redisson::fair_queue(name), owner});
    redis.command({"ZADD", names::redisson::fair_timeouts(name), score, owner});
  }
  void read(std::string const& name, std::string const& owner, int count = 1, int ttl = 20'000) {
    transaction const batch{redis};
    redis.command({"HSETNX", name, "mode", "read"});
    redis.command({"HSET", name, owner, std::to_string(count)});
    redis.command({"PEXPIRE", name, "30000"});
    for (int i = 1; i <= count; ++i)
      redis.command({"SET", names::redisson::reader_timeout(name, owner, i), "1", "PX", std::to_string(ttl)});
  }
  void write(std::string const& name, std::string const& owner, int count = 1) {
    transaction const batch{redis};
    redis.command({"HSET", name, "mode", "write", owner + ":write", std::to_string(count)});
    redis.command({"PEXPIRE", name, "30000"});
  }
  /// Sets the number of free permits to `left`; take() doesn't change it.
  void permits(std::string const& name, int left) { redis.command({"SET", name, std::to_string(left)}); }
  /// Takes a permit. Its id is 16 times `id`; `expiry`: the score.
  void take(std::string const& name, char id, std::string const& expiry = never) {
    redis.command({"ZADD", names::redisson::permits(name), expiry, std::string(16, id)});
  }
  std::int64_t millis_in(std::int64_t time) { return micros_ago(0) / 1'000 + time; }
  /// Opens a connection that only listens.
  void listen(std::string const& channel) {
    listeners_.push_back(server.raw());
    listeners_.back().command({"SUBSCRIBE", channel});
  }

  [[nodiscard]] nlohmann::json inspected(std::string const& name) {
    auto command = start({"inspect", "--json", name});
    EXPECT_THAT(command.wait(), testing::AnyOf(0, 1)) << command.err();  // 1: free
    return nlohmann::json::parse(command.out());
  }
  [[nodiscard]] std::string page_about(std::string const& name) {
    auto command = start({"inspect", name});
    EXPECT_THAT(command.wait(), testing::AnyOf(0, 1)) << command.err();  // 1: free
    return command.out();
  }

 private:
  /// Observers see all commands of its lifetime, or none.
  class transaction {
   public:
    explicit transaction(raw_redis& connection) : connection_{connection} { connection_.command({"MULTI"}); }
    ~transaction() { connection_.command({"EXEC"}); }
    transaction(transaction const&) = delete;
    transaction& operator=(transaction const&) = delete;

   private:
    raw_redis& connection_;
  };

  std::list<raw_redis> listeners_;
};

}  // namespace holdfast::test
