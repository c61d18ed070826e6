#include "contract/contract.hpp"
#include "script/names.hpp"

namespace holdfast::contract::release_test {

namespace names = holdfast::names;

constexpr std::int64_t starved = 15'000;  // milliseconds in the queue, far beyond the limit of 10,000

class release_script : public testing::TestWithParam<row> {};
TEST_P(release_script, keeps_its_contract) { check(GetParam()); }

INSTANTIATE_TEST_SUITE_P(
    contract, release_script,
    testing::ValuesIn(std::vector<row>{
        {.name = "deletes_its_lock_when_nobody_waits",
         .given = {.lock = caller},
         .call = release(caller),
         .expect = {.reply = is(1)},
         .again = expect{.reply = is(0)}},
        {.name = "finds_the_lock_gone",
         .given = {.queue = {{anna}}, .listening = {anna}},
         .call = release(caller),
         .expect = {.reply = is(0), .queue = {anna}}},
        {.name = "leaves_a_foreign_lock_alone",
         .given = {.lock = rival, .queue = {{anna}}, .listening = {anna}},
         .call = release(caller),
         .expect = {.reply = is(-1), .lock = rival, .ttl = 20'000, .queue = {anna}}},
        {.name = "leaves_the_lock_of_a_sibling_alone",
         .given = {.lock = sibling},
         .call = release(caller),
         .expect = {.reply = is(-1), .lock = sibling, .ttl = 20'000}},
        {.name = "leaves_a_key_of_another_type_alone",
         .given = {.setup = {{"RPUSH", "orders:42", "1"}}},
         .call = release(caller),
         .expect = {.reply = is(-1)},
         .again = expect{.reply = is(-1)}},
        {.name = "tells_the_first_waiter_and_takes_it_from_the_queue",
         .given = {.lock = caller, .queue = {{anna, 2}, {ben, 1}}, .listening = {anna, ben}},
         .call = release(caller),
         .expect = {.reply = is(1), .queue = {ben}, .messages = {woken(anna)}},
         .again = expect{.reply = is(0), .queue = {ben}}},
        {.name = "goes_by_tickets_not_by_names",
         .given = {.lock = caller, .queue = {{anna, 1}, {ben, 2}}, .listening = {anna, ben}},
         .call = release(caller),
         .expect = {.reply = is(1), .queue = {anna}, .messages = {woken(ben)}}},
        {.name = "skips_a_waiter_whose_process_is_gone",
         .given = {.lock = caller, .queue = {{anna, 2}, {ben, 1}}, .listening = {ben}},
         .call = release(caller),
         .expect = {.reply = is(1), .messages = {woken(ben)}}},
        {.name = "clears_a_queue_of_which_all_are_gone",
         .given = {.lock = caller, .queue = {{anna, 2}, {ben, 1}}},
         .call = release(caller),
         .expect = {.reply = is(1)}},
        {.name = "skips_an_entry_that_is_no_owner",
         .given = {.lock = caller, .queue = {{"x", 2}, {ben, 1}}, .listening = {ben}},
         .call = release(caller),
         .expect = {.reply = is(1), .messages = {woken(ben)}}},
        {.name = "grants_the_lock_to_a_starved_waiter_with_its_token_for_two_seconds",
         .given = {.lock = caller, .queue = {{anna, starved}, {ben, 1}}, .listening = {anna, ben}},
         .call = release(caller),
         .expect = {.reply = is(1),
                    .lock = anna,
                    .ttl = 2'000,
                    .counter = last_token + 1,
                    .queue = {ben},
                    .messages = {granted(anna, last_token + 1, 1)}},
         .again = expect{.reply = is(-1), .lock = anna, .ttl = 2'000, .queue = {ben}}},
        {.name = "grants_to_the_first_starved_waiter_that_lives",
         .given = {.lock = caller, .queue = {{anna, 2 * starved}, {ben, starved}}, .listening = {ben}},
         .call = release(caller),
         .expect = {.reply = is(1),
                    .lock = ben,
                    .ttl = 2'000,
                    .counter = last_token + 2,
                    .messages = {granted(ben, last_token + 2, 1)}}},
        {.name = "wakes_one_that_waits_short_behind_a_starved_one_that_is_gone",
         .given = {.lock = caller, .queue = {{anna, starved}, {ben, 1}}, .listening = {ben}},
         .call = release(caller),
         .expect = {.reply = is(1), .counter = last_token + 1, .messages = {woken(ben)}}},
    }),
    name_of);

call fast_release(std::string_view owner) {
  return recipes::plain::exclusive.fast_release({.name = lock_name, .owner = owner});
}

class fast_release_script : public testing::TestWithParam<row> {};
TEST_P(fast_release_script, keeps_its_contract) { check(GetParam()); }

INSTANTIATE_TEST_SUITE_P(contract, fast_release_script,
                         testing::ValuesIn(std::vector<row>{
                             {.name = "deletes_its_lock_when_nobody_waits",
                              .given = {.lock = caller},
                              .call = fast_release(caller),
                              .expect = {.reply = is(1)},
                              .again = expect{.reply = is(0)}},
                             {.name = "does_nothing_when_somebody_waits",
                              .given = {.lock = caller, .queue = {{anna, starved}}, .listening = {anna}},
                              .call = fast_release(caller),
                              .expect = {.reply = is(2), .lock = caller, .ttl = 20'000, .queue = {anna}}},
                             {.name = "finds_the_lock_gone",
                              .given = {.queue = {{anna}}, .listening = {anna}},
                              .call = fast_release(caller),
                              .expect = {.reply = is(0), .queue = {anna}}},
                             {.name = "leaves_a_foreign_lock_alone",
                              .given = {.lock = rival},
                              .call = fast_release(caller),
                              .expect = {.reply = is(-1), .lock = rival, .ttl = 20'000}},
                             {.name = "leaves_a_key_of_another_type_alone",
                              .given = {.setup = {{"RPUSH", "orders:42", "1"}}},
                              .call = fast_release(caller),
                              .expect = {.reply = is(-1)},
                              .again = expect{.reply = is(-1)}},
                             {.name = "leaves_a_spoilt_queue_to_the_full_release",
                              .given = {.lock = caller, .setup = {{"SET", names::queue(lock_name), "x"}}},
                              .call = fast_release(caller),
                              .expect = {.reply = is(2), .lock = caller, .ttl = 20'000}},
                         }),
                         name_of);

TEST(release_script_alone, tells_in_full_what_a_lock_with_blanks_is_called) {
  auto& server = empty_server();
  auto raw = server.raw();
  std::string const name = "my lock\r\n of today";
  subscription inboxes{server, {anna}, name, "SUBSCRIBE"};
  raw.command(eval(acquire(try_request(caller), name)));
  raw.command(eval(acquire(join_request(anna), name)));
  raw.command(eval(release(caller, name)));
  EXPECT_THAT(inboxes.take(), testing::ElementsAre(woken(anna, name)));
}

TEST(release_script_alone, frees_the_lock_and_leaves_the_waiters_queued_without_the_right_to_publish) {
  for (auto const waited : {std::int64_t{1}, starved}) {
    auto raw = empty_server().raw();
    prepare(raw, {.lock = caller, .queue = {{anna, waited}}, .listening = {anna}});
    raw.command({"ACL", "SETUSER", "mute", "on", "nopass", "~*", "resetchannels", "+@all"});
    raw.command({"AUTH", "mute", "any"});
    EXPECT_THAT(raw.command(eval(release(caller))), is(1));
    EXPECT_FALSE(raw.exists(std::string{lock_name}));
    EXPECT_EQ(raw.command({"ZCARD", names::queue(lock_name)}).integer, 1);
  }
}

TEST(release_unwanted_script_alone, deletes_its_own_that_nobody_waits_for_and_says_which_are_left) {
  auto raw = empty_server().raw();
  for (auto const* const name : {"mine", "wanted", "mine, too"})
    raw.command({"SET", name, std::string{caller}});
  raw.command({"SET", "foreign", std::string{rival}});
  raw.command({"SET", "a sibling's", std::string{sibling}});
  raw.command({"LPUSH", "a list", "1"});
  raw.command({"ZADD", names::queue("wanted"), "1", std::string{anna}});
  std::vector<holdfast::engine::owned> const leases{
      {"gone", caller},   {"mine", caller},        {"wanted", caller},   {"foreign", caller},
      {"a list", caller}, {"a sibling's", caller}, {"mine, too", caller}};
  for (auto sent = 0; sent < 2; ++sent) {
    EXPECT_THAT(raw.command(eval(recipes::plain::exclusive.release_unwanted(leases))), is_list({3}));
    EXPECT_FALSE(raw.exists("mine") || raw.exists("mine, too") || raw.exists("gone"));
    EXPECT_TRUE(raw.exists("wanted") && raw.exists("foreign") && raw.exists("a list") &&
                raw.exists("a sibling's"));
    EXPECT_EQ(raw.command({"ZCARD", names::queue("wanted")}).integer, 1);
  }
}

}  // namespace holdfast::contract::release_test
