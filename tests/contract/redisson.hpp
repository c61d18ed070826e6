/// Fixture for the scripts of Redisson's wire. As in its reference: the whole state of the server as text,
/// and all messages.
#pragma once

#include "contract/contract.hpp"
#include "wire/redisson/recipes.hpp"

namespace holdfast::contract::redisson {

// Owners of two processes, as other libraries write them. keys() and messages() show them as A, B, C and E.
inline constexpr std::string_view A = "11111111-1111-1111-1111-111111111111:1";
inline constexpr std::string_view B = "22222222-2222-2222-2222-222222222222:7";
inline constexpr std::string_view C = "22222222-2222-2222-2222-222222222222:8";
inline constexpr std::string_view E = "22222222-2222-2222-2222-222222222222:9";

/// The credit of waiters without a time limit.
inline constexpr std::chrono::milliseconds five_minutes{300'000};

// Replies.
testing::Matcher<raw_reply const&> is_granted(std::int64_t first_token = 0, std::int64_t count = 1);
testing::Matcher<raw_reply const&> is_busy(testing::Matcher<std::int64_t> const& pttl,
                                           std::string_view holder, std::int64_t ahead = -1);
/// A ttl of `ms` milliseconds, within the duration of a test.
testing::Matcher<std::int64_t> about(std::int64_t ms);

class wire : public testing::Test {
 protected:
  raw_reply run(call const& script_call) { return raw_.command(eval(script_call)); }
  raw_reply command(words const& arguments) { return raw_.command(arguments); }

  /// All keys, in order: `name {field:value} 30000-`, `name [element, element] ttl -1`,
  /// `name <member:30000-> ttl -1`, `name text 30000-`. Times are rounded up to ten seconds. Scores are
  /// relative to the server's clock.
  words keys();
  /// The messages published since the last call: `channel payload`.
  words messages();
  std::int64_t score(std::string const& key, std::string_view member);

  test::redis_server& server_ = empty_server();
  raw_redis raw_ = server_.raw();
  subscription all_{server_};

 private:
  std::string value_of(std::string const& key);
  std::int64_t now_ms();
};

}  // namespace holdfast::contract::redisson
