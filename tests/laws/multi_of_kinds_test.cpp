/// holdfast::multi_mutex with names to write, to read, and for permits: all or none, and each as its own
/// kind.
#include "multi.hpp"
#include "waiters.hpp"

#include <holdfast/expiring_semaphore.hpp>
#include <holdfast/inspect.hpp>
#include <holdfast/shared_mutex.hpp>

#include <gmock/gmock.h>

#include <array>
#include <functional>
#include <thread>

#include "script/names.hpp"

namespace holdfast::test {
namespace {

using testing::HasSubstr;

/// In a cluster the names are in different slots.
class multi_of_kinds : public multi {
 protected:
  [[nodiscard]] client connect() const { return client{server_.url(), with_long_timeouts({.recheck = 30s})}; }
  [[nodiscard]] bool waits_in(std::string const& queue) {
    return eventually([&] {
      auto const waiters = waiters_in(raw_, queue);
      return !waiters.empty() && hears_of(raw_, queue.substr(1, 1), waiters.front());
    });
  }
  [[nodiscard]] bool leaves_nothing() {
    return eventually([&] {
      auto left = leftover_keys(raw_);
      std::erase(left, "{p}:holdfast_permits");
      return left.empty();
    });
  }

  client other_ = connect();
  mutex w_{other_, "w"};
  shared_mutex r_{other_, "r"};
  shared_mutex shared_w_{other_, "w"};
  expiring_semaphore p_{other_, "p", 3};
  client own_ = connect();
  // Beyond that limit it keeps the names that it gets, for a while.
  multi_mutex m_{own_, {write("w"), read("r"), permits("p", 2, 3)}, {.starvation_limit = 10min}};
};

TEST_F(multi_of_kinds, takes_and_releases_all_with_one_request_each) {
  HOLDFAST_ON_ONE_SERVER("the proxy that counts requests stands before one");
  flaky_proxy proxy{server_.socket_path()};
  client redis{proxy.url(), with_long_timeouts()};
  multi_mutex m{redis, {"w", write("v"), read("r"), read("q"), permits("p", 2, 3), permits("o", 1, 1)}};
  {
    auto loads_the_scripts = m.acquire();
    loads_the_scripts.renew();
  }
  proxy.forget();
  auto lease = m.acquire();
  EXPECT_EQ(requests_for_locks(proxy), 1u);
  for (auto const* const name : {"w", "v", "r", "q", "p", "o"}) {
    EXPECT_TRUE(raw_.exists(name)) << name;
    EXPECT_GT(lease.token(name), 0) << name;
  }
  EXPECT_EQ(lease.names(), (std::vector<std::string>{"w", "v", "r", "q", "p", "o"}));
  lease.renew();
  EXPECT_EQ(requests_for_locks(proxy), 2u);
  EXPECT_EQ(lease.release(), release_result::released);
  EXPECT_EQ(requests_for_locks(proxy), 3u);
  EXPECT_TRUE(leaves_nothing());
}

TEST_F(multi_of_kinds, has_each_name_as_its_own_kind) {
  auto lease = m_.acquire();
  EXPECT_FALSE(w_.try_acquire());
  EXPECT_FALSE(shared_w_.try_acquire_shared());
  EXPECT_FALSE(r_.try_acquire());
  EXPECT_TRUE(r_.try_acquire_shared()) << "another reads beside it";
  EXPECT_TRUE(r_.try_acquire_upgrade());
  EXPECT_FALSE(p_.try_acquire(2));
  EXPECT_TRUE(p_.try_acquire(1));
  EXPECT_EQ(p_.acquired(), 2);
  EXPECT_EQ(lease.release(), release_result::released);
  EXPECT_TRUE(leaves_nothing());
}

TEST_F(multi_of_kinds, is_kept_out_by_each_kind_and_takes_none_of_its_names_then) {
  {
    auto const reading = r_.acquire_shared();
    auto const one = p_.acquire(1);
    EXPECT_TRUE(m_.try_acquire()) << "these leave enough";
  }
  auto const keeps_out = [&](lease held, char const* what) {
    EXPECT_FALSE(m_.try_acquire()) << what;
    EXPECT_FALSE(m_.try_acquire_for(50ms)) << what;
    EXPECT_TRUE(m_.last_busy()) << what;
    held.release();
    EXPECT_TRUE(leaves_nothing()) << what;
  };
  keeps_out(w_.acquire(), "a mutex");
  keeps_out(shared_w_.acquire_shared(), "a reader of what is to be written");
  keeps_out(shared_w_.acquire_upgrade(), "an upgrade lease of what is to be written");
  keeps_out(r_.acquire(), "a writer of what is to be read");
  keeps_out(p_.acquire(2), "permits");
}

TEST_F(multi_of_kinds, is_woken_by_the_release_of_each_kind) {
  auto const wakes = [&](lease held, std::string const& queue) {
    std::atomic<int> served = 0;
    start(m_, served);
    ASSERT_TRUE(waits_in(queue));
    EXPECT_EQ(served, 0);
    held.release();
    EXPECT_TRUE(eventually([&] { return served == 1; })) << queue;
    EXPECT_TRUE(leaves_nothing());
  };
  wakes(w_.acquire(), "{w}:holdfast_queue");
  wakes(shared_w_.acquire_shared(), "{w}:holdfast_queue");
  wakes(r_.acquire(), "{r}:holdfast_queue");
  wakes(p_.acquire(2), "{p}:holdfast_permit_queue");
}

TEST_F(multi_of_kinds, wakes_those_of_each_kind_that_wait) {
  client third = connect();
  shared_mutex writes_r{third, "r"};
  auto lease = m_.acquire();
  pending to_write;
  pending to_read;
  pending two;
  w_.async_acquire(to_write.handler());
  writes_r.async_acquire(to_read.handler());
  p_.async_acquire(two.handler(), 2);
  ASSERT_TRUE(waits_in("{w}:holdfast_queue"));
  ASSERT_TRUE(waits_in("{r}:holdfast_queue"));
  ASSERT_TRUE(waits_in("{p}:holdfast_permit_queue"));
  lease.release();
  EXPECT_TRUE(eventually([&] { return to_write.done() && to_read.done() && two.done(); }));
  EXPECT_TRUE(to_write.take() && to_read.take() && two.take());
  EXPECT_TRUE(leaves_nothing());
}

TEST_F(multi_of_kinds, does_not_read_past_a_writer_that_waits) {
  auto reading = r_.acquire_shared();
  client third = connect();
  shared_mutex writes_r{third, "r"};
  pending writer;
  writes_r.async_acquire(writer.handler());
  ASSERT_TRUE(waits_in("{r}:holdfast_queue"));
  EXPECT_FALSE(m_.try_acquire());
  lock_options const readers_first{.policy = sharing_policy::prefer_readers};
  multi_mutex several{own_, {read("r"), write("v")}, readers_first};
  multi_mutex one{own_, {read("r")}, readers_first};
  EXPECT_FALSE(several.try_acquire()) << "that is for a shared_mutex";
  EXPECT_FALSE(one.try_acquire());
  std::atomic<int> served = 0;
  start(m_, served);
  reading.release();
  ASSERT_TRUE(eventually([&] { return writer.done(); }));
  EXPECT_EQ(served, 0);
  writer.take()->release();
  EXPECT_TRUE(eventually([&] { return served == 1; }));
}

TEST_F(multi_of_kinds, takes_no_permits_past_one_that_waits_for_more) {
  auto one = p_.acquire(1);
  client third = connect();
  expiring_semaphore same{third, "p", 3};
  pending all;
  same.async_acquire(all.handler(), 3);
  ASSERT_TRUE(waits_in("{p}:holdfast_permit_queue"));
  EXPECT_FALSE(m_.try_acquire());
  one.release();
  ASSERT_TRUE(eventually([&] { return all.done(); }));
  all.take()->release();
  EXPECT_TRUE(m_.try_acquire());
}

TEST_F(multi_of_kinds, counts_the_tokens_of_each_name_on) {
  auto const wrote = r_.acquire().token();
  auto mine = m_.acquire();
  EXPECT_GE(mine.token("r"), wrote);
  auto with_it = r_.acquire_shared();
  EXPECT_GE(with_it.token(), wrote);
  auto const tokens = std::array{mine.token("w"), mine.token("r"), mine.token("p")};
  EXPECT_GT(p_.acquire().token(), tokens[2]);
  mine.release();
  EXPECT_GT(w_.acquire().token(), tokens[0]);
  with_it.release();
  EXPECT_GT(r_.acquire().token(), tokens[1]);
}

TEST_F(multi_of_kinds, is_lost_with_any_of_its_names_and_gives_the_others_back) {
  multi_mutex m{own_, {write("w"), read("r"), permits("p", 2, 3)}, {.ttl = 60s, .renew_every = 100ms}};
  // What is left of a read lock is the set of readers, if it had one: a reader alone has none.
  auto const loses = [&](std::string const& name, std::vector<std::string> const& left) {
    auto lease = m.acquire();
    raw_.del(name);
    EXPECT_TRUE(eventually([&] { return lease.lost().stop_requested(); })) << name;
    EXPECT_EQ(lease.lost_because(), loss_cause::key_gone);
    EXPECT_EQ(lease.release(), release_result::lost);
    EXPECT_TRUE(eventually([&] {
      auto const found = leftover_keys(raw_);
      return found.empty() || found == left;
    })) << name
        << ": long before their ttl";
    for (auto const& key : left) raw_.del(key);
  };
  loses("w", {});
  loses("r", {"{r}:holdfast_readers"});
  loses("p", {});
}

TEST_F(multi_of_kinds, is_asked_by_a_release_by_force_of_any_of_its_names) {
  client viewer = connect();
  for (std::string const name : {"w", "r", "p"}) {
    auto lease = m_.acquire();
    std::atomic<int> told = 0;
    lease.on_lost([&](loss_cause cause) {
      told += cause == loss_cause::forced ? 1 : 100;
      lease.release();
    });
    EXPECT_EQ(force_release(viewer, name, {.grace = 20s}), force_result::released_by_holder) << name;
    EXPECT_EQ(told, 1) << name;
    EXPECT_TRUE(leaves_nothing()) << name;
  }
}

TEST_F(multi_of_kinds, lets_two_of_a_process_in_together_when_none_is_to_write) {
  multi_mutex twice{own_, {read("r"), permits("p", 1, 3)}};
  auto first = twice.acquire();
  auto second = twice.acquire();
  EXPECT_EQ(p_.acquired(), 2);
  EXPECT_EQ(first.release(), release_result::released);
  EXPECT_TRUE(second.valid());
  EXPECT_FALSE(r_.try_acquire());
}

TEST_F(multi_of_kinds, of_a_single_name_is_as_its_kind) {
  multi_mutex reads{own_, {read("r")}};
  multi_mutex two{own_, {permits("p", 2, 3)}};
  auto const reading = reads.acquire();
  auto const with_two = two.acquire();
  EXPECT_TRUE(r_.try_acquire_shared());
  EXPECT_FALSE(r_.try_acquire());
  EXPECT_TRUE(p_.try_acquire(1));
  EXPECT_FALSE(p_.try_acquire(2));
}

TEST_F(multi_of_kinds, may_be_of_several_servers) {
  redis_server second;
  client there{second.url(), with_long_timeouts()};
  multi_mutex m{{{own_, read("r")}, {there, permits("p", 1, 1)}, {there, "w"}}};
  auto lease = m.acquire();
  EXPECT_EQ(lease.parts().size(), 2u);
  EXPECT_FALSE(r_.try_acquire());
  EXPECT_FALSE((expiring_semaphore{there, "p", 1}.try_acquire()));
  EXPECT_EQ(lease.release(), release_result::released);
  EXPECT_TRUE((expiring_semaphore{there, "p", 1}.try_acquire()));
}

TEST_F(multi_of_kinds, refuses_what_can_never_be_had) {
  auto const refusal = [&](std::vector<multi_name> const& names, lock_options options = {}) {
    return message_of(std::make_error_code(std::errc::invalid_argument),
                      [&] { multi_mutex const m{redis_, names, options}; });
  };
  EXPECT_THAT(refusal({write("x"), read("x")}), HasSubstr("\"x\" is given twice"));
  EXPECT_THAT(refusal({write("x"), read("x")}), HasSubstr("to write and to read"));
  EXPECT_THAT(refusal({permits("x"), "x"}), HasSubstr("for permits and to write"));
  EXPECT_THAT(refusal({"a", permits("x", 0)}), HasSubstr("must be from 1 to"));
  EXPECT_THAT(refusal({"a", permits("x", -2)}), HasSubstr("not -2"));
  EXPECT_THAT(refusal({"a", permits("x", 3, 2)}), HasSubstr("nobody could ever get them"));
  EXPECT_THAT(refusal({"a", permits("x", 1, -1)}), HasSubstr("not -1"));
  for (auto const& names : std::vector<std::vector<multi_name>>{{"a", read("x")}, {permits("x")}})
    EXPECT_THAT(refusal(names, {.wire = wire::redisson}), HasSubstr("on Redisson's wire")) << names.size();
  EXPECT_EQ(redis_.stats().commands, 0u);
}

TEST_F(multi_of_kinds, names_both_kinds_when_a_key_is_of_another) {
  auto const held = p_.acquire();
  auto const writing = w_.acquire();
  auto const code = [&](std::vector<multi_name> const& names) {
    multi_mutex m{own_, names};
    return failure_of([&] { (void)m.acquire(); });
  };
  auto const as_lock = code({read("a"), write("p")});
  EXPECT_EQ(as_lock.code, errc::wrong_type);
  EXPECT_TRUE(as_lock.mentions("\"p\"")) << as_lock;
  auto const as_permits = code({read("a"), permits("w")});
  EXPECT_EQ(as_permits.code, errc::wrong_type);
  EXPECT_TRUE(as_permits.mentions("\"w\"") && as_permits.mentions("mutex")) << as_permits;
}

TEST_F(multi_of_kinds, never_overlaps_and_never_deadlocks_in_a_crowd_of_all_kinds) {
  std::array<std::atomic<int>, 2> writers{};
  std::array<std::atomic<int>, 2> readers{};
  std::atomic<int> out = 0;
  std::atomic<int> wrong = 0;
  auto const as_writer = [&](std::size_t n) {
    wrong += writers[n]++ != 0 || readers[n] != 0 ? 1 : 0;
    std::this_thread::yield();
    --writers[n];
  };
  auto const as_reader = [&](std::size_t n) {
    ++readers[n];
    wrong += writers[n] != 0 ? 1 : 0;
    std::this_thread::yield();
    --readers[n];
  };
  auto const with_permits = [&](int amount) {
    wrong += (out += amount) > 3 ? 1 : 0;
    std::this_thread::yield();
    out -= amount;
  };
  std::vector<std::function<void(client&)>> const crowd{
      [&](client& redis) {
        auto const held = multi_mutex{redis, {write("w"), read("r"), permits("p", 2, 3)}}.acquire();
        as_writer(0), as_reader(1), with_permits(2);
      },
      [&](client& redis) {
        auto const held = multi_mutex{redis, {permits("p", 1, 3), read("w")}}.acquire();
        as_reader(0), with_permits(1);
      },
      [&](client& redis) {
        auto const held = multi_mutex{redis, {"r", "w"}}.acquire();
        as_writer(0), as_writer(1);
      },
      [&](client& redis) {
        auto const held = expiring_semaphore{redis, "p", 3}.acquire(2);
        with_permits(2);
      },
      [&](client& redis) {
        auto const held = shared_mutex{redis, "r"}.acquire_shared();
        as_reader(1);
      },
      [&](client& redis) {
        auto const held = shared_mutex{redis, "r"}.acquire();
        as_writer(1);
      }};
  {
    std::vector<std::jthread> threads;
    for (auto const& turn : crowd) {
      threads.emplace_back([&] {
        client redis{server_.url(), with_long_timeouts()};
        for (auto i = 0; i < 30; ++i) turn(redis);
      });
    }
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_TRUE(leaves_nothing());
}

TEST_F(multi_of_kinds, gets_its_turn_though_its_names_are_never_free_together) {
  if (topology_under_test() == topology::cluster)
    GTEST_SKIP() << "it is about names that are taken together, and these are in different slots";
  // Two threads take turns so that one of the names is always taken.
  std::atomic<bool> stopping = false;
  std::array<std::atomic<int>, 2> rounds{};
  auto const take_turns = [&](std::size_t i, auto const& acquire) {
    while (!stopping) {
      auto const held = acquire();
      auto const before = rounds[1 - i].load();
      ++rounds[i];
      // Until the other thread holds, so that both overlap; the multi_mutex in between may keep it out.
      (void)true_within(300ms, [&] { return rounds[1 - i] != before || stopping; });
    }
  };
  std::vector<std::jthread> threads;
  threads.emplace_back([&] { take_turns(0, [&] { return p_.acquire(2); }); });
  threads.emplace_back([&] { take_turns(1, [&] { return r_.acquire(); }); });
  ASSERT_TRUE(eventually([&] { return rounds[0] > 3 && rounds[1] > 3; }));
  multi_mutex both{own_, {read("r"), permits("p", 2, 3)}, {.starvation_limit = 50ms}};
  auto const lease = both.try_acquire_for(60s);
  stopping = true;
  EXPECT_TRUE(lease);
}

}  // namespace
}  // namespace holdfast::test
