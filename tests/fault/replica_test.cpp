/// Acquisitions that replicas acknowledge, with a replica that is there, frozen and gone.
#include "fault.hpp"

#include <random>
#include <thread>

namespace holdfast::test {
namespace {

class replicated : public fault {
 protected:
  replicated() : fault{{.on = server_options::listen::tcp, .args = {"--repl-diskless-sync-delay", "0"}}} {
    EXPECT_TRUE(in_touch());
  }

  bool in_touch() {
    return eventually([&] {
      auto const replica = raw_.info("replication", "slave0");
      return replica.find("state=online") != std::string::npos;
    });
  }

  /// The replica keeps up, slow as the machine may be.
  [[nodiscard]] bool acknowledges(mutex& m) {
    return eventually([&] {
      try {
        return m.try_acquire().has_value();
      } catch (error const&) {
        return false;
      }
    });
  }

  redis_server replica_ =
      redis_server::with({.args = {"--replicaof", "127.0.0.1", std::to_string(server_.port())}});
  raw_redis copy_ = replica_.raw();
  client redis_{server_.url()};
};

TEST_F(replicated, lock_is_on_the_replica_when_it_is_believed) {
  mutex m{redis_, "orders", {.replicas = 1}};
  for (auto i = 0; i < 20; ++i) {
    auto const mine = acknowledged(m);
    EXPECT_EQ(copy_.get("orders"), mine.owner());
  }
}

TEST_F(replicated, lock_is_given_back_when_too_few_acknowledge_it) {
  mutex m{redis_, "orders", {.ttl = 60s, .replicas = 2}};
  auto const wrong = failure_of([&] { (void)m.acquire(); });
  EXPECT_EQ(wrong.code, errc::unreplicated);
  EXPECT_TRUE(wrong.says("\"orders\" was acknowledged by ")) << wrong.what;
  EXPECT_TRUE(wrong.says(" of 2 replicas within 1000 ms")) << wrong.what;
  EXPECT_TRUE(comes_clean());
}

TEST_F(replicated, lock_that_too_few_have_does_not_outlive_its_client) {
  for (auto i = 0; i < 3; ++i) {
    {
      client brief{server_.url()};
      mutex m{brief, "orders", {.ttl = 60s, .replicas = 2}};
      EXPECT_EQ(failure_of([&] { (void)m.acquire(); }).code, errc::unreplicated);
    }
    EXPECT_TRUE(eventually([&] { return !raw_.exists("orders"); }));
  }
}

TEST_F(replicated, lock_that_is_being_acknowledged_does_not_outlive_its_client) {
  {
    client brief{server_.url()};
    mutex m{brief, "orders", {.ttl = 60s, .replicas = 2}};
    (void)failure_of([&] { (void)m.acquire(); });  // the server knows the script from now on
    ASSERT_TRUE(eventually([&] { return !raw_.exists("orders"); }));
    // For the second that WAIT takes, which may be over before anybody has looked.
    ASSERT_TRUE(eventually([&] {
      waiter asking{m};
      return came_within(10s, [&] { return asking.done() || raw_.exists("orders"); }) && !asking.done();
    }));
  }
  EXPECT_TRUE(eventually([&] { return !raw_.exists("orders"); }));
}

TEST_F(replicated, lock_that_is_asked_for_behind_a_wait_does_not_outlive_its_client) {
  auto asked_behind_it = false;
  for (auto round = 0; round < 10 && !asked_behind_it; ++round) {
    auto theirs = mutex{redis_, "orders"}.acquire();
    {
      client brief{server_.url()};
      mutex m{brief, "orders", {.ttl = 60s, .replicas = 2}};
      // In line, which replicas are to acknowledge, too: that takes a second. The lock is asked for behind
      // it.
      m.async_acquire([](std::optional<lease> const&, std::exception_ptr const&) {});
      ASSERT_TRUE(
          eventually([&] { return raw_.command({"ZCARD", "{orders}:holdfast_queue"}).integer == 1; }));
      ASSERT_TRUE(eventually([&] {
        auto const ears = raw_.command({"PUBSUB", "NUMSUB", "{orders}:holdfast_inbox:" + brief.uuid()});
        return ears.elements.at(1).integer == 1;
      }));
      theirs.release();
      ASSERT_TRUE(eventually([&] { return brief.stats().messages == 1; }));
      // Unless the second was over before.
      asked_behind_it = always(300ms, [&] { return !raw_.exists("orders"); });
    }
    EXPECT_TRUE(eventually([&] { return !raw_.exists("orders"); }));
  }
  EXPECT_TRUE(asked_behind_it);
}

TEST_F(replicated, lock_is_given_back_when_the_replica_is_frozen) {
  mutex m{redis_, "orders", {.ttl = 60s, .replicas = 1}};
  ASSERT_TRUE(acknowledges(m));
  replica_.freeze();
  auto const wrong = failure_of([&] { (void)m.try_acquire(); });
  EXPECT_EQ(wrong.code, errc::unreplicated);
  EXPECT_TRUE(wrong.says("0 of 1 replicas within 1000 ms")) << wrong.what;
  EXPECT_TRUE(comes_clean());
  replica_.thaw();
  EXPECT_TRUE(in_touch());
  EXPECT_TRUE(acknowledges(m)) << "it works again when the replica is back";
}

TEST_F(replicated, lock_is_not_believed_for_a_count_that_came_over_another_connection) {
  flaky_proxy proxy{server_.socket_path()};
  client redis{proxy.url()};
  mutex m{redis, "orders", {.ttl = 2s, .replicas = 1}};
  ASSERT_TRUE(acknowledges(m));
  replica_.freeze();
  proxy.once([](request const& r) { return r.name == "WAIT"; }, fate::cut_before());
  EXPECT_EQ(failure_of([&] { (void)m.try_acquire(); }).code, errc::unreplicated);
  replica_.thaw();
}

TEST_F(replicated, lock_holds_nobody_else_up_while_it_waits) {
  mutex m{redis_, "orders", {.replicas = 1}};
  mutex other{redis_, "other"};
  other.acquire().release();
  in_one_round_of(5, [&] {
    ASSERT_TRUE(acknowledges(m));
    replica_.freeze();
    waiter slow{m};
    for (auto i = 0; i < 10; ++i) other.acquire().release();
    EXPECT_FALSE(slow.done()) << "ten cycles went by while one waited for its replica";
    replica_.thaw();
    EXPECT_TRUE(eventually([&] { return slow.done(); }));
    EXPECT_TRUE(in_touch());
  });
}

TEST_F(replicated, waiter_that_is_woken_or_passed_the_lock_has_it_acknowledged_too) {
  client other{server_.url()};
  mutex theirs{other, "orders", {.starvation_limit = 0ms}};
  mutex m{redis_, "orders", {.replicas = 1}};
  in_one_round_of(5, [&] {  // in which the replica is never late
    auto held = theirs.acquire();
    waiter first{m};
    waiter second{m};
    ASSERT_TRUE(eventually([&] { return raw_.command({"ZCARD", "{orders}:holdfast_queue"}).integer == 1; }));
    held.release();
    for (auto* const one : {&first, &second}) {
      ASSERT_TRUE(eventually([&] { return one->done(); }));
      lease mine;
      EXPECT_EQ(failure_of([&] { mine = one->take(); }).code, std::error_code{});
      EXPECT_TRUE(mine.valid());
      EXPECT_EQ(copy_.get("orders"), mine.owner());
      mine.release();
    }
    EXPECT_TRUE(comes_clean());
  });
}

TEST_F(replicated, lock_on_the_wire_of_redisson_is_acknowledged_too) {
  mutex m{redis_, "orders", {.ttl = 60s, .replicas = 1, .wire = wire::redisson}};
  ASSERT_TRUE(acknowledges(m));
  {
    auto const mine = acknowledged(m);
    EXPECT_EQ(copy_.command({"HLEN", "orders"}).integer, 1);
  }
  mutex more{redis_, "orders", {.ttl = 60s, .replicas = 2, .wire = wire::redisson}};
  EXPECT_EQ(failure_of([&] { (void)more.acquire(); }).code, errc::unreplicated);
  EXPECT_TRUE(comes_clean());
}

/// What WAITAOF says, and WAIT with it, is the proxy's: not every server here knows the command.
class synced : public replicated {
 protected:
  [[nodiscard]] static std::string counts(int here, int there) {
    return "*2\r\n:" + std::to_string(here) + "\r\n:" + std::to_string(there) + "\r\n";
  }
  void waitaof_says(std::string const& words) {
    proxy_.decide(
        [words](request const& r) { return r.name == "WAITAOF" ? fate::answer(words) : fate::pass(); });
  }

