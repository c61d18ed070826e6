/// The requests of an expiring_semaphore on the plain wire, each disturbed in every way: permits count once,
/// and none is out without a holder.
#include "fault.hpp"

#include <holdfast/expiring_semaphore.hpp>

#include <thread>

#include "script/names.hpp"
#include "scripts/permits.hpp"

namespace holdfast::test {
namespace {

namespace permit_scripts = scripts::permits;

class plain_permits_fault : public fault {
 protected:
  plain_permits_fault() {  // loads the scripts into the server
    license_.acquire().release();
    (void)license_.available();
  }

  /// Runs `f` once for each disturbance of the next run of that script.
  template <class F>
  void at_every_harm(script const& disturbed, F f) {
    raw_.command({"SCRIPT", "LOAD", std::string{disturbed.text}});
    auto const resent = redis_.stats().resent;
    for (auto const& h : harms) {
      SCOPED_TRACE(h.title);
      proxy_.once([sha = disturbed.sha1](request const& r) { return kind_of(r) == sha; }, h.effect);
      f();
    }
    EXPECT_GE(redis_.stats().resent, resent + 4);
  }
  /// Asynchronously, since release() gives up waiting at about the reply time-out.
  void release(lease& released) {
    std::atomic<int> outcome = -1;
    released.async_release([&](release_result r) { outcome = static_cast<int>(r); });
    ASSERT_TRUE(eventually([&] { return outcome >= 0; }));
    EXPECT_EQ(release_result{outcome.load()}, release_result::released);
  }
  [[nodiscard]] bool all_are_back() {
    return eventually(
        [this] { return !raw_.exists("license") && !raw_.exists(names::permit_queue("license")); });
  }

