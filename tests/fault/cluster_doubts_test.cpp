/// A master of a cluster that was silent: other masters are asked before what it says counts.
#include "clustered.hpp"

#include <algorithm>
#include <atomic>

namespace holdfast::test {
namespace {

/// The other masters answer as late as the test says, still within the time that they are given.
class doubtful_cluster : public cluster_behind_proxies {
 protected:
  explicit doubtful_cluster(cluster_options options = {.masters = 3, .replicas_each = 0})
      : cluster_behind_proxies{std::move(options)} {}

  void others_take(std::chrono::milliseconds time) {
    *delay_ = time;
    for (auto* const each : nodes_.masters()) {
      if (each == &master_) continue;
      proxy_of(*each).decide([delay = delay_](request const& r) {
        return r.has("INFO") ? fate::delay_reply(*delay) : fate::pass();
      });
    }
  }
  /// Its reply takes longer than one that counts.
  void next_reply_is_late(std::string const& name) {
    proxy_.once([name](request const& r) { return r.has(name); }, fate::delay_reply(800ms));
  }
  /// The master has given the lock, and may have been replaced.
  void counts_when_the_others_have_answered(waiter& asks) {
    ASSERT_TRUE(eventually([&] { return master_.raw().exists(name_); }));
    EXPECT_TRUE(always(500ms, [&] { return !asks.done(); })) << "another one may have taken its place";
    ASSERT_TRUE(eventually([&] { return asks.done(); }));
    EXPECT_TRUE(asks.take().valid());
  }
  static client_options patient() { return {.connect_timeout = wait_limit, .reply_timeout = wait_limit}; }

