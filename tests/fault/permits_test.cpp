/// Requests and replies for semaphores and latches are lost: each counts once all the same, and no permit is
/// taken without a holder.
#include "fault.hpp"

#include <holdfast/expiring_semaphore.hpp>
#include <holdfast/latch.hpp>
#include <holdfast/semaphore.hpp>

#include <thread>

#include "scripts/latch.hpp"
#include "scripts/redisson_latch.hpp"
#include "scripts/redisson_number.hpp"
#include "scripts/redisson_permit.hpp"
#include "scripts/redisson_semaphore.hpp"

namespace holdfast::test {
namespace {

class permits_fault : public fault {
 protected:
  /// Runs `f` once for each disturbance of the next run of that script, which the server knows.
  template <class F>
  void under_each_harm(script const& disturbed, F f) {
    raw_.command({"SCRIPT", "LOAD", std::string{disturbed.text}});
    for (auto const& h : harms) {
      SCOPED_TRACE(h.title);
      std::atomic<bool> met = false;
      auto const decision = proxy_.decide_by([&met, &h, sha = std::string{disturbed.sha1}](request const& r) {
        if (met || !r.has(sha)) return fate::pass();
        met = true;
        return h.effect;
      });
      f();
      EXPECT_TRUE(met);
      proxy_.decide({});
    }
    EXPECT_GE(redis_.stats().resent, 4u);
  }

