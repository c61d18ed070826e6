/// The common fixture of the laws of looking at locks from outside.
#pragma once

#include "law.hpp"

#include "script/names.hpp"

#include <holdfast/inspect.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace holdfast::test {

class inspection : public testing::Test {
 protected:
  /// Of a client that doesn't exist: what it holds is written by hand.
  static constexpr char const* uuid_ = "11111111-1111-4111-8111-111111111111";

  /// Makes the lock look held by a client of Holdfast since the counter was written.
  void hold(std::string const& name, std::string const& owner = std::string{uuid_} + ":1") {
    raw_.command({"SET", name, owner, "PX", "60000"});
    raw_.command({"SET", names::token_counter(name), std::to_string(server_micros())});
  }

  std::int64_t server_micros() {
    auto const time = raw_.command({"TIME"}).elements;
    return std::stoll(time.at(0).text) * 1'000'000 + std::stoll(time.at(1).text);
  }

  std::vector<std::string> names_found(std::string const& pattern) {
    std::vector<std::string> all;
    for_each_lock(viewer_, pattern, [&all](lock_state const& lock) {
      all.push_back(lock.name);
      return true;
    });
    return all;
  }

  deployment_under_test server_{};
  raw_servers raw_ = server_.raw();
  client viewer_{server_.url(), with_long_timeouts()};
};

}  // namespace holdfast::test
