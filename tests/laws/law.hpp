/// The common base of the laws: the servers, clients, and the synchronizer under test.
#pragma once

#include "support/deployment_under_test.hpp"
#include "support/eventually.hpp"
#include "support/failure_of.hpp"
#include "support/flaky_proxy.hpp"
#include "support/judge.hpp"
#include "support/leftovers.hpp"
#include "support/long_timeouts.hpp"
#include "support/pending.hpp"
#include "support/redis_server.hpp"
#include "support/rounds.hpp"
#include "support/subjects.hpp"
#include "support/worker.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::test {

class law : public testing::TestWithParam<subject> {
 protected:
  [[nodiscard]] client connect(client_options options = {}) const {
    return connect_to(server_.url(), std::move(options));
  }
  [[nodiscard]] client connect_to(std::string const& url, client_options options = {}) const {
    options.wake = GetParam().wake;
    return client{url, with_long_timeouts(std::move(options))};
  }
  [[nodiscard]] std::unique_ptr<any_lock> lock(client& redis, lock_options options = {},
                                               std::string name = "orders") const {
    return GetParam().make(redis, std::move(name), options);
  }

  /// Another program takes the lock from its holder, if any. Returns its owner as stored in the key.
  std::string occupy(std::string owner, milliseconds ttl) {
    raw_.del("orders");
    switch (GetParam().layout) {
      case layout::owner:
        raw_.command({"SET", "orders", owner});
        break;
      case layout::owner_field:
        raw_.command({"HSET", "orders", owner, "1"});
        break;
      case layout::read_write:
        owner += ":write";
        raw_.command({"HSET", "orders", "mode", "write", owner, "1"});
        break;
    }
    raw_.command({"PEXPIRE", "orders", std::to_string(ttl.count())});
    return owner;
  }
  [[nodiscard]] std::optional<std::string> holder() {
    if (!GetParam().on_redisson()) return raw_.get("orders");
    for (auto const& field : raw_.command({"HKEYS", "orders"}).elements) {
      if (field.text != "mode") return field.text;
    }
    return std::nullopt;
  }

  /// Redisson's fair queue doesn't distinguish a dead waiter from one that is about to try again.
  [[nodiscard]] static bool waits_for_dead_waiters() {
    return GetParam().on_redisson() && GetParam().passing == handoff::by_server;
  }

  deployment_under_test server_{};
  raw_servers raw_ = server_.raw();
};

/// The number of requests for locks that a proxy saw: scripts, and transactions. Excluded are the setup of
/// connections and the record of a client, which is written once in 20 s.
inline std::size_t requests_for_locks(flaky_proxy const& proxy) {
  auto const all = proxy.requests();
  return static_cast<std::size_t>(std::count_if(all.begin(), all.end(), [](request const& r) {
    auto const is_record = std::any_of(r.words.begin(), r.words.end(), [](std::string const& word) {
      return word.rfind("holdfast_client:", 0) == 0;
    });
    // A script, a transaction, a command of the module, or compare-and-delete of the server's own.
    static constexpr std::array<std::string_view, 6> takes_part{"EVALSHA", "EVAL",    "EXEC",
                                                                "DELEX",   "DELIFEQ", "CAD"};
    auto const is_for_locks =
        std::ranges::find(takes_part, r.name) != takes_part.end() || r.name.rfind("HOLDFAST.", 0) == 0;
    return is_for_locks && !is_record;
  }));
}

/// The client has said what process it is. It does before its first request for a lock, but in a cluster to
/// another node, which may be slower.
[[nodiscard]] inline bool has_record(client const& redis, raw_redis& raw) {
  return eventually([&] { return raw.exists("holdfast_client:" + redis.uuid()); });
}

/// The number of requests that the client has sent, once it sends no more by itself. Opening connections and
/// finding the master take a few, some of them after the first reply.
inline std::uint64_t commands_at_rest(client const& redis) {
  auto sent = redis.stats().commands;
  EXPECT_TRUE(eventually([&] {
    sent = redis.stats().commands;
    return always(250ms, [&] { return redis.stats().commands == sent; });
  }));
  return sent;
}

/// The same for a client that holds a lease, and has written its record.
inline std::uint64_t commands_at_rest(client const& redis, raw_redis& raw) {
  EXPECT_TRUE(has_record(redis, raw));
  return commands_at_rest(redis);
}

/// Nothing since it had sent so many, a moment ago, but for what a client of a cluster that holds a lease
/// asks each second.
[[nodiscard]] inline bool has_sent_nothing(client const& redis, std::uint64_t since) {
  return redis.stats().commands <= since + (topology_under_test() == topology::cluster ? 2U : 0U);
}

/// Returns when the waiter has checked for the last time by itself: the requests after its subscription are
/// answered, and from here on only a message or a timeout wakes it. Not for polling clients.
inline void settle(client& waiter, raw_servers& raw) {
  auto const inbox = "holdfast_inbox:" + waiter.uuid();
  EXPECT_TRUE(eventually([&] { return raw.listeners(inbox) >= 1; }));
  // Messages of a connection arrive in order, so the client knows by now that it is subscribed. Replies
  // arrive in order, too: none is due after that of connect().
  auto const before = waiter.stats().messages;
  raw.publish(inbox, "woken 0 orders");
  EXPECT_TRUE(eventually([&] { return waiter.stats().messages > before; }));
  waiter.connect();
}

/// The subjects that are woken by messages: for laws about messages and about sending no requests meanwhile.
inline std::vector<subject> woken_by_messages() {
  std::vector<subject> result;
  for (auto const& s : subjects()) {
    if (s.wake != wake::poll) result.push_back(s);
  }
  return result;
}

/// The subjects that keep the order over all clients, which requires messages. Not on Redisson's wire, where
/// queue and messages differ.
inline std::vector<subject> keeping_order() {
  auto result = woken_by_messages();
  std::erase_if(result, [](subject const& s) { return s.passing != handoff::by_server || s.on_redisson(); });
  return result;
}

/// The subjects whose release notifies one waiter. On Redisson's wire it notifies all, but for a fair lock.
inline std::vector<subject> waking_one_waiter() {
  auto result = woken_by_messages();
  std::erase_if(result, [](subject const& s) { return s.on_redisson() && s.passing != handoff::by_server; });
  return result;
}

inline std::string title_of(testing::TestParamInfo<subject> const& info) {
  return std::string{info.param.title};
}

}  // namespace holdfast::test

#define HOLDFAST_LAW(suite) INSTANTIATE_TEST_SUITE_P(every, suite, testing::ValuesIn(subjects()), title_of)
#define HOLDFAST_LAW_OF_MESSAGES(suite) \
  INSTANTIATE_TEST_SUITE_P(every, suite, testing::ValuesIn(woken_by_messages()), title_of)
#define HOLDFAST_LAW_OF_ORDER(suite) \
  INSTANTIATE_TEST_SUITE_P(every, suite, testing::ValuesIn(keeping_order()), title_of)
