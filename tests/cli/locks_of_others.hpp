/// Locks made by raw commands, for tests of commands that show them.
#pragma once

#include "holdfast_command.hpp"
#include "script/names.hpp"
#include "support/eventually.hpp"
#include "support/redis_server.hpp"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

namespace holdfast::test {

class raw_locks : public testing::Test {
 protected:
  static constexpr char const* uuid = "11111111-1111-4111-8111-111111111111";
  static constexpr char const* other_uuid = "22222222-2222-4222-8222-222222222222";

  void SetUp() override {
    redis.command({"HSET", names::client_record(uuid), "host", "web-3", "pid", "812", "program", "import",
                   "label", "nightly import"});
  }

  /// Makes a lock that web-3 pid 812, or another owner, has held for 41 s.
  void hold(std::string const& name, std::string const& owner = std::string{uuid} + ":1") {
    redis.command({"SET", name, owner, "PX", "60000"});
    redis.command({"SET", names::token_counter(name), std::to_string(micros_ago(41'500'000))});
  }
  /// Adds a waiter to the queue that has waited for 5 s.
  void wait_for(std::string const& name, std::string const& owner = std::string{other_uuid} + ":7") {
    redis.command({"ZADD", names::queue(name), std::to_string(micros_ago(5'500'000)), owner});
  }
  std::int64_t micros_ago(std::int64_t time) {
    auto const now = redis.command({"TIME"}).elements;
    return std::stoll(now.at(0).text) * 1'000'000 + std::stoll(now.at(1).text) - time;
  }

  [[nodiscard]] process start(words const& arguments) const {
    return holdfast_command(arguments, {{"HOLDFAST_URL", server.url()}});
  }

  /// Parses one object a line.
  static std::vector<nlohmann::json> objects(std::string const& text) {
    std::vector<nlohmann::json> all;
    std::istringstream lines{text};
    // The last line may be incomplete.
    for (std::string line; std::getline(lines, line) && !lines.eof();)
      all.push_back(nlohmann::json::parse(line));
    return all;
  }

  redis_server server;
  raw_redis redis = server.raw();
};

}  // namespace holdfast::test
