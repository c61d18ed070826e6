/// `holdfast serve` before a server of its own, as tests visit it.
#pragma once

#include "holdfast_command.hpp"
#include "http_visitor.hpp"
#include "support/redis_server.hpp"

#include <gmock/gmock.h>

#include <cstdint>
#include <optional>
#include <regex>
#include <string>

namespace holdfast::test {

/// Somebody who holds a lock.
constexpr auto owner = "11111111-2222-4333-8444-555555555555:1";
/// Of a visitor.
inline std::string const ben_token = "ben-0123456789abcdef";

class serve_fixture : public testing::Test {
 protected:
  /// Starts it on any port, and waits until it listens.
  void open(words const& more = {}, environment extra = {}) {
    words arguments{"serve", "--listen", "127.0.0.1:0"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    extra.try_emplace("HOLDFAST_URL", server.url());
    page.emplace(holdfast_command(arguments, extra));
    await_port();
  }
  void await_port() {
    std::smatch found;
    std::string said;
    ASSERT_TRUE(eventually([&] {
      said = page->err();
      return std::regex_search(said, found, std::regex{"listening on https?://[0-9.]+:([0-9]+)/"});
    })) << said;
    port = static_cast<std::uint16_t>(std::stoi(found[1]));
  }
  http_answer get(std::string const& target, std::string const& headers = {}) const {
    return http_exchange(port, http_request_text(port, "GET", target, headers));
  }
  http_answer post(std::string const& target, std::string const& headers, std::string const& body) const {
    return http_exchange(
        port, http_request_text(port, "POST", target, "Content-Type: application/json\r\n" + headers, body));
  }
  /// Waits until the list has so many locks.
  nlohmann::json list_of(std::size_t count, std::string const& query = {}) const {
    nlohmann::json answer;
    EXPECT_TRUE(eventually([&] {
      answer = get("/api/v1/locks" + query).json();
      return answer.value("count", std::size_t{9'999'999}) == count;
    })) << answer.dump();
    return answer;
  }
  /// Makes a lock as another process would, with its token.
  void hold(std::string const& name, std::string const& owner = "11111111-2222-4333-8444-555555555555:1") {
    redis.command({"EVAL",
                   "redis.call('SET', KEYS[1], ARGV[1], 'PX', 600000) return redis.call('INCR', KEYS[2])",
                   "2", name, token_key(name), owner});
  }
  void wait_for(std::string const& name, std::string const& owner) {
    redis.command({"ZADD", "{" + name + "}:holdfast_queue", "1", owner});
  }
  static std::string token_key(std::string const& name) {
    if (name.find_first_of("{}") != std::string::npos) return name + "::holdfast_token";
    return "{" + name + "}:holdfast_token";
  }

  redis_server server = redis_server::with({.persistent = true});
  raw_redis redis = server.raw();
  std::optional<process> page{};
  std::uint16_t port = 0;
};

}  // namespace holdfast::test