  flaky_proxy proxy_{server_.socket_path()};
  client through_{proxy_.url()};
};

TEST_F(synced, lock_is_believed_when_the_disks_have_it) {
  waitaof_says(counts(1, 2));
  mutex m{through_, "orders", {.ttl = 60s, .fsynced = true, .replicas = 2}};
  EXPECT_TRUE(m.acquire().valid());
  auto const asked = proxy_.requests();
  auto const waits =
      std::find_if(asked.begin(), asked.end(), [](request const& r) { return r.name == "WAITAOF"; });
  ASSERT_NE(waits, asked.end());
  EXPECT_EQ(waits->words, (std::vector<std::string>{"WAITAOF", "1", "2", "1500"}));
  EXPECT_TRUE(comes_clean());
}

TEST_F(synced, lock_is_given_back_when_a_disk_does_not_have_it) {
  waitaof_says(counts(1, 1));
  mutex m{through_, "orders", {.ttl = 60s, .fsynced = true, .replicas = 2}};
  auto const of_replica = failure_of([&] { (void)m.acquire(); });
  EXPECT_EQ(of_replica.code, errc::unreplicated);
  EXPECT_TRUE(of_replica.says("on the server's disk and acknowledged by 1 of 2 replicas")) << of_replica.what;
  waitaof_says(counts(0, 2));
  auto const of_server = failure_of([&] { (void)m.acquire(); });
  EXPECT_TRUE(of_server.says("was not on the server's disk")) << of_server.what;
  EXPECT_TRUE(comes_clean());
}

TEST_F(synced, lock_is_given_back_by_a_server_that_syncs_nothing) {
  waitaof_says("-ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled.\r\n");
  mutex m{through_, "orders", {.ttl = 60s, .fsynced = true}};
  auto const wrong = failure_of([&] { (void)m.acquire(); });
  EXPECT_EQ(wrong.code, errc::unreplicated);
  EXPECT_TRUE(wrong.says("needs `appendonly yes`")) << wrong.what;
  waitaof_says("-ERR unknown command 'WAITAOF', with args beginning with: '1' '0' '1000'\r\n");
  auto const too_old = failure_of([&] { (void)m.acquire(); });
  EXPECT_TRUE(too_old.says("needs Redis 7.2")) << too_old.what;
  EXPECT_TRUE(comes_clean());
}

TEST_F(synced, caller_that_asks_for_disks_is_not_content_with_memory) {
  waitaof_says(counts(1, 1));
  mutex first{through_, "orders", {.ttl = 60s, .replicas = 2}};
  mutex second{through_, "orders", {.ttl = 60s, .fsynced = true, .replicas = 1}};
  proxy_.freeze();
  waiter one{first};
  waiter other{second};
  proxy_.thaw();
  ASSERT_TRUE(eventually([&] { return one.done() && other.done(); }));
  EXPECT_EQ(failure_of([&] { (void)one.take(); }).code, errc::unreplicated);
  EXPECT_TRUE(other.take().valid());
  EXPECT_EQ(proxy_.count("WAITAOF"), 1u);
}

/// Somebody who needs no replicas has asked, and leaves; who is next in line needs one, and there is none.
class inherited : public fault {
 protected:
  void expect_unreplicated(waiter& one) {
    ASSERT_TRUE(eventually([&] { return one.done(); }));
    EXPECT_EQ(failure_of([&] { (void)one.take(); }).code, errc::unreplicated);
    EXPECT_TRUE(comes_clean());
  }

