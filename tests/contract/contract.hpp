/// The contract of a script as a table: state -> call -> reply, keys, ttl, messages. Each row runs on a real
/// server; with HOLDFAST_CONTRACT_MODULE in the environment on one that has that module, by its commands.
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
#include "script/names.hpp"
#include "support/eventually.hpp"
#include "support/redis_server.hpp"
#include "wire/plain/exclusive.hpp"
#include "wire/plain/fair.hpp"

namespace holdfast::contract {

using test::raw_redis;
using test::raw_reply;
using words = std::vector<std::string>;

inline constexpr std::string_view lock_name = "orders:42";
inline std::string const lock_key{lock_name};
inline std::string const counter_key = names::token_counter(lock_name);
inline std::string const queue_key = names::queue(lock_name);

// Owner ids of five callers.
inline constexpr std::string_view caller = "11111111-1111-4111-8111-111111111111:7";
inline constexpr std::string_view sibling =
    "11111111-1111-4111-8111-111111111111:8";  ///< of the same process as `caller`
inline constexpr std::string_view rival = "22222222-2222-4222-8222-222222222222:1";
inline constexpr std::string_view anna = "aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa:12";
inline constexpr std::string_view anna_reads = "aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa:12:r";
inline constexpr std::string_view ben = "bbbbbbbb-bbbb-4bbb-8bbb-bbbbbbbbbbbb:3";

inline constexpr std::int64_t no_ttl = -1;
inline constexpr std::int64_t full_ttl = 30'000;
inline constexpr std::int64_t minute = 60'000;
inline constexpr std::int64_t day = 86'400'000;

/// The last token of a counter that is ahead of the server's clock: the next tokens follow it one by one.
inline constexpr std::int64_t last_token = 4'102'444'800'000'041;

/// A queued owner, and how long it has waited by the server's clock.
struct waiter {
  std::string_view owner;
  std::int64_t waited_ms = 1;
};

/// A reader that has the lock, and for how long it still does.
struct reader {
  std::string_view owner;
  std::int64_t left_ms = 20'000;
};

/// The state of the server before the call.
struct given {
  std::string_view lock{};  ///< its owner; empty: the lock is free
  std::int64_t ttl = 20'000;
  std::optional<std::int64_t> counter = last_token;
  std::vector<waiter> queue{};
  std::vector<reader> readers{};
  std::vector<std::string_view> listening{};  ///< owners whose process is subscribed to its inbox
  std::vector<words> setup{};                 ///< additional commands
};

/// The reply, and the state of the server after the call.
struct expect {
  testing::Matcher<raw_reply const&> reply;
  std::string_view lock{};
  std::int64_t ttl = full_ttl;  ///< of the lock, if it is held: an upper limit, which the ttl nearly reaches
  std::optional<std::int64_t> counter = last_token;
  std::vector<std::string_view> queue{};
  std::vector<std::string> messages{};
  std::vector<reader> readers{};  ///< the first to end first
};

/// One row. Each call is made a second time, as after a connection that broke before the reply came. Unless
/// `again` says otherwise, the second call sends no message and changes neither lock nor queue.
struct row {
  std::string name;
  contract::given given{};
  holdfast::call call;
  contract::expect expect;
  std::optional<contract::expect> again{};
};

inline std::ostream& operator<<(std::ostream& out, row const& test_case) { return out << test_case.name; }

/// Matches the rest of a ttl that was set after the server was emptied for this test: at most `ttl`, and at
/// least `ttl` less the elapsed time.
testing::Matcher<std::int64_t> left_of(std::int64_t ttl);

// Replies.
testing::Matcher<raw_reply const&> is(std::int64_t n);
testing::Matcher<raw_reply const&> is_number(testing::Matcher<std::int64_t> const& number);
testing::Matcher<raw_reply const&> is_text(std::string_view wanted);
testing::Matcher<raw_reply const&> is_array(std::vector<testing::Matcher<raw_reply const&>> const& elements);
testing::Matcher<raw_reply const&> is_list(std::vector<testing::Matcher<std::int64_t>> const& numbers);
/// Another owner has the lock. `held_us`: for how long; -1: unknown, as with a counter ahead of the clock.
testing::Matcher<raw_reply const&> is_busy(testing::Matcher<std::int64_t> const& pttl,
                                           testing::Matcher<std::int64_t> const& ahead,
                                           testing::Matcher<std::int64_t> const& ticket,
                                           std::string_view holder,
                                           testing::Matcher<std::int64_t> const& held_us = -1,
                                           std::int64_t counter = last_token);
/// The same reply to a pass.
testing::Matcher<raw_reply const&> is_passed_on(testing::Matcher<std::int64_t> const& pttl,
                                                testing::Matcher<std::int64_t> const& ahead,
                                                std::string_view holder, std::int64_t counter = last_token);
testing::Matcher<raw_reply const&> is_error(std::string const& text);

// Messages, as "<channel> <payload>".
std::string woken(std::string_view owner, std::string_view name = lock_name);
std::string granted(std::string_view owner, std::int64_t token, std::int64_t count,
                    std::string_view name = lock_name);

// Calls with the arguments of most rows.
call acquire(engine::acquire_request request, std::string_view name = lock_name);
call release(std::string_view owner, std::string_view name = lock_name);
call pass(std::string_view owner, std::string_view next, int tokens = 1, std::string_view name = lock_name);
call abandon(std::string_view owner, std::string_view name = lock_name);
call renew(std::vector<engine::owned> const& leases);
call fair_acquire(engine::acquire_request request, std::string_view name = lock_name);
call fair_pass(std::string_view owner, std::string_view next,
               std::chrono::microseconds next_waited = std::chrono::milliseconds{1},
               std::string_view name = lock_name);
engine::acquire_request join_request(std::string_view owner, std::string_view ticket = {});
engine::acquire_request join_request_after(std::chrono::microseconds waited,
                                           std::string_view owner);  ///< for the first request of a caller
engine::acquire_request try_request(std::string_view owner, int tokens = 1);

/// Sets how the calls above publish, until it is destroyed.
class publishing_scope {
 public:
  explicit publishing_scope(engine::publishing mode);
  ~publishing_scope();
};

/// The EVAL command of a call; or that of the module, where the server has one for the script.
words eval(call const& script_call);
/// Sends it, and once more as a script if the module leaves that to the script.
raw_reply ask(raw_redis& server, call const& script_call);

/// A subscription to inboxes, or to all channels. take() returns the messages published before the call, in
/// order.
class subscription {
 public:
  /// To the inboxes of the owners' clients, and to their inboxes for `lock_name`.
  subscription(test::redis_server const& server, std::vector<std::string_view> const& owners);
  /// To the inboxes of the owners' clients for one lock: in its slot, or with SUBSCRIBE.
  subscription(test::redis_server const& server, std::vector<std::string_view> const& owners,
               std::string_view name, std::string_view command = "SSUBSCRIBE");
  explicit subscription(test::redis_server const& server);
  /// To these channels: in their slots, or on all nodes with SUBSCRIBE.
  subscription(test::redis_server const& server, words const& channels,
               std::string_view command = "SSUBSCRIBE");
  ~subscription();
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

/// An empty cluster of one server with all slots.
test::redis_server& empty_cluster();

/// Brings the server into this state.
void prepare(raw_redis& server, given const& state);

void check(row const& test_case);

/// Whether the server keeps its data when `act` is called. Not by one call: meanwhile keys of other tests may
/// come to the end of their ttl.
template <class F>
[[nodiscard]] bool changes_nothing(raw_redis& raw, F act) {
  auto const changes = [&raw] { return raw.info("persistence", "rdb_changes_since_last_save"); };
  return test::eventually([&] {
    auto const before = changes();
    act();
    return changes() == before;
  });
}

inline std::string name_of(testing::TestParamInfo<row> const& info) { return info.param.name; }

}  // namespace holdfast::contract