  static constexpr auto long_time = 4s;  ///< a doubt lasts for 5 s, whatever the others say
  redis_server& master_ = slot_master();
  flaky_proxy& proxy_ = proxy_of(master_);
  std::string const other_name_ = "{" + name_ + "}:2";  ///< in the same slot
  std::shared_ptr<std::atomic<std::chrono::milliseconds>> delay_ =
      std::make_shared<std::atomic<std::chrono::milliseconds>>();
};

/// The machine of a frozen server accepts connections.
TEST_F(doubtful_cluster, asks_the_others_about_a_master_that_was_frozen_while_it_was_dialled) {
  auto const elsewhere = name_elsewhere();
  proxy_.freeze();
  client redis{url(), patient()};
  mutex(redis, elsewhere).acquire().release();
  others_take(long_time);
  mutex m{redis, name_, {.ttl = 10min}};
  waiter asks{m};
  ASSERT_TRUE(eventually([&] { return proxy_.connections() > 0; }));
  EXPECT_TRUE(always(700ms, [&] { return !asks.done(); }));
  proxy_.thaw();
  counts_when_the_others_have_answered(asks);
}

TEST_F(doubtful_cluster, asks_the_others_when_a_connection_broke_that_had_waited_in_vain) {
  client redis{url(), patient()};
  mutex m{redis, name_, {.ttl = 10min}};
  m.acquire().release();
  others_take(long_time);
  proxy_.freeze();
  waiter asks{m};
  EXPECT_TRUE(always(700ms, [&] { return !asks.done(); }));
  proxy_.cut_all();
  proxy_.thaw();
  counts_when_the_others_have_answered(asks);
}

TEST_F(doubtful_cluster, does_not_believe_the_next_connection_while_the_others_are_asked) {
  client redis{url(), patient()};
  mutex m{redis, name_, {.ttl = 10min}};
  m.acquire().release();
  others_take(long_time);
  proxy_.freeze();
  waiter asks{m};
  EXPECT_TRUE(always(700ms, [&] { return !asks.done(); }));
  proxy_.thaw();
  ASSERT_TRUE(eventually([&] { return master_.raw().exists(name_); }));
  EXPECT_TRUE(always(300ms, [&] { return !asks.done(); }));
  proxy_.cut_all();
  EXPECT_TRUE(always(500ms, [&] { return !asks.done(); })) << "the doubt is about the server";
  ASSERT_TRUE(eventually([&] { return asks.done(); }));
  EXPECT_TRUE(asks.take().valid());
}

TEST_F(doubtful_cluster, asks_again_about_what_comes_late_while_the_others_are_asked) {
  client redis{url(), patient()};
  mutex m{redis, name_, {.ttl = 10min}};
  mutex next{redis, other_name_, {.ttl = 10min}};
  m.acquire().release();
  next.acquire().release();
  others_take(3s);
  next_reply_is_late(name_);
  waiter asks{m};
  ASSERT_TRUE(eventually([&] { return master_.raw().exists(name_); }));
  EXPECT_TRUE(always(1s, [&] { return !asks.done(); }));
  *delay_ = long_time;
  next_reply_is_late(other_name_);
  waiter asks_later{next};
  ASSERT_TRUE(eventually([&] { return asks.done(); }));
  EXPECT_TRUE(always(500ms, [&] { return !asks_later.done(); }))
      << "those who answered were asked before it was silent again";
  ASSERT_TRUE(eventually([&] { return asks_later.done(); }));
  EXPECT_TRUE(asks.take().valid());
  EXPECT_TRUE(asks_later.take().valid());
}

/// As when this process was suspended.
TEST_F(doubtful_cluster, does_not_let_masters_wait_for_each_other_that_are_all_late) {
  passes_in_one_round_of(3, [&] {
    client redis{url(), patient()};
    std::vector<std::unique_ptr<mutex>> mutexes;
    for (auto* const each : nodes_.masters()) {
      auto const name = name_at([each](redis_server const& master) { return &master == each; });
      mutexes.push_back(std::make_unique<mutex>(redis, name));
      mutexes.back()->acquire().release();
    }
    for (auto const& proxy : proxies_) proxy->freeze();
    std::vector<std::unique_ptr<waiter>> waiters;
    for (auto const& each : mutexes) waiters.push_back(std::make_unique<waiter>(*each));
    EXPECT_TRUE(always(
        700ms, [&] { return std::ranges::none_of(waiters, [](auto const& asks) { return asks->done(); }); }));
    for (auto const& proxy : proxies_) proxy->thaw();
    auto const all_done = [&] {
      return std::ranges::all_of(waiters, [](auto const& asks) { return asks->done(); });
    };
    EXPECT_TRUE(eventually(3s, all_done)) << "no doubt has lasted for as long as it may";
    ASSERT_TRUE(eventually(all_done));
    for (auto const& asks : waiters) EXPECT_EQ(asks->take().release(), release_result::released);
  });
}

class doubtful_replicated_cluster : public doubtful_cluster {
 protected:
  doubtful_replicated_cluster() : doubtful_cluster{cluster_options{}} {}
};

TEST_F(doubtful_replicated_cluster, does_not_believe_the_other_connection_while_the_others_are_asked) {
  client redis{url(), patient()};
  mutex m{redis, name_, {.ttl = 10min}};
  mutex with_replicas{redis, other_name_, {.ttl = 10min, .replicas = 1}};
  m.acquire().release();
  acknowledged(with_replicas).release();
  others_take(long_time);
  next_reply_is_late(name_);
  waiter asks{m};
  ASSERT_TRUE(eventually([&] { return master_.raw().exists(name_); }));
  EXPECT_TRUE(always(1s, [&] { return !asks.done(); }));
  waiter asks_over_the_other{with_replicas};
  ASSERT_TRUE(eventually([&] { return master_.raw().exists(other_name_); }));
  EXPECT_TRUE(always(500ms, [&] { return !asks_over_the_other.done(); }));
  ASSERT_TRUE(eventually([&] { return asks.done() && asks_over_the_other.done(); }));
  EXPECT_TRUE(asks.take().valid());
}

}  // namespace
}  // namespace holdfast::test
