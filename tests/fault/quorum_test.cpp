/// Several masters that vote, with some of them ended, frozen, slow, cut off one way, and emptied.
#include "quorum.hpp"

#include <holdfast/fair_mutex.hpp>

namespace holdfast::test {
namespace {

using quorum = five_masters;
using quorum_network = five_networks;

TEST_F(quorum, lock_is_held_at_a_majority_and_leaves_nothing) {
  client redis{masters_.url()};
  quorum_mutex m{redis, "orders"};
  {
    auto const lease = m.acquire();
    EXPECT_GE(votes_for("orders", lease.owner()), 3u);
    EXPECT_GT(lease.token(), 0);
    client other{masters_.url()};
    EXPECT_FALSE(quorum_mutex(other, "orders").try_acquire());
  }
  EXPECT_TRUE(nothing_left_behind());
}

TEST_F(quorum, waiter_gets_the_lock_when_it_is_released) {
  client redis{masters_.url()};
  client other{masters_.url()};
  quorum_mutex m{redis, "orders"};
  quorum_mutex other_mutex{other, "orders"};
  auto lease = m.acquire();
  waiter next{other_mutex};
  EXPECT_TRUE(always(200ms, [&] { return !next.done(); }));
  auto const token = lease.token();
  EXPECT_EQ(lease.release(), release_result::released);
  ASSERT_TRUE(eventually([&] { return next.done(); }));
  auto next_lease = next.take();
  EXPECT_GT(next_lease.token(), token);
  EXPECT_EQ(next_lease.release(), release_result::released);
  EXPECT_TRUE(nothing_left_behind());
}

TEST_F(quorum, two_of_five_that_are_gone_are_no_hindrance) {
  client redis{masters_.url()};
  quorum_mutex m{redis, "orders"};
  (void)m.acquire().release();
  masters_[1].kill9();
  masters_[3].kill9();
  for (auto i = 0; i < 20; ++i) {
    auto lease = m.acquire();
    EXPECT_TRUE(lease.valid());
    EXPECT_EQ(lease.release(), release_result::released);
  }
  client late{masters_.url()};  // a client that never connected to them
  EXPECT_TRUE(quorum_mutex(late, "orders").try_acquire());
  masters_[1].start();
  masters_[3].start();
  EXPECT_TRUE(nothing_left_behind());
}

TEST_F(quorum, two_of_five_that_are_frozen_are_no_hindrance_and_keep_nothing) {
  client redis{masters_.url()};
  quorum_mutex m{redis, "orders"};
  (void)m.acquire().release();
  masters_[0].freeze();
  masters_[4].freeze();
  for (auto i = 0; i < 20; ++i) EXPECT_EQ(m.acquire().release(), release_result::released);
  masters_[0].thaw();
  masters_[4].thaw();
  EXPECT_TRUE(nothing_left_behind());
}

TEST_F(quorum, too_few_masters_are_an_error_that_names_those_missing) {
  client redis{masters_.url(), {.connect_timeout = 3s}};
  quorum_mutex m{redis, "orders"};
  (void)m.acquire().release();
  for (auto const i : {0u, 2u, 4u}) masters_[i].kill9();
  auto const failure = failure_of([&] { (void)m.acquire(); });
  EXPECT_EQ(failure.code, errc::unreachable);
  EXPECT_TRUE(failure.mentions("2 of 5 servers can be asked, and 3 are needed")) << failure.message;
  for (auto const i : {0u, 2u, 4u}) EXPECT_TRUE(failure.mentions(masters_[i].address())) << failure.message;
  client late{masters_.url(), {.connect_timeout = 3s}};
  EXPECT_EQ(failure_of([&] { (void)quorum_mutex(late, "orders").try_acquire(); }).code, errc::unreachable);
  EXPECT_EQ(failure_of([&] { late.connect(); }).code, errc::unreachable);
  for (auto const i : {0u, 2u, 4u}) masters_[i].start();
  EXPECT_TRUE(nothing_left_behind());
}

TEST_F(quorum, waiter_outlives_an_outage_of_the_majority) {
  client redis{masters_.url()};
  client other{masters_.url()};
  quorum_mutex m{redis, "orders", {.ttl = 20s}};
  quorum_mutex other_mutex{other, "orders"};
  auto lease = m.acquire();
  waiter next{other_mutex};
  EXPECT_TRUE(always(200ms, [&] { return !next.done(); }));
  for (auto const i : {0u, 1u, 2u}) masters_[i].freeze();
  EXPECT_TRUE(always(300ms, [&] { return !next.done(); }));
  for (auto const i : {0u, 1u, 2u}) masters_[i].thaw();
  EXPECT_EQ(lease.release(), release_result::released);
  ASSERT_TRUE(eventually([&] { return next.done(); }));
  EXPECT_EQ(next.take().release(), release_result::released);
  EXPECT_TRUE(nothing_left_behind());
}

TEST_F(quorum, holder_that_loses_its_majority_is_told_by_its_deadline) {
  client redis{masters_.url()};
  quorum_mutex m{redis, "orders", {.ttl = 2s}};
  auto const lease = m.acquire();
  for (auto const i : {0u, 1u, 2u}) masters_[i].freeze();
  ASSERT_TRUE(eventually([&] { return lease.lost().stop_requested(); }));
  EXPECT_FALSE(lease.valid());
  EXPECT_EQ(lease.lost_because(), loss_cause::unreachable);
  for (auto const i : {0u, 1u, 2u}) masters_[i].thaw();
}

TEST_F(quorum, lease_outlives_the_loss_of_a_minority) {
  client redis{masters_.url()};
  quorum_mutex m{redis, "orders", {.ttl = 5s, .renew_every = 200ms}};
  auto lease = m.acquire();
  masters_[0].freeze();
  masters_[1].kill9();
  EXPECT_TRUE(always(6s, [&] { return lease.valid(); }));
  EXPECT_EQ(lease.release(), release_result::released);
  masters_[0].thaw();
  masters_[1].start();
  EXPECT_TRUE(nothing_left_behind());
}

TEST_F(quorum, lease_taken_from_a_majority_is_lost_at_the_next_renewal) {
  client redis{masters_.url()};
  quorum_mutex m{redis, "orders", {.ttl = 60s}};
  auto lease = m.acquire();
  ASSERT_TRUE(eventually([&] { return votes_for("orders", lease.owner()) == 5; }))
      << "votes that come late would make up for those taken";
  for (auto const i : {0u, 1u, 2u}) masters_[i].raw().del("orders");
  EXPECT_EQ(failure_of([&] { lease.renew(); }).code, errc::lost);
  ASSERT_TRUE(eventually([&] { return lease.lost().stop_requested(); }));
  EXPECT_EQ(lease.lost_because(), loss_cause::key_gone);
}

TEST_F(quorum, masters_emptied_one_after_the_other_vote_for_the_lease_again) {
  client redis{masters_.url()};
  quorum_mutex m{redis, "orders", {.ttl = 60s, .renew_every = 500ms}};
  auto lease = m.acquire();
  auto const token = lease.token();
  for (std::size_t i = 0; i != masters_.size(); ++i) {
    masters_[i].stop();
    masters_[i].start();
    EXPECT_TRUE(eventually([&] { return masters_[i].raw().get("orders") == lease.owner(); })) << i;
  }
  EXPECT_TRUE(lease.valid());
  EXPECT_EQ(lease.release(), release_result::released);
  EXPECT_GT(m.acquire().token(), token);
  EXPECT_TRUE(nothing_left_behind());
}

TEST_F(quorum, one_server_under_two_names_is_refused) {
  auto const port = std::to_string(masters_[0].port());
  client redis{"redis+quorum://" + masters_[0].address() + "," + masters_[1].address() +
               ",localhost:" + port};
  quorum_mutex m{redis, "orders"};
  masters_[1].freeze();  // so that both votes of the repeated server would be needed
  auto const failure = failure_of([&] { (void)m.acquire(); });
  EXPECT_EQ(failure.code, errc::bad_url);
  EXPECT_TRUE(failure.mentions("are one server")) << failure.message;
  masters_[1].thaw();
  EXPECT_TRUE(nothing_left_behind());
}

TEST_F(quorum, waits_that_end_without_the_lock_leave_nothing) {
  client redis{masters_.url()};
  client other{masters_.url()};
  quorum_mutex m{redis, "orders"};
  quorum_mutex other_mutex{other, "orders"};
  auto lease = m.acquire();
  EXPECT_FALSE(other_mutex.try_acquire());
  EXPECT_FALSE(other_mutex.try_acquire_for(100ms));
  std::stop_source stop;
  waiter cancelled{other_mutex, stop.get_token()};
  EXPECT_TRUE(eventually([&] { return leftovers().size() > 6; }));  // in the queues
  stop.request_stop();
  ASSERT_TRUE(eventually([&] { return cancelled.done(); }));
  EXPECT_EQ(lease.release(), release_result::released);
  EXPECT_TRUE(nothing_left_behind());
}

TEST_F(quorum, contenders_of_many_processes_exclude_each_other_while_masters_come_and_go) {
  std::mutex guard;
  std::vector<interval> history;
  std::atomic<int> leases = 0;
  std::atomic<bool> stop = false;
  std::vector<std::jthread> contenders;
  for (auto i = 0; i < 6; ++i) {
    contenders.emplace_back([&, i] {
      client redis{masters_.url()};
      quorum_mutex m{redis, "orders", {.ttl = 5s}};
      while (!stop) {
        try {
          auto lease = m.try_acquire_for(1s);
          if (!lease) continue;
          interval entry{.from = boot_now(), .to = 0, .token = lease->token(), .holder = i};
          if (!lease->valid()) continue;
          auto const now = boot_now();
          entry.to = lease->valid() ? now : entry.from;
          {
            std::scoped_lock const hold{guard};
            history.push_back(entry);
          }
          ++leases;
          (void)lease->release();
        } catch (error const&) {  // the masters frozen before aren't back yet, and others are frozen now
        }
      }
    });
  }
  for (std::size_t round = 0; round != 6; ++round) {
    auto const before = leases.load();
    masters_[round % 5].freeze();
    masters_[(round + 2) % 5].freeze();
    EXPECT_TRUE(eventually([&] { return leases > before + 5; }));
    masters_[round % 5].thaw();
    masters_[(round + 2) % 5].thaw();
  }
  // The thawed masters handle the requests of the meantime before any contender leaves.
  auto const before = leases.load();
  EXPECT_TRUE(eventually([&] { return leases > before + 20; }));
  stop = true;
  contenders.clear();
  EXPECT_EQ(judge(history), "");
  // A master slow to thaw may have queued a contender that had left: that ends in a minute.
  EXPECT_TRUE(eventually(90s, [&] { return leftovers().empty(); }));
}

TEST_F(quorum, redissons_wire_is_voted_on_too) {
  client redis{masters_.url() + "?wire=redisson"};
  client other{masters_.url() + "?wire=redisson"};
  quorum_mutex m{redis, "orders"};
  quorum_mutex other_mutex{other, "orders"};
  auto lease = m.acquire();
  EXPECT_EQ(lease.token(), 0);
  std::size_t votes = 0;
  for (auto const& master : masters_) {
    auto raw = master->raw();
    if (raw.command({"HGET", "orders", lease.owner()}).text == "1") ++votes;
  }
  EXPECT_GE(votes, 3u);
  EXPECT_FALSE(other_mutex.try_acquire());
  waiter next{other_mutex};
  EXPECT_TRUE(always(100ms, [&] { return !next.done(); }));
  EXPECT_EQ(lease.release(), release_result::released);
  ASSERT_TRUE(eventually([&] { return next.done(); }));
  EXPECT_EQ(next.take().release(), release_result::released);
  EXPECT_TRUE(nothing_left_behind());
}

TEST_F(quorum, votes_of_others_are_no_lock_until_they_are_a_majority) {
  for (auto const i : {0u, 3u}) masters_[i].raw().command({"SET", "orders", "somebody", "PX", "20000"});
  client redis{masters_.url()};
  quorum_mutex m{redis, "orders"};
  EXPECT_EQ(m.acquire().release(), release_result::released);
  masters_[1].raw().command({"SET", "orders", "somebody", "PX", "20000"});
  EXPECT_FALSE(m.try_acquire());
  ASSERT_TRUE(m.last_busy());
  EXPECT_EQ(m.last_busy()->holder.owner, "somebody");
  for (auto const i : {0u, 1u, 3u}) masters_[i].raw().del("orders");
  EXPECT_TRUE(nothing_left_behind());
}

TEST_F(quorum, scripts_that_masters_have_forgotten_leave_nothing_behind) {
  client redis{masters_.url()};
  client other{masters_.url()};
  quorum_mutex m{redis, "orders"};
  quorum_mutex other_mutex{other, "orders"};
  for (auto i = 0; i < 10; ++i) {
    for (auto const& master : masters_) master->raw().command({"SCRIPT", "FLUSH"});
    auto lease = m.acquire();
    for (auto const& master : masters_) master->raw().command({"SCRIPT", "FLUSH"});
    try {
      EXPECT_FALSE(other_mutex.try_acquire_for(5ms));
    } catch (error const& few_answered) {  // in so short a time, on a busy machine
      EXPECT_EQ(few_answered.code(), errc::unreachable);
    }
    EXPECT_EQ(lease.release(), release_result::released);
  }
  EXPECT_TRUE(nothing_left_behind());
}

TEST_F(quorum_network, slow_master_holds_nobody_up) {
  networks_[2]->decide([](request const&) { return fate::delay_reply(700ms); });
  client redis{url_};
  quorum_mutex m{redis, "orders"};
  for (auto i = 0; i < 10; ++i) EXPECT_EQ(m.acquire().release(), release_result::released);
  networks_[2]->decide({});
  EXPECT_TRUE(nothing_left_behind());
}

TEST_F(quorum_network, release_waits_for_a_majority_that_is_silent_for_a_moment) {
  client redis{url_, {.reply_timeout = 20s}};
  quorum_mutex m{redis, "orders"};
  auto lease = m.acquire();
  for (std::size_t i = 0; i != 3; ++i) networks_[i]->freeze_replies();
  std::atomic<int> outcome = -1;
  lease.async_release([&](release_result result) { outcome = static_cast<int>(result); });
  EXPECT_TRUE(always(700ms, [&] { return outcome == -1; }));
  for (std::size_t i = 0; i != 3; ++i) networks_[i]->thaw();
  EXPECT_TRUE(eventually([&] { return outcome == static_cast<int>(release_result::released); }));
}

TEST_F(quorum_network, what_was_taken_without_an_answer_is_given_back) {
  client redis{url_, {.connect_timeout = 2s, .reply_timeout = 2s}};
  quorum_mutex m{redis, "orders"};
  (void)m.acquire().release();
  for (auto const i : {0u, 1u, 2u}) networks_[i]->freeze_replies();
  EXPECT_EQ(failure_of([&] { (void)m.try_acquire_for(3s); }).code, errc::unreachable);
  for (auto const i : {0u, 1u, 2u}) networks_[i]->thaw();
  EXPECT_TRUE(nothing_left_behind());
  EXPECT_EQ(m.acquire().release(), release_result::released);
}

TEST_F(quorum_network, every_harm_to_a_minority_leaves_the_lock_working_and_nothing_behind) {
  for (auto const& [title, effect] : harms) {
    SCOPED_TRACE(title);
    client redis{url_, with_long_timeouts({.reply_timeout = 500ms})};
    quorum_mutex m{redis, "orders"};
    (void)m.acquire().release();
    for (auto const i : {1u, 3u})
      networks_[i]->once([](request const& r) { return r.name == "EVALSHA"; }, effect);
    auto lease = m.acquire();
    EXPECT_TRUE(lease.valid());
    EXPECT_EQ(lease.release(), release_result::released);
    EXPECT_EQ(m.acquire().release(), release_result::released);
    EXPECT_TRUE(nothing_left_behind());
  }
}

TEST_F(quorum, even_numbers_of_masters_are_warned_of) {
  log_lines log;
  client redis{masters_.url_of_first(4), {.log = log.hook()}};
  EXPECT_TRUE(quorum_mutex(redis, "orders").try_acquire());
  auto const warnings = log.of(log_level::warning);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings.front().find("use 3 or 5"), std::string::npos) << warnings.front();
}

TEST(quorum_client, has_quorum_mutex_alone) {
  client redis{"redis+quorum://127.0.0.1:1,127.0.0.1:2,127.0.0.1:3"};
  auto const refusal = failure_of([&] { mutex{redis, "orders"}; });
  EXPECT_EQ(refusal.code, std::errc::invalid_argument);
  EXPECT_TRUE(refusal.mentions("quorum_mutex")) << refusal.message;
  EXPECT_EQ(failure_of([&] { fair_mutex{redis, "orders"}; }).code, std::errc::invalid_argument);
  client single{"redis://127.0.0.1:1"};
  EXPECT_TRUE(failure_of([&] { quorum_mutex{single, "orders"}; }).mentions("redis+quorum://"));
  EXPECT_TRUE(failure_of([&] { quorum_mutex{redis, "orders", {.ttl = 50ms}}; }).mentions("at least 100 ms"));
  EXPECT_TRUE(failure_of([&] { quorum_mutex{redis, "orders", {.replicas = 1}}; }).mentions("no replicas"));
}

}  // namespace
}  // namespace holdfast::test
