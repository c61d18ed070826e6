/// Acquisitions that replicas acknowledge, with a replica that runs, is frozen or is absent.
#include "fault.hpp"

#include <random>
#include <thread>

namespace holdfast::test {
namespace {

class replicated : public fault {
 protected:
  replicated() : fault{{.transport = server_transport::tcp, .args = {"--repl-diskless-sync-delay", "0"}}} {
    EXPECT_TRUE(is_connected());
  }

  bool is_connected() {
    return eventually([&] {
      auto const replica = raw_.info("replication", "slave0");
      return replica.find("state=online") != std::string::npos;
    });
  }

  /// Waits until the replica acknowledges an acquisition, however slow the machine is.
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
  raw_redis replica_raw_ = replica_.raw();
  client redis_{server_.url()};
};

TEST_F(replicated, lock_is_on_the_replica_when_it_is_believed) {
  mutex m{redis_, "orders", {.replicas = 1}};
  for (auto i = 0; i < 20; ++i) {
    auto const lease = acknowledged(m);
    EXPECT_EQ(replica_raw_.get("orders"), lease.owner());
  }
}

TEST_F(replicated, lock_is_given_back_when_too_few_acknowledge_it) {
  mutex m{redis_, "orders", {.ttl = 60s, .replicas = 2}};
  auto const failure = failure_of([&] { (void)m.acquire(); });
  EXPECT_EQ(failure.code, errc::unreplicated);
  EXPECT_TRUE(failure.mentions("\"orders\" was acknowledged by ")) << failure.message;
  EXPECT_TRUE(failure.mentions(" of 2 replicas within 1000 ms")) << failure.message;
  EXPECT_TRUE(nothing_left_behind());
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
    // The key exists for the second that WAIT takes, which may be over before the test looks.
    ASSERT_TRUE(eventually([&] {
      waiter next{m};
      return true_within(10s, [&] { return next.done() || raw_.exists("orders"); }) && !next.done();
    }));
  }
  EXPECT_TRUE(eventually([&] { return !raw_.exists("orders"); }));
}

TEST_F(replicated, lock_that_is_asked_for_behind_a_wait_does_not_outlive_its_client) {
  auto sent_behind_wait = false;
  for (auto round = 0; round < 10 && !sent_behind_wait; ++round) {
    auto holder_lease = mutex{redis_, "orders"}.acquire();
    {
      client brief{server_.url()};
      mutex m{brief, "orders", {.ttl = 60s, .replicas = 2}};
      // Replicas have to acknowledge the place in the queue, too, which takes a second. The acquire request
      // follows behind it.
      m.async_acquire([](std::optional<lease> const&, std::exception_ptr const&) {});
      ASSERT_TRUE(
          eventually([&] { return raw_.command({"ZCARD", "{orders}:holdfast_queue"}).integer == 1; }));
      ASSERT_TRUE(eventually([&] {
        auto const subscribers =
            raw_.command({"PUBSUB", "NUMSUB", "{orders}:holdfast_inbox:" + brief.uuid()});
        return subscribers.elements.at(1).integer == 1;
      }));
      holder_lease.release();
      ASSERT_TRUE(eventually([&] { return brief.stats().messages == 1; }));
      // False if the second was over before.
      sent_behind_wait = always(300ms, [&] { return !raw_.exists("orders"); });
    }
    EXPECT_TRUE(eventually([&] { return !raw_.exists("orders"); }));
  }
  EXPECT_TRUE(sent_behind_wait);
}

TEST_F(replicated, lock_is_given_back_when_the_replica_is_frozen) {
  mutex m{redis_, "orders", {.ttl = 60s, .replicas = 1}};
  ASSERT_TRUE(acknowledges(m));
  replica_.freeze();
  auto const failure = failure_of([&] { (void)m.try_acquire(); });
  EXPECT_EQ(failure.code, errc::unreplicated);
  EXPECT_TRUE(failure.mentions("0 of 1 replicas within 1000 ms")) << failure.message;
  EXPECT_TRUE(nothing_left_behind());
  replica_.thaw();
  EXPECT_TRUE(is_connected());
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
  passes_in_one_round_of(5, [&] {
    ASSERT_TRUE(acknowledges(m));
    replica_.freeze();
    waiter slow{m};
    for (auto i = 0; i < 10; ++i) other.acquire().release();
    EXPECT_FALSE(slow.done()) << "ten cycles went by while one waited for its replica";
    replica_.thaw();
    EXPECT_TRUE(eventually([&] { return slow.done(); }));
    EXPECT_TRUE(is_connected());
  });
}

TEST_F(replicated, waiter_that_is_woken_or_passed_the_lock_has_it_acknowledged_too) {
  client other{server_.url()};
  mutex holder_mutex{other, "orders", {.starvation_limit = 0ms}};
  mutex m{redis_, "orders", {.replicas = 1}};
  passes_in_one_round_of(5, [&] {  // a round in which the replica is never late
    auto holder_lease = holder_mutex.acquire();
    waiter first{m};
    waiter second{m};
    ASSERT_TRUE(eventually([&] { return raw_.command({"ZCARD", "{orders}:holdfast_queue"}).integer == 1; }));
    holder_lease.release();
    for (auto* const next : {&first, &second}) {
      ASSERT_TRUE(eventually([&] { return next->done(); }));
      lease acquired;
      EXPECT_EQ(failure_of([&] { acquired = next->take(); }).code, std::error_code{});
      EXPECT_TRUE(acquired.valid());
      EXPECT_EQ(replica_raw_.get("orders"), acquired.owner());
      acquired.release();
    }
    EXPECT_TRUE(nothing_left_behind());
  });
}

TEST_F(replicated, lock_on_the_wire_of_redisson_is_acknowledged_too) {
  mutex m{redis_, "orders", {.ttl = 60s, .replicas = 1, .wire = wire::redisson}};
  ASSERT_TRUE(acknowledges(m));
  {
    auto const lease = acknowledged(m);
    EXPECT_EQ(replica_raw_.command({"HLEN", "orders"}).integer, 1);
  }
  mutex unreplicated{redis_, "orders", {.ttl = 60s, .replicas = 2, .wire = wire::redisson}};
  EXPECT_EQ(failure_of([&] { (void)unreplicated.acquire(); }).code, errc::unreplicated);
  EXPECT_TRUE(nothing_left_behind());
}

/// The proxy answers WAITAOF, which some servers under test don't know.
class synced : public replicated {
 protected:
  [[nodiscard]] static std::string counts(int local, int replicas) {
    return "*2\r\n:" + std::to_string(local) + "\r\n:" + std::to_string(replicas) + "\r\n";
  }
  void answer_waitaof(std::string const& reply) {
    proxy_.decide(
        [reply](request const& r) { return r.name == "WAITAOF" ? fate::answer(reply) : fate::pass(); });
  }

