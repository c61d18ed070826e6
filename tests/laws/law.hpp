/// What every law starts from: what serves it, clients, and the synchronizer under test.
#pragma once

#include "support/eventually.hpp"
#include "support/flaky_proxy.hpp"
#include "support/judge.hpp"
#include "support/redis_server.hpp"
#include "support/registry.hpp"
#include "support/rounds.hpp"
#include "support/served.hpp"
#include "support/unhurried.hpp"
#include "support/worker.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::test {

class law : public testing::TestWithParam<subject> {
 protected:
  [[nodiscard]] client connect(client_options options = {}) const {
    return connect_to(server_.url(), std::move(options));
  }
  [[nodiscard]] client connect_to(std::string const& url, client_options options = {}) const {
    options.wake = GetParam().wake;
    return client{url, unhurried(std::move(options))};
  }
  [[nodiscard]] std::unique_ptr<any_lock> lock(client& redis, lock_options options = {},
                                               std::string name = "orders") const {
    return GetParam().make(redis, std::move(name), options);
  }

  /// Keys that a lock must not leave behind.
  [[nodiscard]] std::vector<std::string> residue() {
    std::vector<std::string> left;
    for (auto& key : raw_.keys()) {
      if (!outlives_locks(key)) left.push_back(std::move(key));
    }
    std::ranges::sort(left);  // more keys beside them, and Redis lists them in another order
    return left;
  }

  /// Another program takes it, whoever had it. Returns what stands there for it then.
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

  /// Nothing in Redisson's fair queue tells a dead waiter from one that is about to ask again.
  [[nodiscard]] static bool waits_for_the_dead() {
    return GetParam().on_redisson() && GetParam().passing == handoff::by_server;
  }

  served server_{};
  raw_servers raw_ = server_.raw();
};

/// How many of the requests that a proxy saw were for locks: not what connections begin with, nor the record
/// of a client, which comes when it comes.
inline std::size_t requests_for_locks(flaky_proxy const& proxy) {
  auto const all = proxy.requests();
  return static_cast<std::size_t>(std::count_if(all.begin(), all.end(), [](request const& r) {
    auto const of_a_record = std::any_of(r.words.begin(), r.words.end(), [](std::string const& word) {
      return word.rfind("holdfast_client:", 0) == 0;
    });
    return (r.name == "EVALSHA" || r.name == "EVAL") && !of_a_record;
  }));
}

/// How many requests that client has sent, once it sends no more by itself: opening its connections takes a
/// few, and finding the master, some of them after the first answer.
inline std::uint64_t commands_at_rest(client const& of) {
  auto sent = of.stats().commands;
  EXPECT_TRUE(eventually([&] {
    sent = of.stats().commands;
    return always(250ms, [&] { return of.stats().commands == sent; });
  }));
  return sent;
}

/// The same of a client that holds a lease: half a second after the first one it writes its record, which it
/// does once in 20 s.
inline std::uint64_t commands_at_rest(client const& of, raw_redis& raw) {
  EXPECT_TRUE(eventually([&] { return raw.exists("holdfast_client:" + of.uuid()); }));
  return commands_at_rest(of);
}

/// Who waits has looked for the last time by itself: what it asks when its channel is open is answered, and
/// from here on a message wakes it, or the end of a time. Not for those that poll.
inline void settle(client& waiting, raw_servers& raw) {
  auto const inbox = "holdfast_inbox:" + waiting.uuid();
  EXPECT_TRUE(eventually([&] { return raw.listeners(inbox) >= 1; }));
  // What comes over a connection is heard in order, so the client knows by now that it is subscribed; and
  // answers come in order, so none is due after that of connect().
  auto const before = waiting.stats().messages;
  raw.publish(inbox, "woken 0 orders");
  EXPECT_TRUE(eventually([&] { return waiting.stats().messages > before; }));
  waiting.connect();
}

/// The outcome of one asynchronous acquisition. Outlives the handler that fills it in.
class pending {
 public:
  mutex::acquire_handler handler() {
    return [state = state_](std::optional<lease> got, std::exception_ptr failure) {
      std::scoped_lock const hold{state->guard};
      state->got = std::move(got);
      state->failure = std::move(failure);
      state->done = true;
    };
  }
  [[nodiscard]] bool done() const { return state_->done; }
  /// Empty when busy; throws what the acquisition failed with.
  std::optional<lease> take() {
    std::scoped_lock const hold{state_->guard};
    if (state_->failure) std::rethrow_exception(state_->failure);
    return std::exchange(state_->got, std::nullopt);
  }

 private:
  struct state {
    std::mutex guard;
    std::atomic<bool> done = false;
    std::optional<lease> got;
    std::exception_ptr failure;
  };
  std::shared_ptr<state> state_ = std::make_shared<state>();
};

/// The code that `f` throws; zero when it throws nothing.
template <class F>
std::error_code code_of(F f) {
  try {
    f();
  } catch (error const& e) {
    return e.code();
  }
  return {};
}

/// Those that are woken by messages, for laws about messages and about asking nothing meanwhile.
inline std::vector<subject> woken_by_messages() {
  std::vector<subject> some;
  for (auto const& s : registry()) {
    if (s.wake != wake::poll) some.push_back(s);
  }
  return some;
}

/// Those that keep the order over all clients, which takes messages; not on Redisson's wire, where queue and
/// messages are others.
inline std::vector<subject> keeping_order() {
  auto some = woken_by_messages();
  std::erase_if(some, [](subject const& s) { return s.passing != handoff::by_server || s.on_redisson(); });
  return some;
}

/// Those whose release tells one waiter. On Redisson's wire all hear it, but those of a fair lock.
inline std::vector<subject> waking_one() {
  auto some = woken_by_messages();
  std::erase_if(some, [](subject const& s) { return s.on_redisson() && s.passing != handoff::by_server; });
  return some;
}

inline std::string title_of(testing::TestParamInfo<subject> const& info) {
  return std::string{info.param.title};
}

}  // namespace holdfast::test

#define HOLDFAST_LAW(suite) INSTANTIATE_TEST_SUITE_P(every, suite, testing::ValuesIn(registry()), title_of)
#define HOLDFAST_LAW_OF_MESSAGES(suite) \
  INSTANTIATE_TEST_SUITE_P(every, suite, testing::ValuesIn(woken_by_messages()), title_of)
#define HOLDFAST_LAW_OF_ORDER(suite) \
  INSTANTIATE_TEST_SUITE_P(every, suite, testing::ValuesIn(keeping_order()), title_of)
