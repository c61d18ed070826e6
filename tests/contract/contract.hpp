/// The contract of a script as a table: state -> call -> reply, keys, ttl, messages. Each row runs on a real
/// server.
#pragma once

#include <gmock/gmock.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "script/call.hpp"
#include "support/redis_server.hpp"
#include "sync/exclusive.hpp"
#include "sync/fair.hpp"

namespace holdfast::contract {

using test::raw_redis;
using test::raw_reply;
using words = std::vector<std::string>;

inline constexpr std::string_view lock_name = "orders:42";

// Owner ids of five processes.
inline constexpr std::string_view me = "11111111-1111-4111-8111-111111111111:7";
inline constexpr std::string_view sibling =
    "11111111-1111-4111-8111-111111111111:8";  ///< of the same process as me
inline constexpr std::string_view you = "22222222-2222-4222-8222-222222222222:1";
inline constexpr std::string_view anna = "aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa:12";
inline constexpr std::string_view ben = "bbbbbbbb-bbbb-4bbb-8bbb-bbbbbbbbbbbb:3";

inline constexpr std::int64_t no_ttl = -1;
inline constexpr std::int64_t full_ttl = 30'000;
inline constexpr std::int64_t minute = 60'000;
inline constexpr std::int64_t day = 86'400'000;

/// The last token given, of a counter ahead of the server's clock: the next ones follow it one by one.
inline constexpr std::int64_t last_token = 4'102'444'800'000'041;

/// One that waits, and for how long it has by the server's clock.
struct waiting {
  std::string_view owner;
  std::int64_t for_ms = 1;
};

/// What the server has before the call.
struct given {
  std::string_view lock{};  ///< its owner; empty: the lock is free
  std::int64_t ttl = 20'000;
  std::optional<std::int64_t> counter = last_token;
  std::vector<waiting> queue{};
  std::vector<std::string_view> listening{};  ///< owners whose process hears its inbox
  std::vector<words> also{};                  ///< any other commands
};

/// What it answers, and what it has afterwards.
struct expect {
  testing::Matcher<raw_reply const&> reply;
  std::string_view lock{};
  std::int64_t ttl = full_ttl;  ///< of the lock, if there is one: at the most so much, and nearly so much
  std::optional<std::int64_t> counter = last_token;
  std::vector<std::string_view> queue{};
  std::vector<std::string> messages{};
};

/// One row. Each call is made a second time, as after a connection that broke before the reply came: unless
/// `again` says otherwise this sends no message and changes neither lock nor queue.
struct row {
  std::string name;
  contract::given given{};
  holdfast::call call;
  contract::expect expect;
  std::optional<contract::expect> again{};
};

inline std::ostream& operator<<(std::ostream& out, row const& one) { return out << one.name; }

/// Of a ttl that was given since the server was emptied for this test: at the most so much, and nearly so
/// much, less the time that has gone by.
testing::Matcher<std::int64_t> left_of(std::int64_t ttl);

// Replies.
testing::Matcher<raw_reply const&> is(std::int64_t n);
testing::Matcher<raw_reply const&> is_number(testing::Matcher<std::int64_t> const& number);
testing::Matcher<raw_reply const&> is_text(std::string_view wanted);
testing::Matcher<raw_reply const&> is_array(std::vector<testing::Matcher<raw_reply const&>> const& elements);
testing::Matcher<raw_reply const&> is_list(std::vector<testing::Matcher<std::int64_t>> const& numbers);
/// The lock is somebody else's: also what holds since when (unknown: such a counter doesn't tell).
testing::Matcher<raw_reply const&> is_busy(testing::Matcher<std::int64_t> const& pttl,
                                           testing::Matcher<std::int64_t> const& ahead,
                                           testing::Matcher<std::int64_t> const& ticket,
                                           std::string_view holder,
                                           testing::Matcher<std::int64_t> const& held_us = -1,
                                           std::int64_t counter = last_token);
/// The same behind a pass.
testing::Matcher<raw_reply const&> is_passed_on(testing::Matcher<std::int64_t> const& pttl,
                                                testing::Matcher<std::int64_t> const& ahead,
                                                std::string_view holder, std::int64_t counter = last_token);
testing::Matcher<raw_reply const&> is_error(std::string const& text);

// Messages, as "<channel> <payload>".
std::string woken(std::string_view owner, std::string_view name = lock_name);
std::string granted(std::string_view owner, std::int64_t token, std::int64_t count,
                    std::string_view name = lock_name);

// Calls, with what most rows use.
call acquire(engine::acquire_request how, std::string_view name = lock_name);
call release(std::string_view owner, std::string_view name = lock_name);
call pass(std::string_view owner, std::string_view next, int tokens = 1, std::string_view name = lock_name);
call abandon(std::string_view owner, std::string_view name = lock_name);
call renew(std::vector<engine::owned> const& leases);
call fair_acquire(engine::acquire_request how, std::string_view name = lock_name);
call fair_pass(std::string_view owner, std::string_view next,
               std::chrono::microseconds next_waited = std::chrono::milliseconds{1},
               std::string_view name = lock_name);
engine::acquire_request joins(std::string_view owner, std::string_view ticket = {});
engine::acquire_request joins_after(std::chrono::microseconds waited,
                                    std::string_view owner);  ///< the first time
engine::acquire_request asks(std::string_view owner, int tokens = 1);

/// While it lives, these calls tell those who wait in this way.
class as_told {
 public:
  explicit as_told(engine::publishing how);
  ~as_told();
};

/// The command that sends it.
words eval(call const& what);

/// Subscribed to inboxes, or to all channels. take() has what was published before it is called, in order.
class ears {
 public:
  /// Those of the owners' clients, and those that they have for the lock of the tables.
  ears(test::redis_server const& on, std::vector<std::string_view> const& owners);
  /// Those that the owners' clients have for one lock: in its slot, or with SUBSCRIBE.
  ears(test::redis_server const& on, std::vector<std::string_view> const& owners, std::string_view name,
       std::string_view command = "SSUBSCRIBE");
  explicit ears(test::redis_server const& on);
  /// To these channels: in their slots, or with SUBSCRIBE to what is said to all nodes.
  ears(test::redis_server const& on, words const& channels, std::string_view command = "SSUBSCRIBE");
  ~ears();
  std::vector<std::string> take();
  void add(std::vector<std::string_view> const& owners, std::string_view name, std::string_view command);

 private:
  words read();
  void open(std::string_view command, std::string const& channel);

  struct closer {
    void operator()(redisContext*) const noexcept;
  };
  std::unique_ptr<redisContext, closer> context_;
};

/// An empty server, the same one for all tests of this process.
test::redis_server& empty_server();

/// One that has all slots of a cluster of its own, and is empty.
test::redis_server& empty_cluster();

/// Brings the state about.
void prepare(raw_redis& on, given const& state);

void check(row const& one);

inline std::string name_of(testing::TestParamInfo<row> const& info) { return info.param.name; }

}  // namespace holdfast::contract
