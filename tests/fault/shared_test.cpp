/// The requests of a read-write lock, each lost or held up in every way: readers count once, and a writer
/// that becomes a reader is one of the two all the time.
#include "fault.hpp"

#include <holdfast/shared_mutex.hpp>

#include "scripts/redisson_rw.hpp"

namespace holdfast::test {
namespace {

namespace rw_scripts = scripts::redisson_rw;

class shared_fault : public fault {
 protected:
  shared_fault() {  // teaches the server the scripts
    m_.downgrade(m_.acquire()).release();
    m_.acquire().release();
  }

  /// Once for each thing that can become of the next run of that script.
  template <class F>
  void at_every_harm(script const& which, F f) {
    auto const resent = redis_.stats().resent;
    for (auto const& h : harms) {
      SCOPED_TRACE(h.title);
      proxy_.once([&](request const& r) { return kind_of(r) == which.sha1; }, h.what);
      f();
      EXPECT_TRUE(comes_clean());
    }
    EXPECT_GE(redis_.stats().resent, resent + 4);
  }
  /// Without waiting, since release() gives up waiting at about the reply time-out.
  void release(lease& mine) {
    std::atomic<int> outcome = -1;
    mine.async_release([&](release_result r) { outcome = static_cast<int>(r); });
    ASSERT_TRUE(eventually([&] { return outcome >= 0; }));
    EXPECT_EQ(release_result{outcome.load()}, release_result::released);
  }
  [[nodiscard]] std::string count_of(lease const& one) {
    return raw_.command({"HGET", "m", one.owner()}).text;
  }
  [[nodiscard]] std::int64_t fields() { return raw_.command({"HLEN", "m"}).integer; }

  flaky_proxy proxy_{server_.socket_path()};
  client redis_{proxy_.url(), unhurried({.reply_timeout = 500ms})};
  shared_mutex m_{redis_, "m"};
};

TEST_F(shared_fault, lets_a_reader_in_once) {
  at_every_harm(rw_scripts::read_acquire::source, [this] {
    auto mine = m_.acquire_shared();
    EXPECT_TRUE(mine.valid());
    EXPECT_EQ(count_of(mine), "1");
    EXPECT_EQ(fields(), 2) << "the mode and one reader";
    release(mine);
  });
}

TEST_F(shared_fault, lets_a_writer_in_once) {
  at_every_harm(rw_scripts::write_acquire::source, [this] {
    auto mine = m_.acquire();
    EXPECT_TRUE(mine.valid());
    EXPECT_EQ(count_of(mine), "1");
    release(mine);
  });
}

TEST_F(shared_fault, lets_them_out) {
  at_every_harm(rw_scripts::read_release::source, [this] {
    auto mine = m_.acquire_shared();
    release(mine);
  });
  at_every_harm(rw_scripts::write_release::source, [this] {
    auto mine = m_.acquire();
    release(mine);
  });
}

TEST_F(shared_fault, makes_a_reader_of_a_writer_all_the_same) {
  at_every_harm(rw_scripts::downgrade::source, [this] {
    auto mine = m_.downgrade(m_.acquire());
    EXPECT_TRUE(mine.valid());
    EXPECT_EQ(count_of(mine), "1");
    EXPECT_EQ(fields(), 2) << "the mode and one reader";
    release(mine);
  });
}

TEST_F(shared_fault, renews_in_time_for_what_readers_of_java_leave_of_the_ttl) {
  in_one_round_of(5, [this] {  // in which it isn't stopped for the three seconds that they leave
    shared_mutex patient{redis_, "m", {.ttl = 10min, .renew_every = 3min}};
    auto mine = patient.acquire_shared();
    // As the watchdog of a reader there, which renews every second and dies then.
    auto const cut = [this] { ASSERT_EQ(raw_.command({"PEXPIRE", "m", "3000"}).integer, 1); };
    cut();
    mine.renew();
    cut();
    EXPECT_TRUE(eventually([this] { return raw_.pttl("m") > 60'000; })) << "the next is due in 3 minutes";
    cut();
    EXPECT_TRUE(eventually([this] { return raw_.pttl("m") > 60'000; }));
    EXPECT_TRUE(mine.valid());
    EXPECT_EQ(count_of(mine), "1");
    raw_.command({"DEL", "m"});
  });
}

TEST_F(shared_fault, renews_as_often_as_java_however_long_its_ttl) {
  shared_mutex patient{redis_, "m", {.ttl = 10min}};
  auto const mine = patient.acquire_shared();
  auto const renewals = redis_.stats().renewals;
  EXPECT_TRUE(eventually([&] { return redis_.stats().renewals > renewals; }));
}

TEST_F(shared_fault, gives_back_what_became_neither_in_time) {
  shared_mutex brief{redis_, "m", {.ttl = 1s}};
  auto writing = brief.acquire();
  proxy_.freeze_replies();
  EXPECT_NE(failure_of([&] { (void)brief.downgrade(std::move(writing)); }).code, std::error_code{});
  proxy_.thaw();
  EXPECT_TRUE(comes_clean());
  EXPECT_EQ(redis_.stats().held_now, 0u);
}

}  // namespace
}  // namespace holdfast::test
