/// The requests of a read-write lock, each disturbed in every way: readers count once, and a writer that
/// becomes a reader is at each moment either writer or reader.
#include "fault.hpp"

#include <holdfast/shared_mutex.hpp>

#include "scripts/redisson_rw.hpp"

namespace holdfast::test {
namespace {

namespace rw_scripts = scripts::redisson_rw;

class shared_fault : public fault {
 protected:
  shared_fault() {  // loads the scripts into the server
    mutex_.downgrade(mutex_.acquire()).release();
    mutex_.acquire().release();
  }

  /// Runs `f` once for each disturbance of the next run of that script.
  template <class F>
  void at_every_harm(script const& disturbed, F f) {
    auto const resent = redis_.stats().resent;
    for (auto const& h : harms) {
      SCOPED_TRACE(h.title);
      proxy_.once([&](request const& r) { return kind_of(r) == disturbed.sha1; }, h.effect);
      f();
      EXPECT_TRUE(nothing_left_behind());
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
  [[nodiscard]] std::string count_of(lease const& counted) {
    return raw_.command({"HGET", "m", counted.owner()}).text;
  }
  [[nodiscard]] std::int64_t fields() { return raw_.command({"HLEN", "m"}).integer; }

  flaky_proxy proxy_{server_.socket_path()};
  client redis_{proxy_.url(), with_long_timeouts({.reply_timeout = 500ms})};
  shared_mutex mutex_{redis_, "m"};
};

TEST_F(shared_fault, lets_a_reader_in_once) {
  at_every_harm(rw_scripts::read_acquire::source, [this] {
    auto lease = mutex_.acquire_shared();
    EXPECT_TRUE(lease.valid());
    EXPECT_EQ(count_of(lease), "1");
    EXPECT_EQ(fields(), 2) << "the mode and one reader";
    release(lease);
  });
}

TEST_F(shared_fault, lets_a_writer_in_once) {
  at_every_harm(rw_scripts::write_acquire::source, [this] {
    auto lease = mutex_.acquire();
    EXPECT_TRUE(lease.valid());
    EXPECT_EQ(count_of(lease), "1");
    release(lease);
  });
}

TEST_F(shared_fault, lets_them_out) {
  at_every_harm(rw_scripts::read_release::source, [this] {
    auto lease = mutex_.acquire_shared();
    release(lease);
  });
  at_every_harm(rw_scripts::write_release::source, [this] {
    auto lease = mutex_.acquire();
    release(lease);
  });
}

TEST_F(shared_fault, makes_a_reader_of_a_writer_all_the_same) {
  at_every_harm(rw_scripts::downgrade::source, [this] {
    auto lease = mutex_.downgrade(mutex_.acquire());
    EXPECT_TRUE(lease.valid());
    EXPECT_EQ(count_of(lease), "1");
    EXPECT_EQ(fields(), 2) << "the mode and one reader";
    release(lease);
  });
}

TEST_F(shared_fault, renews_in_time_for_what_readers_of_java_leave_of_the_ttl) {
  passes_in_one_round_of(5, [this] {  // a round in which the process isn't stopped for the ttl's 3 s
    shared_mutex slow_mutex{redis_, "m", {.ttl = 10min, .renew_every = 3min}};
    auto lease = slow_mutex.acquire_shared();
    // As by the watchdog of a Java reader, which renews every second and then dies.
    auto const shorten_ttl = [this] { ASSERT_EQ(raw_.command({"PEXPIRE", "m", "3000"}).integer, 1); };
    shorten_ttl();
    lease.renew();
    shorten_ttl();
    EXPECT_TRUE(eventually([this] { return raw_.pttl("m") > 60'000; })) << "the next is due in 3 minutes";
    shorten_ttl();
    EXPECT_TRUE(eventually([this] { return raw_.pttl("m") > 60'000; }));
    EXPECT_TRUE(lease.valid());
    EXPECT_EQ(count_of(lease), "1");
    raw_.command({"DEL", "m"});
  });
}

TEST_F(shared_fault, renews_as_often_as_java_however_long_its_ttl) {
  shared_mutex slow_mutex{redis_, "m", {.ttl = 10min}};
  auto const lease = slow_mutex.acquire_shared();
  auto const renewals = redis_.stats().renewals;
  EXPECT_TRUE(eventually([&] { return redis_.stats().renewals > renewals; }));
}

TEST_F(shared_fault, gives_back_what_became_neither_in_time) {
  shared_mutex short_mutex{redis_, "m", {.ttl = 1s}};
  auto writer_lease = short_mutex.acquire();
  proxy_.freeze_replies();
  EXPECT_NE(failure_of([&] { (void)short_mutex.downgrade(std::move(writer_lease)); }).code,
            std::error_code{});
  proxy_.thaw();
  EXPECT_TRUE(nothing_left_behind());
  EXPECT_EQ(redis_.stats().held_now, 0u);
}

}  // namespace
}  // namespace holdfast::test
