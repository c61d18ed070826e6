/// A server that has the module.
#pragma once

#include <gmock/gmock.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "support/raw_redis.hpp"
#include "support/redis_server.hpp"

namespace holdfast::module_test {

using test::raw_redis;
using test::raw_reply;
using words = std::vector<std::string>;

/// HOLDFAST_MODULE_FILE in the environment names another build of it, for a server that finds faults of
/// memory.
inline std::string module_file() {
  auto const* const named = std::getenv("HOLDFAST_MODULE_FILE");
  return named != nullptr ? named : HOLDFAST_MODULE_FILE;
}

inline words arguments(words more = {}) {
  words all{"--loadmodule", module_file()};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

inline constexpr char const* caller = "11111111-1111-4111-8111-111111111111:7";
inline constexpr char const* rival = "22222222-2222-4222-8222-222222222222:1";
inline constexpr char const* waiter = "aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa:12";

// Calls on the lock "a".
inline words acquire(std::string const& owner, std::string const& mode = "join") {
  return {"HOLDFAST.EXCLUSIVE.ACQUIRE",
          "3",
          "a",
          "{a}:holdfast_token",
          "{a}:holdfast_queue",
          owner,
          "30000",
          "1",
          mode,
          ""};
}
inline words release(std::string const& owner, std::string const& starvation_us = "10000000") {
  return {"HOLDFAST.EXCLUSIVE.RELEASE",
          "3",
          "a",
          "{a}:holdfast_token",
          "{a}:holdfast_queue",
          owner,
          starvation_us,
          "20000",
          "PUBLISH"};
}
inline words renew(std::string const& owner) {
  return {"HOLDFAST.EXCLUSIVE.RENEW", "1", "a", "20000", owner};
}

inline auto is(long long n) {
  return testing::AllOf(testing::Field("type", &raw_reply::type, raw_reply::kind::integer),
                        testing::Field("integer", &raw_reply::integer, n));
}
inline auto is_error(std::string const& start) {
  return testing::AllOf(testing::Field("type", &raw_reply::type, raw_reply::kind::error),
                        testing::Field("text", &raw_reply::text, testing::StartsWith(start)));
}
inline auto is_list_of(std::size_t size) {
  return testing::AllOf(testing::Field("type", &raw_reply::type, raw_reply::kind::array),
                        testing::Field("elements", &raw_reply::elements, testing::SizeIs(size)));
}

}  // namespace holdfast::module_test
