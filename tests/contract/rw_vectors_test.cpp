// The read-write lock's vectors of docs/redisson.md, step by step, with our scripts on one side or the other.
// Where one owner holds twice it is Java's, and its steps are made by hand: each acquisition of ours has an
// owner of its own.

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

/// As Java's second lock of a thread that reads.
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
  table at;
  at.step_twice("1. A reads", reads(a),
                {.reply = is_granted(), .then = {.mode = "read", .fields = {{a, 1}}, .holds = {{a}}}});
  reads_again_in_java(at.raw(), a);  // 2.
  state const three_holds{.mode = "read", .fields = {{a, 2}, {b, 1}}, .holds = {{a}, {a, 2}, {b, 1, 10'000}}};
  at.step_twice("3. B reads, with a shorter lease", reads(b, 10'000),
                {.reply = is_granted(), .then = three_holds});
  auto const busy = is_busy_with(testing::AnyOf(std::string{a}, std::string{b}));
  at.step_twice("4. C can't write", writes(c), {.reply = busy, .then = three_holds});
  at.step_twice("4. A can't either", writes(a), {.reply = busy, .then = three_holds});
  stops_reading_once_in_java(at.raw(), a);  // 5.
  state const b_only{.mode = "read", .fields = {{b, 1}}, .ttl = 10'000, .holds = {{b, 1, 10'000}}};
  at.step("6. A stops reading", stops_reading(a), {.reply = is(1), .then = b_only});
  at.step_twice("7. A isn't in any more", stops_reading(a), {.reply = is(-1), .then = b_only});
  at.step("8. B stops reading", stops_reading(b), {.reply = is(1), .messages = {one_may_ask()}});
  at.step("9. B isn't in any more", stops_reading(b), {.reply = is(0), .messages = {one_may_ask()}});
}

TEST(rw_vectors, a_writer_reads_and_stops_writing) {
  table at;
  state const writing{.mode = "write", .fields = {{a_writing, 1}}};
  at.step_twice("1. A writes", writes(a), {.reply = is_granted(), .then = writing});
  // 2. As Java's second lock of the thread: its time adds up.
  at.raw().command({"HINCRBY", "rw", std::string{a_writing}, "1"});
  at.raw().command({"PEXPIRE", "rw", "60000"});
  state const twice{.mode = "write", .fields = {{a_writing, 2}}, .ttl = 60'000};
  auto const busy = is_busy_with(std::string{a}, 60'000);
  at.step_twice("3. B can't read", reads(b), {.reply = busy, .then = twice});
  at.step_twice("3. B can't write", writes(b), {.reply = busy, .then = twice});
  at.step("4. A reads, too", reads(a),
          {.reply = is_granted(),
           .then = {.mode = "write", .fields = {{a_writing, 2}, {a, 1}}, .ttl = 60'000, .holds = {{a}}}});
  // 5. As Java's first unlock of two.
  at.raw().command({"HINCRBY", "rw", std::string{a_writing}, "-1"});
  at.raw().command({"PEXPIRE", "rw", "30000"});
  state const a_reads{.mode = "read", .fields = {{a, 1}}, .holds = {{a}}};
  // Redisson tells nobody here: readers of its processes wait for the end of the ttl, though they may come
  // in.
  at.step("6. A stops writing", stops_writing(a),
          {.reply = is(1), .then = a_reads, .messages = {all_may_ask()}});
  state const both_read{.mode = "read", .fields = {{a, 1}, {b, 1}}, .holds = {{a}, {b}}};
  at.step_twice("7. B reads", reads(b), {.reply = is_granted(), .then = both_read});
  at.step_twice("8. A doesn't write any more", stops_writing(a), {.reply = is(-1), .then = both_read});
  at.step("9. A stops reading", stops_reading(a),
          {.reply = is(1), .then = {.mode = "read", .fields = {{b, 1}}, .holds = {{b}}}});
  at.step("9. B stops reading", stops_reading(b), {.reply = is(1), .messages = {one_may_ask()}});
}

TEST(rw_vectors, a_writer_reads_and_stops_reading) {
  table at;
  state const writing{.mode = "write", .fields = {{a_writing, 1}}};
  at.step("A writes", writes(a), {.reply = is_granted(), .then = writing});
  at.step(
      "A reads, too", reads(a),
      {.reply = is_granted(), .then = {.mode = "write", .fields = {{a_writing, 1}, {a, 1}}, .holds = {{a}}}});
  at.step("A stops reading", stops_reading(a), {.reply = is(1), .then = writing});
  at.step("A stops writing", stops_writing(a), {.reply = is(1), .messages = {all_may_ask()}});
  at.step("A doesn't write any more", stops_writing(a), {.reply = is(0), .messages = {all_may_ask()}});
}

TEST(rw_vectors, a_reader_whose_hold_is_over_does_not_keep_the_lock) {
  table at;
  at.step("A reads", reads(a, 60'000),
          {.reply = is_granted(),
           .then = {.mode = "read", .fields = {{a, 1}}, .ttl = 60'000, .holds = {{a, 1, 60'000}}}});
  at.raw().command(eval(reads(b, 200)));
  ASSERT_TRUE(holdfast::test::eventually([&] { return !at.raw().exists(hold_of(b)); }));
  at.step("A stops reading, with B's field still there", stops_reading(a),
          {.reply = is(1), .messages = {one_may_ask()}});
}

// Redisson's forceUnlock leaves the holds to their ttl. Ours, `release --force`, is in rw_write_test.cpp.
TEST(rw_vectors, what_a_forced_unlock_of_java_leaves_behind_is_in_nobodys_way) {
  table at;
  at.raw().command({"SET", hold_of(a), "1", "PX", "30000"});
  at.raw().command({"SET", hold_of(b), "1", "PX", "30000"});
  at.step("A doesn't read any more", stops_reading(a),
          {.reply = is(0), .then = {.holds = {{b}}}, .messages = {one_may_ask()}});
  at.step("B neither", stops_reading(b), {.reply = is(0), .messages = {one_may_ask()}});
  at.raw().command({"SET", hold_of(a), "1", "PX", "30000"});
  at.step("C writes", writes(c),
          {.reply = is_granted(),
           .then = {.mode = "write",
                    .fields = {{"22222222-2222-2222-2222-222222222222:8:write", 1}},
                    .holds = {{a}}}});
}

TEST(rw_vectors, a_renewal_of_java_that_cuts_the_lock_short_is_mended_by_the_next_of_ours) {
  table at{{.mode = "read", .fields = {{a, 1}, {b, 1}}, .holds = {{a, 1, 600'000}, {b}}}};
  state const mended{
      .mode = "read", .fields = {{a, 1}, {b, 1}}, .ttl = 600'000, .holds = {{a, 1, 600'000}, {b}}};
  at.step("A's next renewal", goes_on_reading({a}, 600'000), {.reply = was_cut_to(full_ttl), .then = mended});
  at.step("and the one behind it", goes_on_reading({a}, 600'000), {.reply = is_list({}), .then = mended});
}

TEST(rw_vectors, a_name_with_a_tag_of_its_own) {
  table at{{}, "a{x}b"};
  at.step_twice("A reads", reads(a, full_ttl, "a{x}b"),
                {.reply = is_granted(), .then = {.mode = "read", .fields = {{a, 1}}, .holds = {{a}}}});
  EXPECT_TRUE(at.raw().exists("a{x}b:11111111-1111-1111-1111-111111111111:1:rwlock_timeout:1"));
  at.step("A stops reading", stops_reading(a, "a{x}b"),
          {.reply = is(1), .messages = {"redisson_rwlock:a{x}b 0"}});
  at.step("A writes", writes(a, full_ttl, "a{x}b"),
          {.reply = is_granted(), .then = {.mode = "write", .fields = {{a_writing, 1}}}});
  at.step("A stops writing", stops_writing(a, "a{x}b"),
          {.reply = is(1), .messages = {"redisson_rwlock:a{x}b 1"}});
}

TEST(rw_vectors, names_of_the_keys_and_the_channel) {
  EXPECT_EQ(names::rw_channel("lk"), "redisson_rwlock:{lk}");
  EXPECT_EQ(names::rw_channel("a{x}b"), "redisson_rwlock:a{x}b");
  EXPECT_EQ(hold_of(a, 1, "lk"), "{lk}:11111111-1111-1111-1111-111111111111:1:rwlock_timeout:1");
  EXPECT_EQ(hold_of(a, 2, "a{x}b"), "a{x}b:11111111-1111-1111-1111-111111111111:1:rwlock_timeout:2");
}

}  // namespace holdfast::contract::rw::rw_vectors_test