  flaky_proxy proxy_{server_.socket_path()};
  client redis_{proxy_.url(), with_long_timeouts({.reply_timeout = 500ms})};
  semaphore uploads_{redis_, "uploads", {.wire = wire::redisson}};
  expiring_semaphore license_{redis_, "license", {.wire = wire::redisson}};
  latch ready_{redis_, "ready", {.wire = wire::redisson}};
  latch gate_{redis_, "gate"};
};

TEST_F(permits_fault, takes_permits_once) {
  uploads_.try_set_permits(100);
  auto permits = 100;
  under_each_harm(scripts::redisson_semaphore::acquire::source, [&] {
    EXPECT_TRUE(uploads_.try_acquire_for(20s, 3));
    permits -= 3;
    EXPECT_EQ(raw_.get("uploads"), std::to_string(permits));
  });
}

TEST_F(permits_fault, gives_permits_back_once) {
  uploads_.try_set_permits(0);
  auto permits = 0;
  under_each_harm(scripts::redisson_semaphore::add::source, [&] {
    uploads_.release(2);
    permits += 2;
    EXPECT_EQ(raw_.get("uploads"), std::to_string(permits));
  });
}

TEST_F(permits_fault, drains_and_says_how_many_they_were) {
  under_each_harm(scripts::redisson_semaphore::drain::source, [&] {
    raw_.command({"SET", "uploads", "7"});
    EXPECT_EQ(uploads_.drain(), 7);
    EXPECT_EQ(raw_.get("uploads"), "0");
  });
}

TEST_F(permits_fault, says_that_it_gave_the_permits_that_it_gave) {
  under_each_harm(scripts::redisson_number::try_set::source, [&] {
    raw_.del("uploads");
    EXPECT_TRUE(uploads_.try_set_permits(5));
    EXPECT_FALSE(uploads_.try_set_permits(6));
    EXPECT_EQ(raw_.get("uploads"), "5");
  });
}

TEST_F(permits_fault, counts_down_once) {
  ready_.try_set_count(100);
  auto count = 100;
  under_each_harm(scripts::redisson_latch::count_down::source, [&] {
    ready_.count_down(3);
    count -= 3;
    EXPECT_EQ(raw_.get("ready"), std::to_string(count));
  });
}

TEST_F(permits_fault, opens_a_latch_and_says_so) {
  under_each_harm(scripts::redisson_latch::open::source, [&] {
    raw_.command({"SET", "ready", "7"});
    EXPECT_TRUE(ready_.open());
    EXPECT_FALSE(ready_.open());
  });
}

TEST_F(permits_fault, counts_a_latch_of_the_plain_wire_down_once) {
  under_each_harm(scripts::latch::set::source, [&] {
    raw_.command({"DEL", "gate"});
    EXPECT_TRUE(gate_.try_set_count(100));
    EXPECT_FALSE(gate_.try_set_count(1));
  });
  auto count = 100;
  under_each_harm(scripts::latch::count_down::source, [&] {
    gate_.count_down(3);
    count -= 3;
    EXPECT_EQ(gate_.count(), count);
    EXPECT_TRUE(gate_.count_down("shard " + std::to_string(count))) << "whichever copy was carried out";
    EXPECT_EQ(gate_.count(), --count);
  });
  under_each_harm(scripts::latch::open::source, [&] {
    (void)gate_.try_set_count(7);
    EXPECT_TRUE(gate_.open());
    EXPECT_FALSE(gate_.open());
  });
}

/// The reply to the first copy of a request is lost, and copies behind it are refused for a while.
TEST_F(permits_fault, gives_permits_back_once_though_the_server_is_busy_when_it_is_asked_again) {
  raw_.command({"SCRIPT", "LOAD", std::string{scripts::redisson_semaphore::add::source.text}});
  uploads_.try_set_permits(3);
  std::atomic<int> copies = 0;
  auto const decision = proxy_.decide_by([&](request const& r) {
    if (!r.has(scripts::redisson_semaphore::add::source.sha1)) return fate::pass();
    auto const copy = ++copies;
    if (copy == 1) return fate::cut_after();
    return copy <= 4 ? fate::error("BUSY Redis is busy running a script.") : fate::pass();
  });
  EXPECT_NO_THROW(uploads_.release());
  EXPECT_EQ(copies, 5);
  EXPECT_EQ(uploads_.available(), 4);
}

TEST_F(permits_fault, says_released_though_the_server_is_busy_when_it_is_asked_again) {
  raw_.command({"SCRIPT", "LOAD", std::string{scripts::redisson_permit::release::source.text}});
  license_.try_set_permits(2);
  auto const permit = license_.acquire();
  std::atomic<int> copies = 0;
  auto const decision = proxy_.decide_by([&](request const& r) {
    if (!r.has(scripts::redisson_permit::release::source.sha1)) return fate::pass();
    auto const copy = ++copies;
    if (copy == 1) return fate::cut_after();
    return copy <= 4 ? fate::error("LOADING wait") : fate::pass();
  });
  EXPECT_EQ(license_.release(permit.owner()), release_result::released);
}

TEST_F(permits_fault, says_whether_it_is_known_what_became_of_a_request_that_is_refused_for_long) {
  raw_.command({"SCRIPT", "LOAD", std::string{scripts::redisson_semaphore::add::source.text}});
  uploads_.try_set_permits(4);
  client impatient{proxy_.url(), {.connect_timeout = 1s, .reply_timeout = 1s}};
  semaphore s{impatient, "uploads", {.wire = wire::redisson}};
  for (auto const lost : {false, true}) {
    proxy_.decide([lost, copies = 0](request const& r) mutable {
      if (!r.has(scripts::redisson_semaphore::add::source.sha1)) return fate::pass();
      return lost && ++copies == 1 ? fate::cut_after() : fate::error("BUSY Redis is busy running a script.");
    });
    auto const f = failure_of([&] { s.release(); });
    EXPECT_EQ(f.code, lost ? errc::unreachable : errc::refused) << f;
    EXPECT_TRUE(f.mentions("BUSY")) << f;
    EXPECT_EQ(f.mentions("may have been carried out"), lost) << f;
    EXPECT_EQ(raw_.get("uploads"), lost ? "5" : "4");
  }
}

TEST_F(permits_fault, takes_an_expiring_permit_once) {
  license_.try_set_permits(100);
  std::vector<lease> leases;
  under_each_harm(scripts::redisson_permit::acquire::source, [&] {
    auto acquired = license_.try_acquire_for(20s);
    ASSERT_TRUE(acquired);
    EXPECT_TRUE(acquired->valid());
    leases.push_back(std::move(*acquired));
    EXPECT_EQ(raw_.get("license"), std::to_string(100 - leases.size()));
    EXPECT_EQ(raw_.command({"ZCARD", "{license}:timeout"}).integer, std::int64_t(leases.size()));
  });
}

TEST_F(permits_fault, gives_an_expiring_permit_back_once) {
  license_.try_set_permits(2);
  auto const all_returned = [&] { return raw_.get("license") == "2" && !raw_.exists("{license}:timeout"); };
  under_each_harm(scripts::redisson_permit::release::source, [&] {
    auto lease = license_.acquire();
    EXPECT_NE(lease.release(), release_result::lost);
    EXPECT_TRUE(eventually(all_returned));
  });
  under_each_harm(scripts::redisson_permit::release::source, [&] {
    auto lease = license_.acquire();
    EXPECT_EQ(license_.release(lease.owner()), release_result::released);
    EXPECT_TRUE(eventually(all_returned));
  });
}

TEST_F(permits_fault, gives_back_what_came_for_a_caller_that_had_gone) {
  uploads_.try_set_permits(5);
  license_.try_set_permits(5);
  uploads_.acquire();
  uploads_.release();
  license_.acquire().release();
  auto const all_returned = [&] {
    return raw_.get("uploads") == "5" && raw_.get("license") == "5" && !raw_.exists("{license}:timeout");
  };
  for (auto const& effect : {fate::delay_reply(250ms), fate::cut_after(), fate::swallow_reply()}) {
    for (auto const& acquire :
         {scripts::redisson_semaphore::acquire::source, scripts::redisson_permit::acquire::source}) {
      SCOPED_TRACE(acquire.name);
      std::atomic<bool> met = false;
      auto const decision = proxy_.decide_by([&](request const& r) {
        if (met || !r.has(acquire.sha1)) return fate::pass();
        met = true;
        return effect;
      });
      std::stop_source stop;
      std::atomic<bool> semaphore_done = false;
      std::atomic<bool> semaphore_acquired = false;
      uploads_.async_acquire(
          [&](bool acquired, std::exception_ptr const&) {
            semaphore_acquired = acquired;
            semaphore_done = true;
          },
          3, stop.get_token());
      std::atomic<bool> permit_done = false;
      license_.async_acquire(
          [&](std::optional<lease> acquired, std::exception_ptr const&) {
            if (acquired) acquired->async_release({});
            permit_done = true;
          },
          stop.get_token());
      ASSERT_TRUE(eventually([&] { return met.load(); }));
      stop.request_stop();
      ASSERT_TRUE(eventually([&] { return semaphore_done && permit_done; }));
      if (semaphore_acquired) uploads_.release(3);
      EXPECT_TRUE(eventually(all_returned))
          << raw_.get("uploads").value_or("") << raw_.get("license").value_or("");
      proxy_.decide({});
    }
  }
}

TEST_F(permits_fault, counts_right_over_a_server_that_is_killed_with_its_data_kept) {
  auto durable = redis_server::with({.persistent = true});
  client redis{durable.url()};
  semaphore s{redis, "uploads", {.wire = wire::redisson}};
  s.try_set_permits(3);
  s.acquire(2);
  durable.kill9();
  durable.start();
  EXPECT_TRUE(s.try_acquire_for(20s));
  s.release(3);
  EXPECT_EQ(s.available(), 3);
}

TEST_F(permits_fault, keeps_count_while_connections_break_under_many_threads) {
  constexpr auto threads = 4;
  uploads_.try_set_permits(2);
  license_.try_set_permits(2);
  std::atomic<bool> stop = false;
  std::atomic<int> inside = 0;
  std::atomic<int> most = 0;
  std::atomic<int> rounds = 0;
  {
    std::vector<std::jthread> workers;
    for (auto i = 0; i < threads; ++i) {
      workers.emplace_back([&] {
        while (!stop) {
          uploads_.acquire();
          auto const current = ++inside;
          for (auto old = most.load(); current > old && !most.compare_exchange_weak(old, current);) {
          }
          auto const permit = license_.acquire();
          --inside;
          uploads_.release();
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
  EXPECT_LE(most, 2);
  EXPECT_TRUE(eventually([&] { return raw_.get("uploads") == "2" && raw_.get("license") == "2"; }))
      << raw_.get("uploads").value_or("") << " and " << raw_.get("license").value_or("");
}

}  // namespace
}  // namespace holdfast::test
