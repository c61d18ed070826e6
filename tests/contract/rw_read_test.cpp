// The scripts of the read-write lock's readers.

#include "contract/rw.hpp"
#include "script/names_redisson.hpp"
#include "wire/redisson/recipes.hpp"

namespace holdfast::contract::rw::rw_read_test {

using namespace holdfast::contract::rw;
namespace names = holdfast::names::redisson;
using testing::AnyOf;

class rw_read_script : public testing::TestWithParam<rw::row> {};
TEST_P(rw_read_script, keeps_its_contract) { rw::check(GetParam()); }

INSTANTIATE_TEST_SUITE_P(
    acquire, rw_read_script,
    testing::ValuesIn(std::vector<rw::row>{
        {.name = "takes_a_free_lock",
         .call = acquire_read(a),
         .expect = {.reply = is_granted(), .after = {.mode = "read", .fields = {{a, 1}}, .holds = {{a}}}}},
        {.name = "reads_with_others_and_leaves_the_lock_their_longer_time",
         .given = {.mode = "read", .fields = {{b, 1}}, .ttl = 60'000, .holds = {{b, 1, 60'000}}},
         .call = acquire_read(a),
         .expect = {.reply = is_granted(),
                    .after = {.mode = "read",
                              .fields = {{b, 1}, {a, 1}},
                              .ttl = 60'000,
                              .holds = {{b, 1, 60'000}, {a}}}}},
        {.name = "gives_the_lock_its_own_longer_time",
         .given = {.mode = "read", .fields = {{b, 1}}, .ttl = 5'000, .holds = {{b, 1, 5'000}}},
         .call = acquire_read(a),
         .expect = {.reply = is_granted(),
                    .after = {.mode = "read", .fields = {{b, 1}, {a, 1}}, .holds = {{b, 1, 5'000}, {a}}}}},
        {.name = "does_not_shorten_the_time_that_it_has",
         .given = {.mode = "read", .fields = {{a, 1}}, .ttl = 60'000, .holds = {{a, 1, 60'000}}},
         .call = acquire_read(a),
         .expect = {.reply = is_granted(),
                    .after = {.mode = "read", .fields = {{a, 1}}, .ttl = 60'000, .holds = {{a, 1, 60'000}}}}},
        {.name = "raises_the_time_that_it_has",
         .given = {.mode = "read", .fields = {{a, 1}}, .ttl = 5'000, .holds = {{a, 1, 5'000}}},
         .call = acquire_read(a),
         .expect = {.reply = is_granted(), .after = {.mode = "read", .fields = {{a, 1}}, .holds = {{a}}}}},
        {.name = "begins_a_new_hold_where_its_own_is_over_and_others_keep_the_lock",
         .given = {.mode = "read", .fields = {{a, 1}, {b, 1}}, .holds = {{b}}},
         .call = acquire_read(a),
         .expect = {.reply = is_granted(),
                    .after = {.mode = "read", .fields = {{a, 1}, {b, 1}}, .holds = {{a}, {b}}}}},
        {.name = "waits_for_another_who_writes",
         .given = {.mode = "write", .fields = {{b_writing, 1}}},
         .call = acquire_read(a),
         .expect = {.reply = is_busy_with(std::string{b}),
                    .after = {.mode = "write", .fields = {{b_writing, 1}}}}},
        {.name = "waits_for_another_who_writes_and_reads",
         .given = {.mode = "write", .fields = {{b_writing, 2}, {b, 1}}, .holds = {{b}}},
         .call = acquire_read(a),
         .expect = {.reply = is_busy_with(std::string{b}),
                    .after = {.mode = "write", .fields = {{b_writing, 2}, {b, 1}}, .holds = {{b}}}}},
    }),
    rw::name_of);

INSTANTIATE_TEST_SUITE_P(
    release, rw_read_script,
    testing::ValuesIn(std::vector<rw::row>{
        {.name = "is_the_last_one_out",
         .given = {.mode = "read", .fields = {{a, 1}}, .holds = {{a}}},
         .call = release_read(a),
         .expect = {.reply = is(1), .messages = {wake_one_message()}},
         .again = outcome{.reply = is(0), .messages = {wake_one_message()}}},
        {.name = "leaves_the_others_the_longest_of_their_holds",
         .given = {.mode = "read",
                   .fields = {{a, 1}, {b, 3}, {c, 1}},
                   .holds = {{a}, {b, 1, 5'000}, {b, 2, 20'000}, {b, 3, 10'000}, {c, 1, 15'000}}},
         .call = release_read(a),
         .expect = {.reply = is(1),
                    .after = {.mode = "read",
                              .fields = {{b, 3}, {c, 1}},
                              .ttl = 20'000,
                              .holds = {{b, 1, 5'000}, {b, 2, 20'000}, {b, 3, 10'000}, {c, 1, 15'000}}}},
         .again =
             outcome{.reply = is(-1),
                     .after = {.mode = "read",
                               .fields = {{b, 3}, {c, 1}},
                               .ttl = 20'000,
                               .holds = {{b, 1, 5'000}, {b, 2, 20'000}, {b, 3, 10'000}, {c, 1, 15'000}}}}},
        {.name = "raises_the_time_that_somebody_cut_below_that_of_a_hold",
         .given = {.mode = "read", .fields = {{a, 1}, {b, 1}}, .ttl = 5'000, .holds = {{a}, {b, 1, 60'000}}},
         .call = release_read(a),
         .expect = {.reply = is(1),
                    .after = {.mode = "read", .fields = {{b, 1}}, .ttl = 60'000, .holds = {{b, 1, 60'000}}}},
         .again =
             outcome{
                 .reply = is(-1),
                 .after = {.mode = "read", .fields = {{b, 1}}, .ttl = 60'000, .holds = {{b, 1, 60'000}}}}},
        {.name = "ends_the_lock_when_the_holds_of_all_others_are_over",
         .given = {.mode = "read", .fields = {{a, 1}, {b, 2}}, .holds = {{a}}},
         .call = release_read(a),
         .expect = {.reply = is(1), .messages = {wake_one_message()}},
         .again = outcome{.reply = is(0), .messages = {wake_one_message()}}},
        {.name = "leaves_others_alone_and_takes_its_left_over_hold_away",
         .given = {.mode = "read", .fields = {{b, 1}}, .holds = {{b}, {a}}},
         .call = release_read(a),
         .expect = {.reply = is(-1), .after = {.mode = "read", .fields = {{b, 1}}, .holds = {{b}}}}},
        {.name = "leaves_one_who_writes_alone",
         .given = {.mode = "write", .fields = {{b_writing, 1}}},
         .call = release_read(a),
         .expect = {.reply = is(-1), .after = {.mode = "write", .fields = {{b_writing, 1}}}}},
        {.name = "does_not_end_its_own_writing",
         .given = {.mode = "write", .fields = {{a_writing, 1}, {a, 1}}, .ttl = 60'000},
         .call = release_read(a),
         .expect = {.reply = is(1), .after = {.mode = "write", .fields = {{a_writing, 1}}, .ttl = 60'000}},
         .again = outcome{.reply = is(-1),
                          .after = {.mode = "write", .fields = {{a_writing, 1}}, .ttl = 60'000}}},
        {.name = "tells_nobody_who_polls",
         .given = {.mode = "read", .fields = {{a, 1}}, .holds = {{a}}},
         .call = quiet(holdfast::recipes::redisson::reader.release, a),
         .expect = {.reply = is(1)},
         .again = outcome{.reply = is(0)}},
    }),
    rw::name_of);

INSTANTIATE_TEST_SUITE_P(
    renew, rw_read_script,
    testing::ValuesIn(std::vector<rw::row>{
        {.name = "gives_the_hold_and_the_lock_a_full_time",
         .given = {.mode = "read", .fields = {{a, 1}}, .ttl = 5'000, .holds = {{a, 1, 5'000}}},
         .call = renew_read({a}),
         .expect = {.reply = is_list({}), .after = {.mode = "read", .fields = {{a, 1}}, .holds = {{a}}}}},
        // Redisson's own renewal would cut the lock to the ttl that it renews with.
        {.name = "does_not_shorten_the_time_of_another",
         .given = {.mode = "read",
                   .fields = {{a, 1}, {b, 1}},
                   .ttl = 600'000,
                   .holds = {{a, 1, 5'000}, {b, 1, 600'000}}},
         .call = renew_read({a}),
         .expect = {.reply = is_list({}),
                    .after = {.mode = "read",
                              .fields = {{a, 1}, {b, 1}},
                              .ttl = 600'000,
                              .holds = {{a}, {b, 1, 600'000}}}}},
        {.name = "does_not_shorten_its_own",
         .given = {.mode = "read", .fields = {{a, 1}}, .ttl = 60'000, .holds = {{a, 1, 60'000}}},
         .call = renew_read({a}),
         .expect = {.reply = is_list({}),
                    .after = {.mode = "read", .fields = {{a, 1}}, .ttl = 60'000, .holds = {{a, 1, 60'000}}}}},
        {.name = "mends_what_another_cut_short",
         .given = {.mode = "read", .fields = {{a, 1}}, .ttl = 1'500, .holds = {{a}}},
         .call = renew_read({a}),
         .expect = {.reply = was_cut_to(1'500),
                    .after = {.mode = "read", .fields = {{a, 1}}, .holds = {{a}}}},
         .again = outcome{.reply = is_list({}),
                          .after = {.mode = "read", .fields = {{a, 1}}, .holds = {{a}}}}},
        {.name = "finds_the_lock_gone", .call = renew_read({a, b}), .expect = {.reply = is_list({1, 2})}},
        {.name = "finds_its_hold_over_and_goes_where_others_keep_the_lock",
         .given = {.mode = "read", .fields = {{a, 1}, {b, 1}}, .ttl = 5'000, .holds = {{b, 1, 5'000}}},
         .call = renew_read({a, b}),
         .expect = {.reply = is_list({1}), .after = {.mode = "read", .fields = {{b, 1}}, .holds = {{b}}}},
         .again = outcome{.reply = is_list({-1}),
                          .after = {.mode = "read", .fields = {{b, 1}}, .holds = {{b}}}}},
        {.name = "finds_its_hold_over_and_leaves_the_lock_to_its_time",
         .given = {.mode = "read", .fields = {{a, 1}}},
         .call = renew_read({a}),
         .expect = {.reply = is_list({1}), .after = {.mode = "read", .fields = {{a, 1}}}}},
        {.name = "finds_that_others_have_it",
         .given = {.mode = "write", .fields = {{b_writing, 1}}, .holds = {{a, 1, 5'000}}},
         .call = renew_read({a}),
         .expect = {.reply = is_list({-1}),
                    .after = {.mode = "write", .fields = {{b_writing, 1}}, .holds = {{a, 1, 5'000}}}}},
    }),
    rw::name_of);

TEST(rw_read_script_alone, names_one_of_very_many_readers_to_one_who_wants_to_write) {
  table lock;
  std::vector<words> many{{"HSET", "rw", "mode", "read"}, {"PEXPIRE", "rw", "30000"}};
  for (int i = 0; i < 2'000; ++i) many.push_back({"HSET", "rw", "u:" + std::to_string(i), "1"});
  lock.raw().pipeline(many);
  EXPECT_THAT(lock.raw().command(eval(acquire_write(a))), is_busy_with(testing::StartsWith("u:")));
}

TEST(rw_read_script_alone, renews_a_full_batch) {
  table lock;
  std::vector<std::string> owners;
  std::vector<words> setting{{"HSET", "rw", "mode", "read"}, {"PEXPIRE", "rw", "5000"}};
  for (int i = 0; i < 256; ++i) {
    owners.push_back("u:" + std::to_string(i));
    setting.push_back({"HSET", "rw", owners.back(), "1"});
    setting.push_back({"SET", names::reader_timeout("rw", owners.back()), "1", "PX", "5000"});
  }
  lock.raw().pipeline(setting);
  EXPECT_THAT(lock.raw().command(eval(renew_read({owners.begin(), owners.end()}))), is_list({}));
  for (auto const& owner : owners) EXPECT_GT(lock.raw().pttl(names::reader_timeout("rw", owner)), 20'000);
}

}  // namespace holdfast::contract::rw::rw_read_test
