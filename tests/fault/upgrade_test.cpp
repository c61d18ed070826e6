/// The requests by which an upgrade lease becomes a writer, or stays what it is, each disturbed in every way;
/// and the death of those who take part.
#include "harmed.hpp"

#include <holdfast/shared_mutex.hpp>

#include <algorithm>
#include <future>
#include <thread>

#include "script/names.hpp"
#include "scripts/shared.hpp"

namespace holdfast::test {
namespace {

namespace lua = scripts::shared;

class upgrade_fault : public harmed {
 protected:
  upgrade_fault() {  // loads the scripts into the server
    auto held = mutex_.acquire_upgrade();
    auto reading = remote_.acquire_shared();
    EXPECT_FALSE(give_up(held));
    reading.release();
    mutex_.upgrade(held);
    held.release();
    (void)mutex_.downgrade(mutex_.acquire_upgrade());
  }

  [[nodiscard]] std::int64_t listeners(std::string const& channel) {
    return raw_.command({"PUBSUB", "NUMSUB", channel}).elements.at(1).integer;
  }
  [[nodiscard]] bool waits_to_upgrade() {
    return eventually([&] {
      auto const queue = raw_.command({"ZRANGE", "{m}:holdfast_queue", "0", "0"}).elements;
      return queue.size() == 1 && queue[0].text.ends_with(names::upgrading_suffix) &&
             listeners(names::inbox(queue[0].text.substr(0, 36), "m")) >= 1;
    });
  }
  /// Waits to upgrade, and is cancelled. True: it was upgraded, though others read.
  [[nodiscard]] bool give_up(lease& held) {
    std::stop_source stop;
    auto upgraded = false;
    std::jthread waiting{
        [&] { upgraded = code_of([&] { mutex_.upgrade(held, stop.get_token()); }) != errc::cancelled; }};
    EXPECT_TRUE(waits_to_upgrade());
    stop.request_stop();
    waiting.join();
    return upgraded;
  }
  /// As a process that is killed: the server sees its connections end, and nothing comes any more.
  void kill() {
    proxy_.refuse_connections(true);
    proxy_.cut_all();
  }