  std::atomic<bool> held_back_ = false;  // by which the proxy decides
  flaky_proxy proxy_{server_.socket_path()};
  client redis_{proxy_.url(), with_long_timeouts({.reply_timeout = 500ms})};
  client other_client_{server_.url(), with_long_timeouts()};
  expiring_semaphore license_{redis_, "license", 5};
  expiring_semaphore other_{other_client_, "license", 5};
};

TEST_F(plain_permits_fault, takes_permits_once) {
  at_every_harm(permit_scripts::acquire::source, [this] {
    auto lease = license_.acquire(2);
    EXPECT_TRUE(lease.valid());
    EXPECT_EQ(other_.acquired(), 2);
    release(lease);
    EXPECT_TRUE(all_are_back());
  });
}

TEST_F(plain_permits_fault, gives_them_back_once) {
  auto const others = other_.acquire(3);
  at_every_harm(permit_scripts::release::source, [this] {
    auto lease = license_.acquire(2);
    EXPECT_EQ(other_.available(), 0);
    release(lease);
    EXPECT_TRUE(eventually([this] { return other_.available() == 2; }));
  });
  at_every_harm(permit_scripts::release::source, [this] {
    auto lease = license_.acquire(2);
    EXPECT_EQ(license_.release(lease.owner()), release_result::released);
    EXPECT_EQ(other_.available(), 2);
  });
}

TEST_F(plain_permits_fault, adds_permits_once) {
  license_.set_permits(5);
  auto permits = 5;
  at_every_harm(permit_scripts::resize::source, [&] {
    license_.add_permits(2);
    permits += 2;
    EXPECT_EQ(other_.permits(), permits);
  });
}

TEST_F(plain_permits_fault, gives_back_what_came_for_a_caller_that_had_gone) {
  for (auto const& effect : {fate::delay_reply(250ms), fate::cut_after(), fate::swallow_reply()}) {
    std::atomic<bool> met = false;
    auto const decision = proxy_.decide_by([&](request const& r) {
      if (met || !r.has(permit_scripts::acquire::source.sha1)) return fate::pass();
      met = true;
      return effect;
    });
    std::stop_source stop;
    pending waiting;
    license_.async_acquire(waiting.handler(), 3, stop.get_token());
    ASSERT_TRUE(eventually([&] { return met.load(); }));
    stop.request_stop();
    ASSERT_TRUE(eventually([&] { return waiting.done(); }));
    try {
      (void)waiting.take();
    } catch (error const&) {  // cancelled
    }
    EXPECT_TRUE(all_are_back());
    proxy_.decide({});
  }
}

TEST_F(plain_permits_fault, comes_by_them_although_no_message_reaches_it) {
  auto all = other_.acquire(5);
  proxy_.swallow_messages(true);
  pending waiting;
  license_.async_acquire(waiting.handler(), 4);
  ASSERT_TRUE(eventually([&] { return raw_.exists(names::permit_queue("license")); }));
  EXPECT_EQ(all.release(), release_result::released);
  ASSERT_TRUE(eventually([&] { return waiting.done(); }));
  auto lease = *waiting.take();
  EXPECT_EQ(other_.acquired(), 4);
  release(lease);
  EXPECT_TRUE(all_are_back());
}

TEST_F(plain_permits_fault, takes_nothing_for_nobody_by_a_late_copy) {
  auto const hold_back = [&](script const& disturbed) {
    raw_.command({"SCRIPT", "LOAD", std::string{disturbed.text}});
    held_back_ = false;
    proxy_.decide([this, sha = std::string{disturbed.sha1}](request const& r) {
      if (held_back_ || !r.has(sha)) return fate::pass();
      held_back_ = true;
      return fate::hold_back();
    });
  };
  auto const deliver = [&] {
    EXPECT_TRUE(held_back_);
    proxy_.deliver();
    EXPECT_TRUE(eventually([&] { return proxy_.held_back() == 0; }));
  };
  hold_back(permit_scripts::acquire::source);
  auto first = license_.acquire(3);
  release(first);
  deliver();
  EXPECT_FALSE(raw_.exists("license"));
  auto second = license_.acquire(3);
  hold_back(permit_scripts::release::source);
  release(second);
  auto const third = license_.acquire(4);
  deliver();
  EXPECT_EQ(other_.acquired(), 4);
}

TEST_F(plain_permits_fault, goes_on_when_the_server_has_lost_everything) {
  expiring_semaphore brief{redis_, "license", 5, {.ttl = 2s, .renew_every = 50ms}};
  auto const lost = brief.acquire(5);
  pending waiting;
  other_.async_acquire(waiting.handler(), 2);
  ASSERT_TRUE(eventually([&] { return raw_.exists(names::permit_queue("license")); }));
  raw_.command({"FLUSHALL"});
  EXPECT_TRUE(eventually([&] { return lost.lost().stop_requested(); }));
  ASSERT_TRUE(eventually([&] { return waiting.done(); }));
  EXPECT_EQ(other_.acquired(), 2);
  EXPECT_EQ(other_.permits(), 5);
}

TEST_F(plain_permits_fault, never_gives_out_too_many_while_connections_break) {
  license_.set_permits(3);
  std::atomic<bool> stop = false;
  std::atomic<int> inside = 0;
  std::atomic<int> most = 0;
  std::atomic<int> rounds = 0;
  {
    std::vector<std::jthread> workers;
    for (auto i = 0; i < 5; ++i) {
      workers.emplace_back([&, i] {
        auto& semaphore = i % 2 == 0 ? license_ : other_;
        auto const amount = 1 + i % 3;
        while (!stop) {
          auto const permit = semaphore.acquire(amount);
          auto const current = inside += amount;
          for (auto old = most.load(); current > old && !most.compare_exchange_weak(old, current);) {
          }
          inside -= amount;
          ++rounds;
        }
      });
    }
    for (auto cut = 0; cut < 10; ++cut) {
      auto const before = rounds.load();
      EXPECT_TRUE(eventually([&] { return rounds > before + 5; }));
      proxy_.cut_all();
    }
    stop = true;
  }
  EXPECT_LE(most, 3);
  EXPECT_TRUE(all_are_back());
}

}  // namespace
}  // namespace holdfast::test
