/// Locks of several servers taken together, while one of the servers is away.
#include "fault.hpp"

#include <holdfast/multi_mutex.hpp>

#include <atomic>
#include <thread>

namespace holdfast::test {
namespace {

/// Counts how acquisitions end, each of which gives back at once.
struct outcomes {
  std::atomic<int> served = 0;
  std::atomic<int> failed = 0;

  void try_with(multi_mutex& m) {
    m.async_acquire([this](std::optional<multi_lease> got, std::exception_ptr const& why) {
      ++(got && !why ? served : failed);
    });
  }
  void block_for(multi_mutex& m) {
    auto const wrong = failure_of([&] { m.acquire().release(); });
    ++(wrong.code ? failed : served);
  }
  [[nodiscard]] bool none() const { return served + failed == 0; }
};

class several_servers_fault : public testing::Test {
 protected:
  /// The second is the one that is asked when the first has been got.
  several_servers_fault() {
    if (second_->url() < first_->url()) std::swap(first_, second_);
  }

  static client_options impatient() { return {.connect_timeout = 1s, .reply_timeout = 1s}; }

  std::unique_ptr<redis_server> first_ = redis_server::make({});
  std::unique_ptr<redis_server> second_ = redis_server::make({});
};

TEST_F(several_servers_fault, is_waited_out_by_who_waits_and_nothing_is_held_meanwhile) {
  client one{first_->url(), impatient()};
  client two{second_->url(), impatient()};
  multi_mutex m{{{one, "x"}, {two, "y"}}};
  EXPECT_TRUE(eventually([&] { return !failure_of([&] { m.acquire().release(); }).code; }));
  second_->kill9();
  outcomes all;
  {
    all.try_with(m);
    std::jthread const thread{[&] { all.block_for(m); }};
    EXPECT_TRUE(always(5s, [&] { return all.none(); })) << "for longer than connect_timeout, twice";
    mutex alone{one, "x"};
    EXPECT_TRUE(alone.try_acquire_for(20s).has_value());
    second_->start();
    EXPECT_TRUE(eventually([&] { return all.served == 2; }));
  }
  EXPECT_EQ(all.failed, 0);
}

TEST_F(several_servers_fault, keeps_nobody_beyond_its_time_who_wants_one_of_the_names_alone) {
  outcomes all;
  std::atomic<int> asked = 0;
  std::atomic<int> ended = 0;
  flaky_proxy to_one{first_->socket_path()};
  flaky_proxy to_other{second_->socket_path()};
  auto& before = to_one.url() < to_other.url() ? to_one : to_other;
  auto& behind = &before == &to_one ? to_other : to_one;
  client one{before.url(), impatient()};
  client two{behind.url(), impatient()};
  for (auto const& server : {first_.get(), second_.get()}) server->raw().command({"SET", "y", "of others"});
  EXPECT_TRUE((mutex{two, "z"}.try_acquire_for(20s))) << "and the server knows the script";
  // Its second name is busy; so it asks for that one first, and waits, and is never answered again.
  behind.decide([&](request const& r) { return r.has("y") && ++asked > 1 ? fate::swallow() : fate::pass(); });
  multi_mutex m{{{one, "x"}, {two, "y"}}};
  all.try_with(m);
  ASSERT_TRUE(eventually([&] { return asked > 1; }));
  mutex alone{two, "y"};
  auto const tries = 20;
  for (auto i = 0; i < tries; ++i) {
    alone.async_try_acquire_for(500ms, [&](std::optional<lease>, std::exception_ptr const&) { ++ended; });
    std::this_thread::sleep_for(100ms);  // at each moment between two connections
  }
  EXPECT_TRUE(eventually([&] { return ended == tries; })) << ended;
  EXPECT_TRUE(all.none());
}

TEST_F(several_servers_fault, is_told_to_who_only_tries_or_whose_time_is_up) {
  client one{first_->url(), impatient()};
  client two{second_->url(), impatient()};
  multi_mutex m{{{one, "x"}, {two, "y"}}};
  EXPECT_TRUE(eventually([&] { return !failure_of([&] { m.acquire().release(); }).code; }));
  second_->kill9();
  EXPECT_EQ(failure_of([&] { (void)m.try_acquire(); }).code, errc::unreachable);
  EXPECT_EQ(failure_of([&] { (void)m.try_acquire_for(3s); }).code, errc::unreachable);
}

TEST_F(several_servers_fault, is_told_when_nobody_has_ever_reached_that_server) {
  closed_port const nobody;
  client here{first_->url()};
  client nowhere{"redis://127.0.0.1:" + std::to_string(nobody.number()), impatient()};
  multi_mutex m{{{here, "x"}, {nowhere, "y"}}};
  EXPECT_EQ(failure_of([&] { (void)m.acquire(); }).code, errc::unreachable);
}

}  // namespace
}  // namespace holdfast::test
