/// What a Redisson client leaves in Redis, made by raw commands: for commands that look at it.
#pragma once

#include "locks_of_others.hpp"
#include "script/names_redisson.hpp"

#include <chrono>
#include <list>
#include <string>

namespace holdfast::test {

class objects_of_java : public locks_of_others {
 protected:
  static constexpr char const* java = "33333333-3333-4333-8333-333333333333:1";
  static constexpr char const* other_java = "44444444-4444-4444-8444-444444444444:7";
  /// A client of Holdfast that has left a record.
  static constexpr char const* ours = "11111111-1111-4111-8111-111111111111:1";
  static constexpr char const* never = "922337203685477";

  void lock(std::string const& name, std::string const& owner = java, int count = 1) {
    at_once const all{redis};
    redis.command({"HSET", name, owner, std::to_string(count)});
    redis.command({"PEXPIRE", name, "30000"});
  }
  void wait_in_fair_queue(std::string const& name, std::string const& owner, std::int64_t credit_ms) {
    auto const score = std::to_string(millis_in(credit_ms));
    at_once const all{redis};
    redis.command({"RPUSH", names::redisson::fair_queue(name), owner});
    redis.command({"ZADD", names::redisson::fair_timeouts(name), score, owner});
  }
  void read(std::string const& name, std::string const& owner, int count = 1, int ttl = 20'000) {
    at_once const all{redis};
    redis.command({"HSETNX", name, "mode", "read"});
    redis.command({"HSET", name, owner, std::to_string(count)});
    redis.command({"PEXPIRE", name, "30000"});
    for (int i = 1; i <= count; ++i)
      redis.command({"SET", names::redisson::reader_timeout(name, owner, i), "1", "PX", std::to_string(ttl)});
  }
  void write(std::string const& name, std::string const& owner, int count = 1) {
    at_once const all{redis};
    redis.command({"HSET", name, "mode", "write", owner + ":write", std::to_string(count)});
    redis.command({"PEXPIRE", name, "30000"});
  }
  /// `left` of them, and those that were taken after that.
  void permits(std::string const& name, int left) { redis.command({"SET", name, std::to_string(left)}); }
  /// The id is 16 times that character; `expiry`: the score.
  void take(std::string const& name, char id, std::string const& expiry = never) {
    redis.command({"ZADD", names::redisson::permits(name), expiry, std::string(16, id)});
  }
  std::int64_t millis_in(std::int64_t time) { return micros_ago(0) / 1'000 + time; }
  /// A connection that does nothing but listen.
  void listen(std::string const& channel) {
    listeners_.push_back(server.raw());
    listeners_.back().command({"SUBSCRIBE", channel});
  }

  [[nodiscard]] nlohmann::json inspected(std::string const& name) {
    auto command = start({"inspect", "--json", name});
    EXPECT_EQ(command.wait(), 0) << command.err();
    return nlohmann::json::parse(command.out());
  }
  [[nodiscard]] std::string page_about(std::string const& name) {
    auto command = start({"inspect", name});
    EXPECT_EQ(command.wait(), 0) << command.err();
    return command.out();
  }

 private:
  /// Whoever watches sees all that is done meanwhile, or nothing.
  class at_once {
   public:
    explicit at_once(raw_redis& on) : on_{on} { on_.command({"MULTI"}); }
    ~at_once() { on_.command({"EXEC"}); }
    at_once(at_once const&) = delete;
    at_once& operator=(at_once const&) = delete;

   private:
    raw_redis& on_;
  };

  std::list<raw_redis> listeners_;
};

}  // namespace holdfast::test
