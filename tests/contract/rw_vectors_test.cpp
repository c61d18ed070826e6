// The read-write lock's vectors of docs/redisson.md, step by step, with Holdfast's scripts on one side or the
// other. An owner with two holds is Java's, and its steps are written directly: each acquisition of Holdfast
// has an owner of its own.

#include "contract/rw.hpp"
#include "script/names_redisson.hpp"
#include "support/eventually.hpp"

namespace holdfast::contract::rw::rw_vectors_test {

using namespace holdfast::contract::rw;
using namespace std::chrono_literals;
namespace names = holdfast::names::redisson;

std::string hold_of(std::string_view reader, int number = 1, std::string_view name = "rw") {
  return names::reader_timeout(name, reader, number);
}

/// As Java's second lock by a reading thread.
void reads_again_in_java(raw_redis& raw, std::string_view owner) {
  raw.command({"HINCRBY", "rw", std::string{owner}, "1"});
  raw.command({"SET", hold_of(owner, 2), "1", "PX", "30000"});
  raw.command({"PEXPIRE", "rw", "30000"});
}

/// As Java's first unlock of two.
void stops_reading_once_in_java(raw_redis& raw, std::string_view owner) {
  raw.command({"HINCRBY", "rw", std::string{owner}, "-1"});
  raw.command({"DEL", hold_of(owner, 2)});
  raw.command({"PEXPIRE", "rw", std::to_string(raw.pttl(hold_of(owner)))});
}

TEST(rw_vectors, readers) {
  table lock;
  lock.step_twice("1. A reads", acquire_read(a),
                  {.reply = is_granted(), .after = {.mode = "read", .fields = {{a, 1}}, .holds = {{a}}}});
  reads_again_in_java(lock.raw(), a);  // 2.
  state const three_holds{.mode = "read", .fields = {{a, 2}, {b, 1}}, .holds = {{a}, {a, 2}, {b, 1, 10'000}}};
  lock.step_twice("3. B reads, with a shorter lease", acquire_read(b, 10'000),
                  {.reply = is_granted(), .after = three_holds});
  auto const busy = is_busy_with(testing::AnyOf(std::string{a}, std::string{b}));
  lock.step_twice("4. C can't write", acquire_write(c), {.reply = busy, .after = three_holds});
  lock.step_twice("4. A can't either", acquire_write(a), {.reply = busy, .after = three_holds});
  stops_reading_once_in_java(lock.raw(), a);  // 5.
  state const b_only{.mode = "read", .fields = {{b, 1}}, .ttl = 10'000, .holds = {{b, 1, 10'000}}};
  lock.step("6. A stops reading", release_read(a), {.reply = is(1), .after = b_only});
  lock.step_twice("7. A isn't in any more", release_read(a), {.reply = is(-1), .after = b_only});
  lock.step("8. B stops reading", release_read(b), {.reply = is(1), .messages = {wake_one_message()}});
  lock.step("9. B isn't in any more", release_read(b), {.reply = is(0), .messages = {wake_one_message()}});
}

TEST(rw_vectors, a_writer_reads_and_stops_writing) {
  table lock;
  state const writing{.mode = "write", .fields = {{a_writing, 1}}};
  lock.step_twice("1. A writes", acquire_write(a), {.reply = is_granted(), .after = writing});
  // 2. As Java's second lock by the thread: its time adds up.
  lock.raw().command({"HINCRBY", "rw", std::string{a_writing}, "1"});
  lock.raw().command({"PEXPIRE", "rw", "60000"});
  state const twice{.mode = "write", .fields = {{a_writing, 2}}, .ttl = 60'000};
  auto const busy = is_busy_with(std::string{a}, 60'000);
  lock.step_twice("3. B can't read", acquire_read(b), {.reply = busy, .after = twice});
  lock.step_twice("3. B can't write", acquire_write(b), {.reply = busy, .after = twice});
  lock.step("4. A reads, too", acquire_read(a),
            {.reply = is_granted(),
             .after = {.mode = "write", .fields = {{a_writing, 2}, {a, 1}}, .ttl = 60'000, .holds = {{a}}}});
  // 5. As Java's first unlock of two.
  lock.raw().command({"HINCRBY", "rw", std::string{a_writing}, "-1"});
  lock.raw().command({"PEXPIRE", "rw", "30000"});
  state const a_reads{.mode = "read", .fields = {{a, 1}}, .holds = {{a}}};
  // Redisson publishes nothing here: readers of its processes wait for the end of the ttl, though the lock
  // admits them.
  lock.step("6. A stops writing", release_write(a),
            {.reply = is(1), .after = a_reads, .messages = {wake_all_message()}});
  state const both_read{.mode = "read", .fields = {{a, 1}, {b, 1}}, .holds = {{a}, {b}}};
  lock.step_twice("7. B reads", acquire_read(b), {.reply = is_granted(), .after = both_read});
  lock.step_twice("8. A doesn't write any more", release_write(a), {.reply = is(-1), .after = both_read});
  lock.step("9. A stops reading", release_read(a),
            {.reply = is(1), .after = {.mode = "read", .fields = {{b, 1}}, .holds = {{b}}}});
  lock.step("9. B stops reading", release_read(b), {.reply = is(1), .messages = {wake_one_message()}});
}

TEST(rw_vectors, a_writer_reads_and_stops_reading) {
  table lock;
  state const writing{.mode = "write", .fields = {{a_writing, 1}}};
  lock.step("A writes", acquire_write(a), {.reply = is_granted(), .after = writing});
  lock.step("A reads, too", acquire_read(a),
            {.reply = is_granted(),
             .after = {.mode = "write", .fields = {{a_writing, 1}, {a, 1}}, .holds = {{a}}}});
  lock.step("A stops reading", release_read(a), {.reply = is(1), .after = writing});
  lock.step("A stops writing", release_write(a), {.reply = is(1), .messages = {wake_all_message()}});
  lock.step("A doesn't write any more", release_write(a), {.reply = is(0), .messages = {wake_all_message()}});
}

TEST(rw_vectors, a_reader_whose_hold_is_over_does_not_keep_the_lock) {
  table lock;
  lock.step("A reads", acquire_read(a, 60'000),
            {.reply = is_granted(),
             .after = {.mode = "read", .fields = {{a, 1}}, .ttl = 60'000, .holds = {{a, 1, 60'000}}}});
  lock.raw().command(eval(acquire_read(b, 200)));
  ASSERT_TRUE(holdfast::test::eventually([&] { return !lock.raw().exists(hold_of(b)); }));
  lock.step("A stops reading, with B's field still there", release_read(a),
            {.reply = is(1), .messages = {wake_one_message()}});
}

// Redisson's forceUnlock leaves the holds to their ttl. Holdfast's `release --force` is in rw_write_test.cpp.
TEST(rw_vectors, what_a_forced_unlock_of_java_leaves_behind_is_in_nobodys_way) {
  table lock;
  lock.raw().command({"SET", hold_of(a), "1", "PX", "30000"});
  lock.raw().command({"SET", hold_of(b), "1", "PX", "30000"});
  lock.step("A doesn't read any more", release_read(a),
            {.reply = is(0), .after = {.holds = {{b}}}, .messages = {wake_one_message()}});
  lock.step("B neither", release_read(b), {.reply = is(0), .messages = {wake_one_message()}});
  lock.raw().command({"SET", hold_of(a), "1", "PX", "30000"});
  lock.step("C writes", acquire_write(c),
            {.reply = is_granted(),
             .after = {.mode = "write",
                       .fields = {{"22222222-2222-2222-2222-222222222222:8:write", 1}},
                       .holds = {{a}}}});
}

TEST(rw_vectors, a_renewal_of_java_that_cuts_the_lock_short_is_mended_by_the_next_of_ours) {
  table lock{{.mode = "read", .fields = {{a, 1}, {b, 1}}, .holds = {{a, 1, 600'000}, {b}}}};
  state const mended{
      .mode = "read", .fields = {{a, 1}, {b, 1}}, .ttl = 600'000, .holds = {{a, 1, 600'000}, {b}}};
  lock.step("A's next renewal", renew_read({a}, 600'000), {.reply = was_cut_to(full_ttl), .after = mended});
  lock.step("and the one behind it", renew_read({a}, 600'000), {.reply = is_list({}), .after = mended});
}

TEST(rw_vectors, a_name_with_a_tag_of_its_own) {
  table lock{{}, "a{x}b"};
  lock.step_twice("A reads", acquire_read(a, full_ttl, "a{x}b"),
                  {.reply = is_granted(), .after = {.mode = "read", .fields = {{a, 1}}, .holds = {{a}}}});
  EXPECT_TRUE(lock.raw().exists("a{x}b:11111111-1111-1111-1111-111111111111:1:rwlock_timeout:1"));
  lock.step("A stops reading", release_read(a, "a{x}b"),
            {.reply = is(1), .messages = {"redisson_rwlock:a{x}b 0"}});
  lock.step("A writes", acquire_write(a, full_ttl, "a{x}b"),
            {.reply = is_granted(), .after = {.mode = "write", .fields = {{a_writing, 1}}}});
  lock.step("A stops writing", release_write(a, "a{x}b"),
            {.reply = is(1), .messages = {"redisson_rwlock:a{x}b 1"}});
}

TEST(rw_vectors, names_of_the_keys_and_the_channel) {
  EXPECT_EQ(names::rw_channel("lk"), "redisson_rwlock:{lk}");
  EXPECT_EQ(names::rw_channel("a{x}b"), "redisson_rwlock:a{x}b");
  EXPECT_EQ(hold_of(a, 1, "lk"), "{lk}:11111111-1111-1111-1111-111111111111:1:rwlock_timeout:1");
  EXPECT_EQ(hold_of(a, 2, "a{x}b"), "a{x}b:11111111-1111-1111-1111-111111111111:1:rwlock_timeout:2");
}

}  // namespace holdfast::contract::rw::rw_vectors_test
