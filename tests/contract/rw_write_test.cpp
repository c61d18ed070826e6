// The scripts of the read-write lock's writers, and the scripts for both sides.

#include "contract/rw.hpp"
#include "wire/redisson/recipes.hpp"

namespace holdfast::contract::rw::rw_write_test {

using namespace holdfast::contract::rw;

constexpr std::string_view sibling_of_a = "11111111-1111-1111-1111-111111111111:2";
constexpr std::string_view sibling_writing = "11111111-1111-1111-1111-111111111111:2:write";

state const free_lock{};
state const a_writes{.mode = "write", .fields = {{a_writing, 1}}};
state const b_writes{.mode = "write", .fields = {{b_writing, 1}}};
state const a_reads{.mode = "read", .fields = {{a, 1}}, .holds = {{a}}};
state const b_reads{.mode = "read", .fields = {{b, 1}}, .holds = {{b}}};

class rw_write_script : public testing::TestWithParam<rw::row> {};
TEST_P(rw_write_script, keeps_its_contract) { rw::check(GetParam()); }

INSTANTIATE_TEST_SUITE_P(
    acquire, rw_write_script,
    testing::ValuesIn(std::vector<rw::row>{
        {.name = "takes_a_free_lock",
         .call = acquire_write(a),
         .expect = {.reply = is_granted(), .after = a_writes}},
        {.name = "waits_for_another_who_writes",
         .given = b_writes,
         .call = acquire_write(a),
         .expect = {.reply = is_busy_with(std::string{b}), .after = b_writes}},
        {.name = "waits_for_a_sibling_of_the_same_process",
         .given = a_writes,
         .call = acquire_write(sibling_of_a),
         .expect = {.reply = is_busy_with(std::string{a}), .after = a_writes}},
        {.name = "waits_for_those_who_read",
         .given = b_reads,
         .call = acquire_write(a),
         .expect = {.reply = is_busy_with(std::string{b}), .after = b_reads}},
        {.name = "waits_even_when_it_is_the_only_one_who_reads",
         .given = a_reads,
         .call = acquire_write(a),
         .expect = {.reply = is_busy_with(std::string{a}), .after = a_reads}},
        {.name = "raises_the_time_that_it_has",
         .given = {.mode = "write", .fields = {{a_writing, 1}}, .ttl = 5'000},
         .call = acquire_write(a),
         .expect = {.reply = is_granted(), .after = a_writes}},
        {.name = "does_not_shorten_the_time_that_it_has",
         .given = {.mode = "write", .fields = {{a_writing, 1}}, .ttl = 60'000},
         .call = acquire_write(a),
         .expect = {.reply = is_granted(),
                    .after = {.mode = "write", .fields = {{a_writing, 1}}, .ttl = 60'000}}},
    }),
    rw::name_of);

INSTANTIATE_TEST_SUITE_P(release, rw_write_script,
                         testing::ValuesIn(std::vector<rw::row>{
                             {.name = "frees_the_lock_and_tells_all",
                              .given = a_writes,
                              .call = release_write(a),
                              .expect = {.reply = is(1), .messages = {wake_all_message()}},
                              .again = outcome{.reply = is(0), .messages = {wake_all_message()}}},
                             {.name = "leaves_another_who_writes_alone",
                              .given = b_writes,
                              .call = release_write(a),
                              .expect = {.reply = is(-1), .after = b_writes}},
                             {.name = "leaves_those_who_read_alone",
                              .given = a_reads,
                              .call = release_write(a),
                              .expect = {.reply = is(-1), .after = a_reads}},
                             {.name = "tells_nobody_who_polls",
                              .given = a_writes,
                              .call = quiet(holdfast::recipes::redisson::writer.release, a),
                              .expect = {.reply = is(1)},
                              .again = outcome{.reply = is(0)}},
                         }),
                         rw::name_of);

INSTANTIATE_TEST_SUITE_P(
    renew, rw_write_script,
    testing::ValuesIn(std::vector<rw::row>{
        {.name = "gives_a_full_time",
         .given = {.mode = "write", .fields = {{a_writing, 1}}, .ttl = 5'000},
         .call = renew_write({a}),
         .expect = {.reply = is_list({}), .after = a_writes}},
        {.name = "does_not_shorten_the_time_that_it_has",
         .given = {.mode = "write", .fields = {{a_writing, 1}}, .ttl = 60'000},
         .call = renew_write({a}),
         .expect = {.reply = is_list({}),
                    .after = {.mode = "write", .fields = {{a_writing, 1}}, .ttl = 60'000}}},
        {.name = "finds_the_lock_gone", .call = renew_write({a, b}), .expect = {.reply = is_list({1, 2})}},
        {.name = "finds_that_others_have_it",
         .given = a_reads,
         .call = renew_write({a, b}),
         .expect = {.reply = is_list({-1, -2}), .after = a_reads}},
    }),
    rw::name_of);

INSTANTIATE_TEST_SUITE_P(
    pass, rw_write_script,
    testing::ValuesIn(std::vector<rw::row>{
        // The table itself is subscribed to all channels: one listening process.
        {.name = "has_its_sibling_write_when_nobody_else_hears_of_it",
         .given = a_writes,
         .call = pass_write(a, sibling_of_a),
         .expect = {.reply = is_list({1, 0, 65}),
                    .after = {.mode = "write", .fields = {{sibling_writing, 1}}},
                    .messages = {wake_all_message()}}},
        {.name = "leaves_the_lock_to_those_who_hear_of_it",
         .given = a_writes,
         .call = pass_write(a, sibling_of_a, false),
         .expect = {.reply = is_list({1}), .messages = {wake_all_message()}},
         .again = outcome{.reply = is_list({0})}},
        {.name = "leaves_another_who_writes_alone",
         .given = b_writes,
         .call = pass_write(a, sibling_of_a),
         .expect = {.reply = is_list({-1}), .after = b_writes}},
        {.name = "leaves_those_who_read_alone",
         .given = b_reads,
         .call = pass_write(a, sibling_of_a),
         .expect = {.reply = is_list({-1}), .after = b_reads}},
        {.name = "finds_the_lock_gone",
         .call = pass_write(a, sibling_of_a),
         .expect = {.reply = is_list({0})}},
        {.name = "lets_readers_in_when_it_reads_itself",
         .given = {.mode = "write", .fields = {{a_writing, 1}, {a, 1}}, .holds = {{a}}},
         .call = pass_write(a, sibling_of_a),
         .expect = {.reply = is_list({1}), .after = a_reads, .messages = {wake_all_message()}},
         .again = outcome{.reply = is_list({-1}), .after = a_reads}},
    }),
    rw::name_of);

INSTANTIATE_TEST_SUITE_P(
    downgrade, rw_write_script,
    testing::ValuesIn(std::vector<rw::row>{
        // Redisson publishes nothing here, and the readers of its processes wait for the end of the ttl.
        {.name = "reads_from_now_on_and_tells_those_who_wait",
         .given = {.mode = "write", .fields = {{a_writing, 1}}, .ttl = 5'000},
         .call = downgrade(a),
         .expect = {.reply = is(1), .after = a_reads, .messages = {wake_all_message()}}},
        {.name = "does_not_shorten_the_time_of_the_lock",
         .given = {.mode = "write", .fields = {{a_writing, 1}}, .ttl = 60'000},
         .call = downgrade(a),
         .expect = {.reply = is(1),
                    .after = {.mode = "read", .fields = {{a, 1}}, .ttl = 60'000, .holds = {{a}}},
                    .messages = {wake_all_message()}}},
        {.name = "has_a_full_time_when_it_is_sent_again",
         .given = {.mode = "read", .fields = {{a, 1}, {b, 1}}, .ttl = 5'000, .holds = {{a, 1, 5'000}, {b}}},
         .call = downgrade(a),
         .expect = {.reply = is(1),
                    .after = {.mode = "read", .fields = {{a, 1}, {b, 1}}, .holds = {{a}, {b}}}}},
        {.name = "finds_its_time_to_read_over",
         .given = {.mode = "read", .fields = {{a, 1}, {b, 1}}, .holds = {{b}}},
         .call = downgrade(a),
         .expect = {.reply = is(-1), .after = {.mode = "read", .fields = {{a, 1}, {b, 1}}, .holds = {{b}}}}},
        {.name = "finds_the_lock_gone", .call = downgrade(a), .expect = {.reply = is(0)}},
        {.name = "leaves_another_who_writes_alone",
         .given = b_writes,
         .call = downgrade(a),
         .expect = {.reply = is(-1), .after = b_writes}},
        {.name = "leaves_those_who_read_alone",
         .given = b_reads,
         .call = downgrade(a),
         .expect = {.reply = is(-1), .after = b_reads}},
    }),
    rw::name_of);

INSTANTIATE_TEST_SUITE_P(
    abandon, rw_write_script,
    testing::ValuesIn(std::vector<rw::row>{
        {.name = "finds_nothing_to_give_back", .call = abandon_lock(a), .expect = {.reply = is(0)}},
        {.name = "leaves_others_alone",
         .given = b_reads,
         .call = abandon_lock(a),
         .expect = {.reply = is(0), .after = b_reads}},
        {.name = "gives_back_what_it_was_granted_to_write",
         .given = a_writes,
         .call = abandon_lock(a),
         .expect = {.reply = is(1), .messages = {wake_all_message()}},
         .again = outcome{.reply = is(0)}},
        {.name = "gives_back_what_it_was_granted_to_read",
         .given = a_reads,
         .call = abandon_lock(a),
         .expect = {.reply = is(1), .messages = {wake_one_message()}},
         .again = outcome{.reply = is(0)}},
        {.name = "goes_and_leaves_the_other_readers_their_time",
         .given = {.mode = "read", .fields = {{a, 1}, {b, 1}}, .holds = {{a}, {b, 1, 10'000}}},
         .call = abandon_lock(a),
         .expect = {.reply = is(1),
                    .after = {.mode = "read", .fields = {{b, 1}}, .ttl = 10'000, .holds = {{b, 1, 10'000}}}},
         .again =
             outcome{
                 .reply = is(0),
                 .after = {.mode = "read", .fields = {{b, 1}}, .ttl = 10'000, .holds = {{b, 1, 10'000}}}}},
    }),
    rw::name_of);

state const holders{
    .mode = "read", .fields = {{a, 1}, {b, 3}}, .holds = {{a, 1, 10'000}, {b}, {b, 2}, {b, 3}}};

INSTANTIATE_TEST_SUITE_P(
    force, rw_write_script,
    testing::ValuesIn(std::vector<rw::row>{
        {.name = "ends_the_lock_of_one_who_writes",
         .given = {.mode = "write", .fields = {{a_writing, 2}, {a, 2}}, .holds = {{a}, {a, 2}}},
         .call = force(),
         .expect = {.reply = is(1), .messages = {wake_all_message()}},
         .again = outcome{.reply = is(0)}},
        {.name = "ends_the_lock_of_all_who_read_with_every_hold",
         .given = holders,
         .call = force(),
         .expect = {.reply = is(1), .messages = {wake_all_message()}},
         .again = outcome{.reply = is(0)}},
        {.name = "ends_the_lock_if_that_one_still_writes",
         .given = {.mode = "write", .fields = {{a_writing, 1}, {a, 1}}, .holds = {{a}}},
         .call = force(a_writing),
         .expect = {.reply = is(1), .messages = {wake_all_message()}},
         .again = outcome{.reply = is(0)}},
        {.name = "does_nothing_to_another_who_writes",
         .given = b_writes,
         .call = force(a_writing),
         .expect = {.reply = is(-1), .after = b_writes}},
        {.name = "takes_one_reader_out_with_an_inflated_count",
         .given = holders,
         .call = force(b),
         .expect = {.reply = is(1),
                    .after = {.mode = "read", .fields = {{a, 1}}, .ttl = 10'000, .holds = {{a, 1, 10'000}}}},
         .again =
             outcome{
                 .reply = is(-1),
                 .after = {.mode = "read", .fields = {{a, 1}}, .ttl = 10'000, .holds = {{a, 1, 10'000}}}}},
        {.name = "takes_the_last_reader_out",
         .given = {.mode = "read", .fields = {{b, 2}}, .holds = {{b}}},
         .call = force(b),
         .expect = {.reply = is(1), .messages = {wake_one_message()}},
         .again = outcome{.reply = is(0)}},
        {.name = "does_nothing_to_other_readers",
         .given = b_reads,
         .call = force(a),
         .expect = {.reply = is(-1), .after = b_reads}},
        {.name = "takes_no_field_that_is_no_owner",
         .given = b_reads,
         .call = force("mode"),
         .expect = {.reply = is(-1), .after = b_reads}},
        {.name = "finds_the_lock_gone", .given = free_lock, .call = force(), .expect = {.reply = is(0)}},
    }),
    rw::name_of);

/// A key that is not a read-write lock, and the scripts' word for it.
struct misfit_sample {
  words command;
  std::string found;
};

std::vector<misfit_sample> const misfits{
    {{"SET", "rw", "1"}, "a string"},
    {{"RPUSH", "rw", "1"}, "a list"},
    {{"ZADD", "rw", "1", "x"}, "a zset"},
    {{"HSET", "rw", std::string{a}, "1"}, "a hash of another kind"},  // an RLock
    {{"HSET", "rw", "mode", "upside-down", "x", "1"}, "a hash of another kind"},
};

TEST(rw_scripts, say_what_a_key_is_that_is_no_read_write_lock_and_leave_it_alone) {
  for (auto const& sample : misfits) {
    SCOPED_TRACE(sample.found);
    table lock;
    lock.raw().command(sample.command);
    auto const before = lock.raw().command({"DUMP", "rw"}).text;
    auto const misfit = is_error("MISFIT " + sample.found + ", not the hash of a read-write lock");
    EXPECT_THAT(lock.raw().command(eval(acquire_read(a))), misfit);
    EXPECT_THAT(lock.raw().command(eval(acquire_write(a))), misfit);
    EXPECT_THAT(lock.raw().command(eval(release_read(a))), is(-1));
    EXPECT_THAT(lock.raw().command(eval(release_write(a))), is(-1));
    EXPECT_THAT(lock.raw().command(eval(pass_write(a, sibling_of_a))), is_list({-1}));
    EXPECT_THAT(lock.raw().command(eval(renew_write({a}))), is_list({-1}));
    EXPECT_THAT(lock.raw().command(eval(downgrade(a))), is(-1));
    EXPECT_THAT(lock.raw().command(eval(abandon_lock(a))), is(0));
    EXPECT_THAT(lock.raw().command(eval(force())), is(-1));
    EXPECT_EQ(lock.raw().command({"DUMP", "rw"}).text, before);
    EXPECT_EQ(lock.raw().pttl("rw"), no_ttl);
    EXPECT_THAT(lock.raw().keys(), testing::ElementsAre("rw"));
  }
}

TEST(rw_scripts, pass_leaves_the_lock_to_one_more_that_hears_of_it) {
  subscription const other{empty_server()};
  table lock{a_writes};
  EXPECT_THAT(lock.raw().command(eval(pass_write(a, sibling_of_a))), is_list({1}));
  EXPECT_FALSE(lock.raw().exists("rw"));
}

TEST(rw_scripts, know_no_reader_in_the_hash_of_another_kind) {
  table lock;
  lock.raw().command({"SET", "rw", "1"});
  EXPECT_THAT(lock.raw().command(eval(renew_read({a}))), is_list({-1}));
}

TEST(rw_scripts, free_the_lock_without_the_right_to_publish) {
  for (auto const& [given, release] : {std::pair{a_writes, release_write(a)}, {a_reads, release_read(a)}}) {
    table lock{given};
    lock.raw().command({"ACL", "SETUSER", "mute", "on", "nopass", "~*", "resetchannels", "+@all"});
    lock.raw().command({"AUTH", "mute", "any"});
    EXPECT_THAT(lock.raw().command(eval(release)), is(1));
    EXPECT_FALSE(lock.raw().exists("rw"));
  }
}

}  // namespace holdfast::contract::rw::rw_write_test
