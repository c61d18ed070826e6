/// The requests of a read-write lock on the plain wire, each disturbed in every way: readers count once, and
/// a writer that becomes a reader is at each moment either writer or reader.
#include "fault.hpp"

#include <holdfast/shared_mutex.hpp>

#include "script/names.hpp"
#include "scripts/shared.hpp"

namespace holdfast::test {
namespace {

namespace lua = scripts::shared;

class shared_fault : public fault {
 protected:
  shared_fault() {  // loads the scripts into the server
    mutex_.downgrade(mutex_.acquire()).release();
    auto const lease = mutex_.acquire_shared();
  }

  /// Runs `f` once for each disturbance of the next run of that script.
  template <class F>
  void at_every_harm(script const& disturbed, F f) {
    auto const resent = redis_.stats().resent;
    for (auto const& h : harms) {
      SCOPED_TRACE(h.title);
      proxy_.once([sha = disturbed.sha1](request const& r) { return kind_of(r) == sha; }, h.effect);
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
  [[nodiscard]] std::int64_t readers() { return raw_.command({"ZCARD", "{m}:holdfast_readers"}).integer; }
  [[nodiscard]] bool reads(lease const& reader) {
    return raw_.get("m") == names::held_by_readers &&
           !raw_.command({"ZSCORE", "{m}:holdfast_readers", reader.owner()}).text.empty();
  }

  flaky_proxy proxy_{server_.socket_path()};
  /// By scripts alone: alone_fault has the short requests.
  client redis_{proxy_.url(), with_long_timeouts({.reply_timeout = 500ms, .cas = cas::lua})};
  shared_mutex mutex_{redis_, "m"};
};

TEST_F(shared_fault, lets_a_reader_in_once) {
  at_every_harm(lua::acquire::source, [this] {
    auto lease = mutex_.acquire_shared();
    EXPECT_TRUE(lease.valid());
    EXPECT_TRUE(reads(lease));
    EXPECT_EQ(readers(), 1);
    release(lease);
  });
}

TEST_F(shared_fault, lets_it_out) {
  at_every_harm(lua::release::source, [this] {
    auto lease = mutex_.acquire_shared();
    release(lease);
  });
}

TEST_F(shared_fault, makes_a_reader_of_a_writer_all_the_same) {
  at_every_harm(lua::downgrade::source, [this] {
    auto lease = mutex_.downgrade(mutex_.acquire());
    EXPECT_TRUE(lease.valid());
    EXPECT_TRUE(reads(lease));
    EXPECT_EQ(readers(), 1);
    release(lease);
  });
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

/// Its grant is lost: its process is alive, and asks.
TEST_F(shared_fault, comes_in_although_no_message_reaches_it) {
  client remote_client{server_.url(), with_long_timeouts()};
  shared_mutex remote{remote_client, "m"};
  auto writer_lease = remote.acquire();
  proxy_.swallow_messages(true);
  pending reading;
  mutex_.async_acquire_shared(reading.handler());
  ASSERT_TRUE(eventually([&] { return raw_.exists("{m}:holdfast_queue"); }));
  EXPECT_EQ(writer_lease.release(), release_result::released);
  ASSERT_TRUE(eventually([&] { return reading.done(); }));
  auto lease = *reading.take();
  EXPECT_TRUE(reads(lease));
  release(lease);
  EXPECT_TRUE(nothing_left_behind());
}

}  // namespace
}  // namespace holdfast::test
