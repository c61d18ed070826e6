/// What the scripts of Redisson's wire do, in the terms of its reference: the whole state of the server in
/// words, and all messages.
#pragma once

#include "contract/contract.hpp"
#include "sync/redisson.hpp"

namespace holdfast::contract::redisson {

// Owners of two processes, as other libraries write them. In keys and messages they are called A, B, C and E.
inline constexpr std::string_view A = "11111111-1111-1111-1111-111111111111:1";
inline constexpr std::string_view B = "22222222-2222-2222-2222-222222222222:7";
inline constexpr std::string_view C = "22222222-2222-2222-2222-222222222222:8";
inline constexpr std::string_view E = "22222222-2222-2222-2222-222222222222:9";

/// The credit of those that wait without an end.
inline constexpr std::chrono::milliseconds five_minutes{300'000};

// Replies.
testing::Matcher<raw_reply const&> is_granted(std::int64_t first_token = 0, std::int64_t count = 1);
testing::Matcher<raw_reply const&> is_busy(testing::Matcher<std::int64_t> const& pttl,
                                           std::string_view holder, std::int64_t ahead = -1);
/// A ttl of so many milliseconds, give or take the time that a test takes.
testing::Matcher<std::int64_t> about(std::int64_t ms);

class wire : public testing::Test {
 protected:
  raw_reply run(call const& what) { return raw_.command(eval(what)); }
  raw_reply command(words const& what) { return raw_.command(what); }

  /// All keys, in order: `name {field:value} 30000-`, `name [element, element] ttl -1`,
  /// `name <member:30000-> ttl -1`, `name text 30000-`. Times are rounded up to a second; scores are so far
  /// ahead of the server's clock.
  words keys();
  /// What was published since the last call: `channel payload`.
  words messages();
  std::int64_t score(std::string const& key, std::string_view member);

  test::redis_server& server_ = empty_server();
  raw_redis raw_ = server_.raw();
  ears all_{server_};

 private:
  std::string value_of(std::string const& key);
  std::int64_t now_ms();
};

}  // namespace holdfast::contract::redisson