  flaky_proxy proxy_{server_.socket_path()};
  client proxy_client_{proxy_.url()};
};

TEST_F(synced, lock_is_believed_when_the_disks_have_it) {
  answer_waitaof(counts(1, 2));
  mutex m{proxy_client_, "orders", {.ttl = 60s, .fsynced = true, .replicas = 2}};
  EXPECT_TRUE(m.acquire().valid());
  auto const requests = proxy_.requests();
  auto const waitaof =
      std::find_if(requests.begin(), requests.end(), [](request const& r) { return r.name == "WAITAOF"; });
  ASSERT_NE(waitaof, requests.end());
  EXPECT_EQ(waitaof->words, (std::vector<std::string>{"WAITAOF", "1", "2", "1500"}));
  EXPECT_TRUE(nothing_left_behind());
}

TEST_F(synced, lock_is_given_back_when_a_disk_does_not_have_it) {
  answer_waitaof(counts(1, 1));
  mutex m{proxy_client_, "orders", {.ttl = 60s, .fsynced = true, .replicas = 2}};
  auto const of_replica = failure_of([&] { (void)m.acquire(); });
  EXPECT_EQ(of_replica.code, errc::unreplicated);
  EXPECT_TRUE(of_replica.mentions("on the server's disk and acknowledged by 1 of 2 replicas"))
      << of_replica.message;
  answer_waitaof(counts(0, 2));
  auto const of_server = failure_of([&] { (void)m.acquire(); });
  EXPECT_TRUE(of_server.mentions("was not on the server's disk")) << of_server.message;
  EXPECT_TRUE(nothing_left_behind());
}

TEST_F(synced, lock_is_given_back_by_a_server_that_syncs_nothing) {
  answer_waitaof("-ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled.\r\n");
  mutex m{proxy_client_, "orders", {.ttl = 60s, .fsynced = true}};
  auto const failure = failure_of([&] { (void)m.acquire(); });
  EXPECT_EQ(failure.code, errc::unreplicated);
  EXPECT_TRUE(failure.mentions("needs `appendonly yes`")) << failure.message;
  answer_waitaof("-ERR unknown command 'WAITAOF', with args beginning with: '1' '0' '1000'\r\n");
  auto const too_old = failure_of([&] { (void)m.acquire(); });
  EXPECT_TRUE(too_old.mentions("needs Redis 7.2")) << too_old.message;
  EXPECT_TRUE(nothing_left_behind());
}

TEST_F(synced, caller_that_asks_for_disks_is_not_content_with_memory) {
  answer_waitaof(counts(1, 1));
  mutex memory_mutex{proxy_client_, "orders", {.ttl = 60s, .replicas = 2}};
  mutex disk_mutex{proxy_client_, "orders", {.ttl = 60s, .fsynced = true, .replicas = 1}};
  proxy_.freeze();
  waiter first_waiter{memory_mutex};
  waiter second_waiter{disk_mutex};
  proxy_.thaw();
  ASSERT_TRUE(eventually([&] { return first_waiter.done() && second_waiter.done(); }));
  EXPECT_EQ(failure_of([&] { (void)first_waiter.take(); }).code, errc::unreplicated);
  EXPECT_TRUE(second_waiter.take().valid());
  EXPECT_EQ(proxy_.count("WAITAOF"), 1u);
}

/// A caller that needs no replicas has sent its request, and leaves. The next caller in the queue needs a
/// replica, and there is none.
class inherited : public fault {
 protected:
  void expect_unreplicated(waiter& next) {
    ASSERT_TRUE(eventually([&] { return next.done(); }));
    EXPECT_EQ(failure_of([&] { (void)next.take(); }).code, errc::unreplicated);
    EXPECT_TRUE(nothing_left_behind());
  }

