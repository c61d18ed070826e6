/// The requests of a read-write lock on Redisson's wire, each disturbed in every way: readers count once, and
/// a writer that becomes a reader is at each moment either writer or reader.
#include "harmed.hpp"

#include <holdfast/shared_mutex.hpp>

#include "scripts/redisson_rw.hpp"

namespace holdfast::test {
namespace {

namespace rw_scripts = scripts::redisson_rw;

class redisson_shared_fault : public harmed {
 protected:
  redisson_shared_fault()
      : harmed{{.reply_timeout = 500ms, .wire = wire::redisson}} {  // loads the scripts into the server
    mutex_.downgrade(mutex_.acquire()).release();
    mutex_.acquire().release();
  }

  [[nodiscard]] std::string count_of(lease const& counted) {
    return raw_.command({"HGET", "m", counted.owner()}).text;
  }
  [[nodiscard]] std::int64_t fields() { return raw_.command({"HLEN", "m"}).integer; }

  shared_mutex mutex_{redis_, "m"};
};

TEST_F(redisson_shared_fault, lets_a_reader_in_once) {
  at_every_harm(rw_scripts::read_acquire::source, [this] {
    auto lease = mutex_.acquire_shared();
    EXPECT_TRUE(lease.valid());
    EXPECT_EQ(count_of(lease), "1");
    EXPECT_EQ(fields(), 2) << "the mode and one reader";
    release(lease);
  });
}

TEST_F(redisson_shared_fault, lets_a_writer_in_once) {
  at_every_harm(rw_scripts::write_acquire::source, [this] {
    auto lease = mutex_.acquire();
    EXPECT_TRUE(lease.valid());
    EXPECT_EQ(count_of(lease), "1");
    release(lease);
  });
}

TEST_F(redisson_shared_fault, lets_them_out) {
  at_every_harm(rw_scripts::read_release::source, [this] {
    auto lease = mutex_.acquire_shared();
    release(lease);
  });
  at_every_harm(rw_scripts::write_release::source, [this] {
    auto lease = mutex_.acquire();
    release(lease);
  });
}

TEST_F(redisson_shared_fault, makes_a_reader_of_a_writer_all_the_same) {
  at_every_harm(rw_scripts::downgrade::source, [this] {
    auto lease = mutex_.downgrade(mutex_.acquire());
    EXPECT_TRUE(lease.valid());
    EXPECT_EQ(count_of(lease), "1");
    EXPECT_EQ(fields(), 2) << "the mode and one reader";
    release(lease);
  });
}

TEST_F(redisson_shared_fault, makes_a_reader_of_a_writer_while_the_reply_to_its_renewal_is_lost) {
  becomes_another_while_it_is_renewed(mutex_.acquire(),
                                      [this](lease held) { return mutex_.downgrade(std::move(held)); });
}

TEST_F(redisson_shared_fault, renews_in_time_for_what_readers_of_java_leave_of_the_ttl) {
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

TEST_F(redisson_shared_fault, renews_as_often_as_java_however_long_its_ttl) {
  shared_mutex slow_mutex{redis_, "m", {.ttl = 10min}};
  auto const lease = slow_mutex.acquire_shared();
  auto const renewals = redis_.stats().renewals;
  EXPECT_TRUE(eventually([&] { return redis_.stats().renewals > renewals; }));
}

TEST_F(redisson_shared_fault, gives_back_what_became_neither_in_time) {
  shared_mutex short_mutex{redis_, "m", {.ttl = 1s}};
  auto writer_lease = short_mutex.acquire();
  proxy_.freeze_replies();
  EXPECT_NE(failure_of([&] { (void)short_mutex.downgrade(std::move(writer_lease)); }).code,
            std::error_code{});
  proxy_.thaw();
  EXPECT_TRUE(nothing_left_behind());
  EXPECT_EQ(redis_.stats().held_now, 0u);
}

/// Its first copy is carried out without an answer, its second one refused.
TEST_F(redisson_shared_fault, lets_no_writer_inherit_what_may_have_become_a_reader) {
  shared_mutex long_mutex{redis_, "m", {.ttl = 10min, .handoff_time = 1min}};
  auto first = long_mutex.acquire();
  pending second;
  long_mutex.async_acquire(second.handler());
  ASSERT_TRUE(eventually([&] { return redis_.stats().waiting_now == 1; }));
  proxy_.decide([copies = 0](request const& r) mutable {
    if (kind_of(r) != rw_scripts::downgrade::source.sha1) return fate::pass();
    return ++copies == 1 ? fate::cut_after() : fate::error("NOREPLICAS Not enough good replicas to write.");
  });
  EXPECT_EQ(failure_of([&] { (void)long_mutex.downgrade(std::move(first)); }).code, errc::refused);
  ASSERT_TRUE(eventually([&] { return second.done(); }));
  auto writer_lease = *second.take();
  EXPECT_EQ(raw_.command({"HGET", "m", "mode"}).text, "write");
  EXPECT_EQ(count_of(writer_lease), "1");
  EXPECT_EQ(fields(), 2) << "the mode and one writer";
  EXPECT_TRUE(writer_lease.valid());
  release(writer_lease);
  EXPECT_TRUE(nothing_left_behind());
}

/// The holder hears of the force while its downgrade is under way.
TEST_F(redisson_shared_fault, gives_back_what_became_a_reader_after_its_lease_was_lost) {
  shared_mutex long_mutex{redis_, "m", {.ttl = 10min}};
  auto writer_lease = long_mutex.acquire();
  std::atomic<bool> asked = false;
  auto const decision = proxy_.decide_by([&asked](request const& r) {
    return r.name == "EXISTS" && !asked.exchange(true) ? fate::delay_reply(300ms) : fate::pass();
  });
  auto const owner = writer_lease.owner();
  auto const number = owner.substr(37, owner.find(':', 37) - 37);
  for (auto const& asked_one : {owner, redis_.uuid() + ':' + number})
    raw_.command({"SET", "{m}:holdfast_asked:" + asked_one, "1", "PX", "600000"});
  ASSERT_TRUE(eventually([&] {  // once the inbox is open
    return raw_.command({"PUBLISH", "holdfast_inbox:" + redis_.uuid(), "asked " + number}).integer == 1;
  }));
  ASSERT_TRUE(eventually([&] { return asked.load(); }));
  EXPECT_EQ(failure_of([&] { (void)long_mutex.downgrade(std::move(writer_lease)); }).code, errc::lost);
  EXPECT_TRUE(eventually([&] { return !raw_.exists("m"); })) << "nobody holds it";
  EXPECT_EQ(redis_.stats().held_now, 0u);
}

}  // namespace
}  // namespace holdfast::test
