/// The short requests of a reader, and of a permit, that has its name alone, each disturbed in every way.
/// Where the machine is slow a full script goes out in the place of one, undisturbed.
#include "fault.hpp"

#include <holdfast/condition.hpp>
#include <holdfast/expiring_semaphore.hpp>
#include <holdfast/shared_mutex.hpp>

#include <future>

#include "script/names.hpp"
#include "scripts/permits.hpp"
#include "scripts/shared.hpp"

namespace holdfast::test {
namespace {

class alone_fault : public fault {
 protected:
  template <class Take>
  void at_every_harm(std::string_view short_release, Take take) {
    for (auto const kind : {std::string_view{"EXEC"}, short_release}) {
      for (auto const& h : harms) {
        SCOPED_TRACE(std::string{kind} + ": " + h.title);
        ASSERT_TRUE(eventually([&] {  // until the next acquisition is a short one
          proxy_.forget();
          EXPECT_EQ(take().release(), release_result::released);
          return proxy_.count("EXEC") != 0;
        }));
        std::atomic<bool> met = false;
        auto const decision = proxy_.decide_by([&met, &h, kind](request const& r) {
          if (kind_of(r) != kind || met.exchange(true)) return fate::pass();
          return h.effect;
        });
        auto lease = take();
        EXPECT_TRUE(lease.valid());
        EXPECT_TRUE(raw_.exists("m"));
        std::atomic<int> outcome = -1;  // release() gives up waiting at about the reply time-out
        lease.async_release([&outcome](release_result r) { outcome = static_cast<int>(r); });
        ASSERT_TRUE(eventually([&outcome] { return outcome >= 0; }));
        EXPECT_EQ(release_result{outcome.load()}, release_result::released);
        EXPECT_TRUE(nothing_left_behind());
      }
    }
  }

  /// A lease by a short request.
  template <class Take>
  lease have_alone(Take take) {
    lease held;
    EXPECT_TRUE(eventually([&] {
      held = {};
      proxy_.forget();
      held = take();
      return proxy_.count("EXEC") != 0;
    }));
    return held;
  }

  /// The server has lost it, and another has the name by now.
  static void is_lost(lease& held, lease& of_another) {
    EXPECT_EQ(failure_of([&] { held.renew(); }).code, errc::lost);
    EXPECT_EQ(held.release(), release_result::lost);
    EXPECT_GT(of_another.token(), held.token());
    EXPECT_NO_THROW(of_another.renew());
    EXPECT_EQ(of_another.release(), release_result::released);
  }

  flaky_proxy proxy_{server_.socket_path()};
  client redis_{proxy_.url(), with_long_timeouts({.reply_timeout = 500ms})};
};

TEST_F(alone_fault, lets_a_reader_in_and_out_once) {
  shared_mutex mutex{redis_, "m"};
  std::int64_t last = 0;
  at_every_harm(scripts::shared::fast_release::source.sha1, [&] {
    auto lease = mutex.acquire_shared();
    EXPECT_GE(lease.token(), last);
    last = lease.token();
    return lease;
  });
}

TEST_F(alone_fault, gives_a_permit_and_takes_it_back_once) {
  expiring_semaphore slots{redis_, "m", 3};
  std::int64_t last = 0;
  at_every_harm(scripts::permits::fast_release::source.sha1, [&] {
    auto lease = slots.acquire();
    EXPECT_GT(lease.token(), last);
    last = lease.token();
    return lease;
  });
}

TEST_F(alone_fault, tells_a_reader_that_the_server_came_back_empty) {
  shared_mutex mutex{redis_, "m", {.ttl = 5min}};
  auto reading = have_alone([&] { return mutex.acquire_shared(); });
  raw_.command({"FLUSHALL"});
  client other{server_.url(), with_long_timeouts()};
  shared_mutex others{other, "m", {.ttl = 5min}};
  auto writing = others.acquire();
  is_lost(reading, writing);
  EXPECT_TRUE(nothing_left_behind());
}

TEST_F(alone_fault, tells_who_had_the_only_permit_that_the_server_came_back_empty) {
  expiring_semaphore slot{redis_, "m", 1, {.ttl = 5min}};
  auto permit = have_alone([&] { return slot.acquire(); });
  raw_.command({"FLUSHALL"});
  client other{server_.url(), with_long_timeouts()};
  expiring_semaphore others{other, "m", 1, {.ttl = 5min}};
  auto another = others.acquire();
  EXPECT_FALSE(slot.try_acquire());
  is_lost(permit, another);
  EXPECT_TRUE(nothing_left_behind());
}

/// Who waits on the condition of a lock that one reader has alone is notified, and waits for that reader.
TEST_F(alone_fault, reader_notifies_who_waits_to_write) {
  client other{server_.url(), with_long_timeouts({.recheck = 30s})};
  shared_mutex others{other, "m", {.ttl = 5min}};
  condition changed{other, "m"};
  auto waiting = std::async(std::launch::async, [&] {
    auto writing = others.acquire();
    auto const before = writing.token();
    changed.wait(writing);
    return writing.valid() && writing.token() > before;
  });
  ASSERT_TRUE(eventually([&] { return raw_.exists(names::condition("m")); }));
  shared_mutex mutex{redis_, "m", {.ttl = 5min}};
  auto reading = have_alone([&] { return mutex.acquire_shared(); });
  EXPECT_EQ((condition{redis_, "m"}.notify_one()), 1);
  ASSERT_TRUE(eventually([&] { return raw_.exists(names::queue("m")); }));
  EXPECT_TRUE(reading.valid());
  EXPECT_EQ(reading.release(), release_result::released);
  EXPECT_TRUE(waiting.get());
  EXPECT_TRUE(eventually([&] { return !raw_.exists("m") && !raw_.exists(names::queue("m")); }));
}

}  // namespace
}  // namespace holdfast::test
