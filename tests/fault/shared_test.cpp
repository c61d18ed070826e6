/// The requests of a read-write lock on the plain wire, each disturbed in every way: readers count once, and
/// a writer that becomes a reader is at each moment either writer or reader.
#include "harmed.hpp"

#include <holdfast/shared_mutex.hpp>

#include "script/names.hpp"
#include "scripts/shared.hpp"

namespace holdfast::test {
namespace {

namespace lua = scripts::shared;

class shared_fault : public harmed {
 protected:
  /// By scripts alone: alone_fault has the short requests.
  shared_fault() : harmed{{.reply_timeout = 500ms, .cas = cas::lua}} {  // loads the scripts into the server
    mutex_.downgrade(mutex_.acquire()).release();
    auto const lease = mutex_.acquire_shared();
  }

  [[nodiscard]] std::int64_t readers() { return raw_.command({"ZCARD", "{m}:holdfast_readers"}).integer; }
  [[nodiscard]] bool reads(lease const& reader) {
    return raw_.get("m") == names::held_by_readers &&
           !raw_.command({"ZSCORE", "{m}:holdfast_readers", reader.owner()}).text.empty();
  }

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
