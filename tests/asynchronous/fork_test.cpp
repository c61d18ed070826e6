/// fork() with a client on an io_context: a child that goes on with what it has takes nothing from its
/// parent.
#include <csignal>
#include <holdfast/shared_mutex.hpp>
#include <memory>
#include <optional>
#include <stop_token>

#include <sys/wait.h>
#include <unistd.h>

#include "net.hpp"

namespace holdfast::test {
namespace {

class forked_on_an_event_loop : public testing::Test {
 protected:
  /// Whether a child that runs `body` ends with its result 0.
  template <class Body>
  [[nodiscard]] bool child_does(Body body) {
    auto const child = ::fork();
    if (child == 0) ::_exit(body());
    auto status = 0;
    if (eventually([&] { return ::waitpid(child, &status, WNOHANG) == child; })) {
      EXPECT_EQ(status, 0);
      return status == 0;
    }
    ::kill(child, SIGKILL);
    ::waitpid(child, &status, 0);
    return false;
  }

  template <class Predicate>
  [[nodiscard]] bool run_until(Predicate predicate) {
    return test::run_until(*io_, predicate);
  }

  /// What a program does that ends by return from its functions.
  void destroy_all() {
    lock_.reset();
    redis_.reset();
    timer_.reset();
    io_.reset();
  }
  [[nodiscard]] bool goes_on_renewing() {
    auto const before = redis_->stats().renewals;
    return run_until([&] { return redis_->stats().renewals >= before + 3; });
  }

  /// Somebody else has the lock.
  void occupy() { raw_.command({"SET", "orders", "somebody", "PX", "60000"}); }
  /// It waits for a message, and has no request under way any more.
  [[nodiscard]] bool stands_in_line() {
    return run_until([&] { return raw_.listeners("holdfast_inbox:" + redis_->uuid()) == 1; }) &&
           stays_in_line();
  }
  [[nodiscard]] bool stays_in_line() {
    auto const work = net::make_work_guard(*io_);
    io_->restart();
    return always(200ms, [&] {
      io_->poll();
      return raw_.exists("{orders}:holdfast_queue") && redis_->stats().disconnects == 0;
    });
  }

  deployment_under_test server_{};
  raw_servers raw_ = server_.raw();
  std::unique_ptr<net::io_context> io_ = std::make_unique<net::io_context>();
  std::optional<net::steady_timer> timer_{*io_};  // what it waits with is older than the client
  std::optional<client> redis_{std::in_place, server_.url(), with_long_timeouts(), run_on(*io_)};
  std::optional<mutex> lock_{std::in_place, *redis_, "orders", lock_options{.ttl = 60s, .renew_every = 50ms}};
};

TEST_F(forked_on_an_event_loop, child_that_destroys_the_io_context_stops_no_renewal) {
  auto const held = lock_->acquire();
  EXPECT_TRUE(goes_on_renewing());
  EXPECT_TRUE(child_does([&] {
    destroy_all();
    return 0;
  }));
  EXPECT_TRUE(goes_on_renewing());
  EXPECT_TRUE(held.valid());
  EXPECT_EQ(redis_->stats().disconnects, 0U);
}

TEST_F(forked_on_an_event_loop, child_that_turns_a_lease_into_another_leaves_it_to_its_parent) {
  shared_mutex several{*redis_, "several"};
  auto held = several.acquire();
  auto const watching = std::make_shared<int>();
  held.on_lost([watching](loss_cause) {});
  EXPECT_TRUE(child_does([&] {
    auto const refused = code_of([&] { (void)several.downgrade(std::move(held)); }) == errc::forked;
    return refused && watching.use_count() == 2 ? 0 : 1;
  }));
  EXPECT_TRUE(held.valid());
}

TEST_F(forked_on_an_event_loop, child_that_destroys_the_io_context_ends_no_wait) {
  occupy();
  std::optional<lease> got;
  async_acquire(*lock_, net::bind_executor(*io_, [&](error_code, lease held) { got = std::move(held); }));
  EXPECT_TRUE(stands_in_line());
  EXPECT_TRUE(child_does([&] {
    destroy_all();
    return 0;
  }));
  EXPECT_TRUE(stays_in_line());
  raw_.del("orders");
  EXPECT_TRUE(run_until([&] { return got.has_value(); }));
}

TEST_F(forked_on_an_event_loop, child_that_stops_a_wait_ends_none) {
  occupy();
  std::stop_source stop;
  auto called = false;
  lock_->async_acquire([&](std::optional<lease> const&, std::exception_ptr const&) { called = true; },
                       stop.get_token());
  EXPECT_TRUE(stands_in_line());
  EXPECT_TRUE(child_does([&] {
    stop.request_stop();
    return called ? 1 : 0;
  }));
  EXPECT_TRUE(stays_in_line());
  stop.request_stop();
  EXPECT_TRUE(run_until([&] { return called && !raw_.exists("{orders}:holdfast_queue"); }));
}

TEST_F(forked_on_an_event_loop, child_may_run_the_io_context_for_clients_of_its_own) {
  auto const held = lock_->acquire();
  EXPECT_TRUE(goes_on_renewing());
  io_->notify_fork(net::io_context::fork_prepare);
  EXPECT_TRUE(child_does([&] {
    io_->notify_fork(net::io_context::fork_child);
    client own{server_.url(), with_long_timeouts(), run_on(*io_)};
    mutex lock{own, "of the child", {.ttl = 60s, .renew_every = 50ms}};
    auto const own_lease = lock.acquire();
    if (!run_until([&] { return own.stats().renewals >= 3; })) return 1;
    return failure_of([&] { (void)lock_->try_acquire(); }).code == errc::forked ? 0 : 2;
  }));
  io_->notify_fork(net::io_context::fork_parent);
  EXPECT_TRUE(goes_on_renewing());
  EXPECT_TRUE(held.valid());
  EXPECT_EQ(redis_->stats().disconnects, 0U);
}

}  // namespace
}  // namespace holdfast::test