  flaky_proxy proxy_{server_.socket_path()};
  client redis_{proxy_.url(), unhurried()};
  mutex careful_{redis_, "orders", {.ttl = 60s, .replicas = 1}};
  std::stop_source enough_;
};

TEST_F(inherited, lock_that_was_asked_for_without_replicas_is_not_believed) {
  mutex plain{redis_, "orders", {.ttl = 60s}};
  redis_.connect();
  proxy_.freeze();
  waiter first{plain, enough_.get_token()};
  waiter second{careful_};
  enough_.request_stop();
  ASSERT_TRUE(eventually([&] { return first.done(); }));
  proxy_.thaw();
  expect_unreplicated(second);
}

TEST_F(inherited, lock_that_was_passed_on_without_replicas_is_not_believed) {
  mutex plain{redis_, "orders", {.ttl = 60s, .handoff_limit = 0}};
  auto mine = plain.acquire();
  waiter first{plain, enough_.get_token()};
  waiter second{careful_};
  proxy_.freeze();
  mine.async_release({});
  enough_.request_stop();
  ASSERT_TRUE(eventually([&] { return first.done(); }));
  proxy_.thaw();
  expect_unreplicated(second);
}

TEST(replicas, that_nobody_has_are_missed) {
  redis_server server;
  client redis{server.url()};
  mutex m{redis, "orders", {.ttl = 1s, .replicas = 1}};
  auto const wrong = failure_of([&] { m.lock(); });
  EXPECT_EQ(wrong.code, errc::unreplicated);
  EXPECT_TRUE(wrong.says("0 of 1")) << wrong.what;
}

/// Whatever its time is, and whenever the lock comes free meanwhile.
TEST(replicas, that_nobody_has_are_missed_by_whoever_was_given_the_lock_and_by_nobody_else) {
  redis_server server;
  auto raw = server.raw();
  client redis{server.url(), unhurried({.recheck = 20ms})};
  mutex m{redis, "orders", {.ttl = 400ms, .replicas = 1}};
  std::string const counter = "{orders}:holdfast_token";  // it is there when the lock was given to anybody
  auto const seed = std::random_device{}();
  std::minstd_rand random{seed};
  std::uniform_int_distribution<int> some_time{1, 400};
  auto given_times = 0;
  for (auto round = 0; round < 20; ++round) {
    raw.del(counter);
    raw.command({"SET", "orders", "somebody else", "PX", "60000"});
    std::chrono::milliseconds const wait{some_time(random)};
    auto const comes_free = boot_now() + std::int64_t{some_time(random)} * 1'000'000;
    std::jthread const holder{[&, theirs = server.raw()]() mutable {
      (void)came_within(1min, [&] { return boot_now() >= comes_free; });
      theirs.del("orders");
    }};
    auto const wrong = failure_of([&] { EXPECT_FALSE(m.try_acquire_for(wait)); });
    auto const given = raw.exists(counter);
    EXPECT_EQ(wrong.code, given ? make_error_code(errc::unreplicated) : std::error_code{})
        << "round " << round << ", seed " << seed << ", after " << wait.count() << " ms: " << wrong.what;
    if (given) ++given_times;
  }
  EXPECT_GT(given_times, 0);
}

}  // namespace
}  // namespace holdfast::test