  client remote_client_{server_.url(), with_long_timeouts()};
  shared_mutex mutex_{redis_, "m", {.ttl = 10s}};
  shared_mutex remote_{remote_client_, "m", {.ttl = 10s}};
};

TEST_F(upgrade_fault, lets_it_in_once) {
  at_every_harm(lua::acquire::source, [this] {
    auto held = mutex_.acquire_upgrade();
    EXPECT_TRUE(held.valid());
    EXPECT_EQ(raw_.command({"ZCARD", "{m}:holdfast_readers"}).integer, 1);
    EXPECT_FALSE(remote_.try_acquire_upgrade());
    release(held);
  });
}

TEST_F(upgrade_fault, makes_a_writer_of_it_once) {
  at_every_harm(lua::upgrade::source, [this] {
    auto held = mutex_.acquire_upgrade();
    auto const token = held.token();
    mutex_.upgrade(held);
    EXPECT_TRUE(held.valid());
    EXPECT_GT(held.token(), token);
    EXPECT_EQ(raw_.get("m"), held.owner());
    EXPECT_FALSE(remote_.try_acquire_shared());
    release(held);
  });
}

TEST_F(upgrade_fault, leaves_it_as_it_was_when_it_gives_up) {
  at_every_harm(lua::stay::source, [this] {
    auto held = mutex_.acquire_upgrade();
    auto reading = remote_.acquire_shared();
    EXPECT_FALSE(give_up(held));
    EXPECT_TRUE(held.valid());
    pending late;
    remote_.async_acquire_shared(late.handler());
    ASSERT_TRUE(eventually([&] { return late.done(); })) << "who gave up keeps readers out";
    reading.release();
    late.take()->release();
    mutex_.upgrade(held);
    EXPECT_EQ(raw_.get("m"), held.owner());
    EXPECT_NO_THROW(held.renew());
    release(held);
  });
}

TEST_F(upgrade_fault, becomes_a_reader_all_the_same) {
  at_every_harm(lua::keep_reading::source, [this] {
    auto held = mutex_.downgrade(mutex_.acquire_upgrade());
    EXPECT_TRUE(held.valid());
    EXPECT_TRUE(remote_.try_acquire_upgrade());
    EXPECT_EQ(raw_.command({"ZRANGE", "{m}:holdfast_readers", "0", "-1"}).elements.at(0).text, held.owner());
    EXPECT_NO_THROW(held.renew());
    release(held);
  });
}

/// Sent again behind the request that made another lease of it, its renewal would find it gone.
TEST_F(upgrade_fault, becomes_what_it_should_while_the_reply_to_its_renewal_is_lost) {
  becomes_another_while_it_is_renewed(mutex_.acquire_upgrade(),
                                      [this](lease held) { return mutex_.downgrade(std::move(held)); });
  becomes_another_while_it_is_renewed(mutex_.acquire(),
                                      [this](lease held) { return mutex_.downgrade(std::move(held)); });
  becomes_another_while_it_is_renewed(
      mutex_.acquire(), [this](lease held) { return mutex_.downgrade_to_upgrade(std::move(held)); });
  becomes_another_while_it_is_renewed(mutex_.acquire_upgrade(), [this](lease held) {
    mutex_.upgrade(held);
    return held;
  });
}

/// Its handle is gone with the attempt, and nobody else gives it back.
TEST_F(upgrade_fault, is_given_back_though_it_was_at_its_limit_when_it_was_to_become_a_reader) {
  shared_mutex limited{redis_, "m", {.ttl = 10min, .max_hold = 50ms}};
  auto held = limited.acquire();
  auto const lost = held.lost();
  ASSERT_TRUE(eventually([&] { return lost.stop_requested(); }));
  EXPECT_EQ(code_of([&] { (void)limited.downgrade(std::move(held)); }), errc::lost);
  EXPECT_TRUE(nothing_left_behind());
}

/// The first renewal of the writer ends the upgrade lease in the server. Its caller's callback waits behind
/// another one, which drives the loop.
TEST_F(upgrade_fault, makes_a_writer_of_it_though_its_caller_hears_that_after_several_renewals) {
  shared_mutex renewed{redis_, "m", {.ttl = 10s, .renew_every = 50ms}};
  mutex other{redis_, "other", {.ttl = 10s}};
  auto beside = other.acquire();
  beside.renew();  // loads the script, so that the next one is answered first
  auto held = renewed.acquire_upgrade();
  auto const writer_was_renewed = [this] {
    return std::ranges::count_if(proxy_.requests(), [](request const& r) {
             return kind_of(r) == lua::renew_writer::source.sha1;
           }) >= 4;
  };
  proxy_.forget();
  std::promise<void> first;
  std::promise<std::pair<lease, bool>> second;
  beside.async_renew([&](std::exception_ptr const&) {
    EXPECT_TRUE(eventually([&] {
      beside.renew();
      return writer_was_renewed();
    }));
    first.set_value();
  });
  renewed.async_try_upgrade(std::move(held), [&second](lease after, bool upgraded, std::exception_ptr) {
    second.set_value({std::move(after), upgraded});
  });
  first.get_future().wait();
  auto [writer, upgraded] = second.get_future().get();
  EXPECT_TRUE(upgraded && writer.valid());
  beside.release();
  writer.release();
  EXPECT_TRUE(has_left_nothing());
}

/// The answer, which doesn't come, decides nothing any more.
TEST_F(upgrade_fault, is_lost_in_time_though_it_is_becoming_a_reader) {
  client patient{proxy_.url(), with_long_timeouts()};
  for (lock_options const& brief : {lock_options{.ttl = 2s}, lock_options{.ttl = 60s, .max_hold = 2s}}) {
    passes_in_one_round_of(3, [&] {  // a round in which the process isn't stopped for 2 s
      shared_mutex lock{patient, "m", brief};
      auto held = lock.acquire_upgrade();
      auto const lost = held.lost();
      std::atomic returned = false;
      proxy_.freeze_replies();
      std::error_code outcome;
      std::jthread converting{[&] {
        outcome = code_of([&] { (void)lock.downgrade(std::move(held)); });
        returned = true;
      }};
      EXPECT_TRUE(eventually([&] { return lost.stop_requested(); }));
      EXPECT_FALSE(returned);
      proxy_.thaw();
      converting.join();
      EXPECT_EQ(outcome, errc::lost);
      EXPECT_TRUE(nothing_left_behind());
      EXPECT_EQ(patient.stats().held_now, 0u);
    });
  }
}

TEST_F(upgrade_fault, is_given_back_when_it_became_a_reader_too_late) {
  shared_mutex brief{redis_, "m", {.ttl = 1s}};
  auto held = brief.acquire_upgrade();
  proxy_.freeze_replies();
  EXPECT_NE(code_of([&] { (void)brief.downgrade(std::move(held)); }), std::error_code{});
  proxy_.thaw();
  EXPECT_TRUE(nothing_left_behind());
  EXPECT_EQ(redis_.stats().held_now, 0u);
}

/// A copy of what it gave up comes when the connection is long gone, and finds the lease, or the next try.
TEST_F(upgrade_fault, is_not_harmed_by_late_copies) {
  raw_.command({"ACL", "SETUSER", "default", "-client|kill"});  // by which the client ends old connections
  auto held = mutex_.acquire_upgrade();
  for (auto const* const disturbed : {&lua::upgrade::source, &lua::stay::source}) {
    proxy_.once([disturbed](request const& r) { return kind_of(r) == disturbed->sha1; }, fate::hold_back());
    auto reading = remote_.acquire_shared();
    EXPECT_FALSE(give_up(held));
    ASSERT_TRUE(eventually([&] { return proxy_.held_back() == 1; }));
    if (disturbed == &lua::upgrade::source) {
      proxy_.deliver();
      ASSERT_TRUE(eventually([&] { return proxy_.held_back() == 0; }));
      EXPECT_TRUE(eventually([&] { return remote_.try_acquire_shared().has_value(); }));
      EXPECT_EQ(raw_.get("m"), names::held_by_readers);
    }
    reading.release();
    mutex_.upgrade(held);
    proxy_.deliver();
    ASSERT_TRUE(eventually([&] { return proxy_.held_back() == 0; }));
    EXPECT_NO_THROW(held.renew());
    EXPECT_EQ(raw_.get("m"), held.owner());
    held = mutex_.downgrade_to_upgrade(std::move(held));
  }
}

/// Nobody waits for it any more, and its lease goes on as what it is.
TEST_F(upgrade_fault, is_not_carried_out_by_a_late_copy_of_a_try) {
  raw_.command({"ACL", "SETUSER", "default", "-client|kill"});
  auto held = mutex_.acquire_upgrade();
  auto reading = remote_.acquire_shared();
  proxy_.once([](request const& r) { return kind_of(r) == lua::upgrade::source.sha1; }, fate::hold_back());
  EXPECT_FALSE(mutex_.try_upgrade(held));
  ASSERT_TRUE(eventually([&] { return proxy_.held_back() == 1; }));
  held.renew();  // behind what ends the try
  reading.release();
  proxy_.deliver();
  ASSERT_TRUE(eventually([&] { return proxy_.held_back() == 0; }));
  EXPECT_TRUE(eventually([&] { return remote_.try_acquire_shared().has_value(); }));
  EXPECT_EQ(raw_.get("m"), names::held_by_readers) << "a writer of nobody keeps all others out";
  release(held);
}

TEST_F(upgrade_fault, becomes_a_reader_though_the_server_refuses_that_for_a_time) {
  for (auto const* const words : {"LOADING Redis is loading the dataset in memory", "BUSY Redis is busy"}) {
    auto held = mutex_.acquire_upgrade();
    std::atomic<int> refusals = 2;
    auto const decision = proxy_.decide_by([&](request const& r) {
      auto const refused = kind_of(r) == lua::keep_reading::source.sha1 && refusals-- > 0;
      return refused ? fate::error(words) : fate::pass();
    });
    held = mutex_.downgrade(std::move(held));
    EXPECT_TRUE(held.valid());
    EXPECT_LT(refusals, 0);
    EXPECT_NO_THROW(held.renew());
    release(held);
    EXPECT_TRUE(has_left_nothing());
  }
}

/// A copy has been carried out, and the next one is refused: the client ends in the pause behind that.
TEST_F(upgrade_fault, is_given_back_by_the_end_of_a_client_that_would_try_again_to_make_a_reader_of_it) {
  passes_in_one_round_of(3, [&] {  // a round in which the end of the client waits for all it has to
    for (auto times = 0; times != 5; ++times) {
      client ended{proxy_.url(), with_long_timeouts({.reply_timeout = 500ms})};
      shared_mutex lock{ended, "m", {.ttl = 10min}};
      auto held = lock.acquire_upgrade();
      std::atomic<int> tries = 0;
      auto const decision = proxy_.decide_by([&](request const& r) {
        if (kind_of(r) != lua::keep_reading::source.sha1) return fate::pass();
        return tries++ == 0 ? fate::cut_after() : fate::error("BUSY Redis is busy");
      });
      std::jthread const converting{
          [&] { EXPECT_EQ(code_of([&] { (void)lock.downgrade(std::move(held)); }), errc::lost); }};
      EXPECT_TRUE(eventually([&] { return tries > 2; }));
      (void)ended.shutdown(0ms);
      EXPECT_FALSE(raw_.exists("m")) << "the end didn't wait for what gives it back";
    }
  });
  EXPECT_TRUE(nothing_left_behind());
}

TEST_F(upgrade_fault, of_the_dead_delays_readers_by_a_recheck_and_writers_by_its_ttl) {
  shared_mutex brief{redis_, "m", {.ttl = 2s}};
  auto reading = remote_.acquire_shared();
  auto held = brief.acquire_upgrade();
  std::jthread const waiting{[&] { EXPECT_TRUE(code_of([&] { brief.upgrade(held); })); }};
  ASSERT_TRUE(waits_to_upgrade());
  kill();
  pending late;
  remote_.async_acquire_shared(late.handler());
  ASSERT_TRUE(eventually([&] { return late.done(); }));
  late.take()->release();
  reading.release();
  pending writing;
  remote_.async_acquire(writing.handler());
  ASSERT_TRUE(eventually([&] { return writing.done(); }));
  EXPECT_FALSE(held.valid());
}

/// Another caller of the client meets a writer of its own that is over, while its release has to be sent
/// again.
TEST_F(upgrade_fault,
       gives_back_a_writer_and_not_to_its_upgrade_lease_when_its_release_is_refused_for_a_time) {
  std::atomic<bool> refused = false;
  std::atomic<bool> refuses = true;
  auto const decision = proxy_.decide_by([&](request const& r) {
    auto const kind = kind_of(r);
    if (!refuses || (kind != lua::release_writer::source.sha1 && kind != lua::abandon::source.sha1))
      return fate::pass();
    refused = true;
    return fate::error("NOREPLICAS Not enough good replicas to write.");
  });
  auto held = mutex_.acquire_upgrade();
  mutex_.upgrade(held);
  held.async_release({});
  ASSERT_TRUE(eventually([&] { return refused.load(); }));
  EXPECT_FALSE(mutex_.try_acquire());
  EXPECT_FALSE(raw_.exists(names::readers("m")) && raw_.get("m") == names::held_by_readers);
  refuses = false;
  EXPECT_TRUE(eventually([&] { return !raw_.exists("m"); }));
  EXPECT_TRUE(nothing_left_behind());
}

TEST_F(upgrade_fault, waits_for_dead_readers_no_longer_than_their_ttl) {
  shared_mutex brief{redis_, "m", {.ttl = 2s}};
  auto const reading = brief.acquire_shared();
  auto held = remote_.acquire_upgrade();
  kill();
  EXPECT_TRUE(remote_.try_upgrade_for(held, 60s));
  EXPECT_FALSE(reading.valid());
}

TEST_F(upgrade_fault, of_the_dead_keeps_no_other_one_waiting_for_longer_than_its_ttl) {
  shared_mutex brief{redis_, "m", {.ttl = 2s}};
  auto const reading = remote_.acquire_shared();
  auto const held = brief.acquire_upgrade();
  kill();
  EXPECT_TRUE(remote_.try_acquire_upgrade_for(60s));
  EXPECT_FALSE(held.valid());
}

}  // namespace
}  // namespace holdfast::test
