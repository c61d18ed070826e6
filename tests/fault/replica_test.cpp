/// Acquisitions that replicas acknowledge, with a replica that is there, frozen and gone.
#include "fault.hpp"

namespace holdfast::test {
namespace {

class replicated : public fault {
 protected:
  replicated() : fault{{.on = server_options::listen::tcp}} { EXPECT_TRUE(in_touch()); }

  bool in_touch() {
    return eventually(15s, [&] {
      auto const replica = raw_.info("replication", "slave0");
      return replica.find("state=online") != std::string::npos;
    });
  }

  /// The replica keeps up, slow as the machine may be.
  [[nodiscard]] bool acknowledges(mutex& m) {
    return eventually(15s, [&] {
      try {
        return m.try_acquire().has_value();
      } catch (error const&) {
        return false;
      }
    });
  }

  redis_server replica_ =
      redis_server::with({.args = {"--replicaof", "127.0.0.1", std::to_string(server_.port()),
                                   "--repl-diskless-sync-delay", "0"}});
  raw_redis copy_ = replica_.raw();
  client redis_{server_.url()};
};

TEST_F(replicated, lock_is_on_the_replica_when_it_is_believed) {
  mutex m{redis_, "orders", {.replicas = 1}};
  for (auto i = 0; i < 20; ++i) {
    auto const mine = m.acquire();
    EXPECT_EQ(copy_.get("orders"), mine.owner());
  }
}

TEST_F(replicated, lock_is_given_back_when_too_few_acknowledge_it) {
  mutex m{redis_, "orders", {.ttl = 4s, .replicas = 2}};
  auto const wrong = failure_of([&] { (void)m.acquire(); });
  EXPECT_EQ(wrong.code, errc::unreplicated);
  EXPECT_TRUE(wrong.says("\"orders\" was acknowledged by 1 of 2 replicas within 1000 ms")) << wrong.what;
  EXPECT_TRUE(comes_clean());
}

TEST_F(replicated, lock_is_given_back_when_the_replica_is_frozen) {
  mutex m{redis_, "orders", {.ttl = 2s, .replicas = 1}};
  ASSERT_TRUE(acknowledges(m));
  replica_.freeze();
  auto const wrong = failure_of([&] { (void)m.try_acquire(); });
  EXPECT_EQ(wrong.code, errc::unreplicated);
  EXPECT_TRUE(wrong.says("0 of 1 replicas within 500 ms")) << wrong.what;
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
  ASSERT_TRUE(acknowledges(m));
  replica_.freeze();
  waiter slow{m};
  for (auto i = 0; i < 10; ++i) other.acquire().release();
  EXPECT_FALSE(slow.done()) << "ten cycles went by while one waited for its replica";
  replica_.thaw();
  EXPECT_TRUE(eventually(10s, [&] { return slow.done(); }));
}

TEST_F(replicated, waiter_that_is_woken_or_passed_the_lock_has_it_acknowledged_too) {
  client other{server_.url()};
  mutex theirs{other, "orders", {.starvation_limit = 0ms}};
  mutex m{redis_, "orders", {.replicas = 1}};
  auto held = theirs.acquire();
  waiter first{m};
  waiter second{m};
  ASSERT_TRUE(
      eventually(5s, [&] { return raw_.command({"ZCARD", "holdfast_queue:{orders}"}).integer == 1; }));
  held.release();
  for (auto* const one : {&first, &second}) {
    ASSERT_TRUE(eventually(10s, [&] { return one->done(); }));
    auto mine = one->take();
    EXPECT_TRUE(mine.valid());
    EXPECT_EQ(copy_.get("orders"), mine.owner());
    mine.release();
  }
  EXPECT_TRUE(comes_clean());
}

TEST(replicas, that_nobody_has_are_missed) {
  redis_server server;
  client redis{server.url()};
  mutex m{redis, "orders", {.ttl = 1s, .replicas = 1}};
  auto const wrong = failure_of([&] { m.lock(); });
  EXPECT_EQ(wrong.code, errc::unreplicated);
  EXPECT_TRUE(wrong.says("0 of 1")) << wrong.what;
}

}  // namespace
}  // namespace holdfast::test
