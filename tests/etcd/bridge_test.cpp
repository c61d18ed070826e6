// A lock that is held on a Redis and on etcd: the step between them for a fleet that moves.

#include "clients_of_etcd.hpp"
#include "support/eventually.hpp"
#include "support/redis_server.hpp"

#include <holdfast/client.hpp>
#include <holdfast/expiring_semaphore.hpp>
#include <holdfast/multi_mutex.hpp>
#include <holdfast/mutex.hpp>
#include <holdfast/shared_mutex.hpp>

#include <atomic>
#include <csignal>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::test {
namespace {

using members = std::vector<multi_mutex::member>;

class etcd_bridge : public clients_of_etcd {
 protected:
  etcd_bridge() : clients_of_etcd{"bridge"} {}

  /// As the programs of a fleet have it while they move.
  [[nodiscard]] static members on_both(client& redis, client& etcd, std::string const& name) {
    return {{redis, name}, {etcd, name}};
  }

  redis_server server_;
  client redis_{server_.url(), options()};
  client elsewhere_{server_.url(), options()};
};

TEST_F(etcd_bridge, excludes_the_locks_of_either_server_and_is_excluded_by_them) {
  mutex old_lock{elsewhere_, "both"};
  mutex new_lock{second_, "both"};
  multi_mutex both{on_both(redis_, first_, "both")};
  auto held = both.acquire();
  EXPECT_FALSE(old_lock.try_acquire());
  EXPECT_FALSE(new_lock.try_acquire());
  EXPECT_EQ(held.release(), release_result::released);
  {
    auto const busy = old_lock.acquire();
    EXPECT_FALSE(both.try_acquire());
    EXPECT_TRUE(come_to_be("both", 0));
  }
  auto const busy = new_lock.acquire();
  EXPECT_FALSE(both.try_acquire_for(100ms));
  EXPECT_TRUE(old_lock.try_acquire_for(wait_limit));  // all or none
}

TEST_F(etcd_bridge, has_the_token_of_each_server) {
  mutex old_lock{elsewhere_, "tokens"};
  mutex new_lock{second_, "tokens"};
  auto const before_here = old_lock.acquire().token();
  auto const before_there = new_lock.acquire().token();
  multi_mutex both{on_both(redis_, first_, "tokens")};
  auto held = both.acquire();
  ASSERT_EQ(held.parts().size(), 2);
  EXPECT_GT(held.parts()[0].token(), before_there);  // etcd:// comes before redis://
  EXPECT_GT(held.parts()[1].token(), before_here);
  EXPECT_EQ(held.token("tokens"), held.parts()[1].token());
}

TEST_F(etcd_bridge, is_lost_when_one_of_them_is) {
  multi_mutex both{on_both(redis_, first_, "lost"), {.ttl = 60s, .renew_every = 25s}};
  auto held = both.acquire();
  held.renew();  // its key is watched from then on
  three_etcds().ctl({"del", "bridge/lost/", "--prefix"});
  EXPECT_TRUE(eventually([&] { return held.lost_because() == loss_cause::key_gone; }));
  EXPECT_EQ(held.release(), release_result::lost);
  EXPECT_TRUE(mutex(elsewhere_, "lost").try_acquire_for(wait_limit));
}

/// Programs of one generation beside those of the next one. The order in which they name the servers doesn't
/// matter.
void count_with_two_generations(client& redis, client& elsewhere, client& etcd, client& other_etcd,
                                bool beside_old_ones) {
  constexpr int rounds = 6;
  std::atomic<int> inside = 0;
  int count = 0;
  auto const work = [&](auto lock) {
    for (int n = 0; n != rounds; ++n) {
      std::scoped_lock const hold{*lock};
      EXPECT_EQ(inside.fetch_add(1), 0);
      ++count;
      inside.fetch_sub(1);
    }
  };
  std::string const name = beside_old_ones ? "first_step" : "second_step";
  std::vector<std::jthread> all;
  for (int i = 0; i != 2; ++i) {
    all.emplace_back([&] { work(std::make_unique<multi_mutex>(members{{redis, name}, {etcd, name}})); });
    all.emplace_back(
        [&] { work(std::make_unique<multi_mutex>(members{{other_etcd, name}, {elsewhere, name}})); });
    all.emplace_back([&] { work(std::make_unique<mutex>(beside_old_ones ? elsewhere : other_etcd, name)); });
  }
  all.clear();
  EXPECT_EQ(count, 6 * rounds);
}

TEST_F(etcd_bridge, has_one_holder_beside_programs_that_know_only_the_old_server) {
  count_with_two_generations(redis_, elsewhere_, first_, second_, true);
  EXPECT_TRUE(come_to_be("first_step", 0));
}

TEST_F(etcd_bridge, has_one_holder_beside_programs_that_know_only_the_new_server) {
  count_with_two_generations(redis_, elsewhere_, first_, second_, false);
  EXPECT_TRUE(come_to_be("second_step", 0));
}

TEST_F(etcd_bridge, reads_and_takes_permits_on_both) {
  multi_mutex reading{members{{redis_, read("read")}, {first_, read("read")}}};
  multi_mutex permit{members{{redis_, permits("slots", 1, 2)}, {first_, permits("slots", 1, 2)}}};
  auto const one = reading.acquire();
  auto const two = permit.acquire();
  EXPECT_TRUE(shared_mutex(second_, "read").try_acquire_shared());
  EXPECT_FALSE(shared_mutex(second_, "read").try_acquire());
  EXPECT_FALSE(shared_mutex(elsewhere_, "read").try_acquire());
  EXPECT_EQ(expiring_semaphore(second_, "slots", 2).available(), 1);
  EXPECT_EQ(expiring_semaphore(elsewhere_, "slots", 2).available(), 1);
}

TEST_F(etcd_bridge, is_one_run_in_another_for_commands) {
  words const inner{HOLDFAST_CLI, "run", "--url", three_etcds().url("bridge"), "command",
                    "--",         "sh",  "-c",    "echo inside; sleep 30"};
  words all{HOLDFAST_CLI, "run", "--url", server_.url(), "command", "--"};
  all.insert(all.end(), inner.begin(), inner.end());
  process both{all};
  ASSERT_TRUE(come_to_be("command", 1));
  multi_mutex too{on_both(redis_, first_, "command")};
  EXPECT_FALSE(too.try_acquire());
  EXPECT_FALSE(mutex(elsewhere_, "command").try_acquire());
  EXPECT_FALSE(mutex(second_, "command").try_acquire());
  both.signal(SIGTERM);
  EXPECT_TRUE(too.try_acquire_for(wait_limit));
}

}  // namespace
}  // namespace holdfast::test