  flaky_proxy proxy_{server_.socket_path()};
  client redis_{proxy_.url(), with_long_timeouts()};
  mutex replicated_{redis_, "orders", {.ttl = 60s, .replicas = 1}};
  std::stop_source stop_;
};

TEST_F(inherited, lock_that_was_asked_for_without_replicas_is_not_believed) {
  mutex plain{redis_, "orders", {.ttl = 60s}};
  redis_.connect();
  proxy_.freeze();
  waiter first{plain, stop_.get_token()};
  waiter second{replicated_};
  stop_.request_stop();
  ASSERT_TRUE(eventually([&] { return first.done(); }));
  proxy_.thaw();
  expect_unreplicated(second);
}

TEST_F(inherited, lock_that_was_passed_on_without_replicas_is_not_believed) {
  mutex plain{redis_, "orders", {.ttl = 60s, .handoff_limit = 0}};
  auto lease = plain.acquire();
  waiter first{plain, stop_.get_token()};
  waiter second{replicated_};
  proxy_.freeze();
  lease.async_release({});
  stop_.request_stop();
  ASSERT_TRUE(eventually([&] { return first.done(); }));
  proxy_.thaw();
  expect_unreplicated(second);
}

TEST(replicas, that_nobody_has_are_missed) {
  redis_server server;
  client redis{server.url()};
  mutex m{redis, "orders", {.ttl = 1s, .replicas = 1}};
  auto const failure = failure_of([&] { m.lock(); });
  EXPECT_EQ(failure.code, errc::unreplicated);
  EXPECT_TRUE(failure.mentions("0 of 1")) << failure.message;
}

/// For any wait time, and any moment at which the lock comes free meanwhile.
TEST(replicas, that_nobody_has_are_missed_by_whoever_was_given_the_lock_and_by_nobody_else) {
  redis_server server;
  auto raw = server.raw();
  client redis{server.url(), with_long_timeouts({.recheck = 20ms})};
  mutex m{redis, "orders", {.ttl = 400ms, .replicas = 1}};
  std::string const counter = "{orders}:holdfast_token";  // it exists if the lock was granted to any client
  auto const seed = std::random_device{}();
  std::minstd_rand random{seed};
  std::uniform_int_distribution<int> some_time{1, 400};
  auto grants = 0;
  for (auto round = 0; round < 20; ++round) {
    raw.del(counter);
    raw.command({"SET", "orders", "somebody else", "PX", "60000"});
    std::chrono::milliseconds const wait{some_time(random)};
    auto const comes_free = boot_now() + std::int64_t{some_time(random)} * 1'000'000;
    std::jthread const holder{[&, holder_raw = server.raw()]() mutable {
      (void)true_within(1min, [&] { return boot_now() >= comes_free; });
      holder_raw.del("orders");
    }};
    auto const failure = failure_of([&] { EXPECT_FALSE(m.try_acquire_for(wait)); });
    auto const granted = raw.exists(counter);
    EXPECT_EQ(failure.code, granted ? make_error_code(errc::unreplicated) : std::error_code{})
        << "round " << round << ", seed " << seed << ", after " << wait.count() << " ms: " << failure.message;
    if (granted) ++grants;
  }
  EXPECT_GT(grants, 0);
}

}  // namespace
}  // namespace holdfast::test
