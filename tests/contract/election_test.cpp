#include <gtest/gtest.h>

#include "contract/contract.hpp"
#include "contract/rows_of_both_orders.hpp"
#include "script/names.hpp"
#include "wire/plain/election.hpp"

namespace holdfast::contract::election_test {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::Gt;
using testing::IsEmpty;
using testing::Le;

constexpr std::string_view leader_key = "{orders:42}:holdfast_leader";
constexpr auto publish_counted = engine::publishing::counted;
constexpr std::int64_t term = last_token;

call publish(std::string_view owner, std::string_view value = "10.0.0.7:80", std::int64_t of_term = term) {
  return recipes::plain::publish({.name = lock_name, .owner = owner}, of_term, value,
                                 std::chrono::milliseconds{full_ttl}, publish_counted);
}
call resign(std::string_view owner) {
  return recipes::plain::election.release({.name = lock_name, .owner = owner}, {});
}
call pass_on(std::string_view owner, std::string_view next,
             std::chrono::microseconds next_waited = std::chrono::milliseconds{1}) {
  return recipes::plain::election.pass(
      {.name = lock_name, .owner = owner}, {},
      {.owner = next, .ttl = std::chrono::milliseconds{full_ttl}, .join = true, .waited = next_waited});
}
call lead_on(std::vector<engine::owned> const& leases) {
  return recipes::plain::election.renew(std::chrono::milliseconds{full_ttl}, leases);
}
call name_next(std::string_view owner, std::string_view candidate) {
  return recipes::plain::nominate({.name = lock_name, .owner = owner}, candidate, publish_counted);
}
call read() { return recipes::plain::read_leader(lock_name); }

/// What a leader has said.
std::vector<words> said_by(std::string_view owner, std::string_view next = {}) {
  words command{"HSET", std::string{leader_key}, "owner", std::string{owner}, "term", "7", "value", "old"};
  if (!next.empty()) command.insert(command.end(), {"next", std::string{next}});
  return {command, {"PEXPIRE", std::string{leader_key}, "20000"}};
}

testing::Matcher<raw_reply const&> is_without_a_value() {
  return is_array({is_array({is(1), is_text("value")})});
}

auto const nearly_2_s = testing::AllOf(Gt(1'000), Le(2'000));

class election_scripts : public testing::TestWithParam<row> {};
TEST_P(election_scripts, keep_their_contract) { check(GetParam()); }

INSTANTIATE_TEST_SUITE_P(pass_of_both_orders, election_scripts,
                         testing::ValuesIn(pass_rows_of_both_orders([](std::string_view owner,
                                                                       std::string_view next) {
                           return pass_on(owner, next);
                         })),
                         name_of);

INSTANTIATE_TEST_SUITE_P(
    lock, election_scripts,
    testing::ValuesIn(std::vector<row>{
        {.name = "release_gives_it_to_the_first_that_waits",
         .given = {.lock = caller,
                   .queue = {{anna, 30}, {ben, 20}},
                   .listening = {anna, ben},
                   .setup = said_by(caller)},
         .call = resign(caller),
         .expect = {.reply = is(1),
                    .lock = anna,
                    .ttl = 2'000,
                    .counter = last_token + 1,
                    .queue = {ben},
                    .messages = {granted(anna, last_token + 1, 1)}},
         .again = expect{.reply = is(-1), .lock = anna, .ttl = 2'000, .queue = {ben}}},
        {.name = "release_gives_it_to_the_candidate_that_was_named",
         .given = {.lock = caller,
                   .queue = {{anna, 30}, {ben, 20}},
                   .listening = {anna, ben},
                   .setup = said_by(caller, ben)},
         .call = resign(caller),
         .expect = {.reply = is(1),
                    .lock = ben,
                    .ttl = 2'000,
                    .counter = last_token + 1,
                    .queue = {anna},
                    .messages = {granted(ben, last_token + 1, 1)}},
         .again = expect{.reply = is(-1), .lock = ben, .ttl = 2'000, .queue = {anna}}},
        {.name = "release_passes_over_a_candidate_that_died",
         .given = {.lock = caller,
                   .queue = {{anna, 30}, {ben, 20}},
                   .listening = {anna},
                   .setup = said_by(caller, ben)},
         .call = resign(caller),
         .expect = {.reply = is(1),
                    .lock = anna,
                    .ttl = 2'000,
                    .counter = last_token + 2,
                    .messages = {granted(anna, last_token + 2, 1)}},
         .again = expect{.reply = is(-1), .lock = anna, .ttl = 2'000}},
        {.name = "release_passes_over_a_candidate_that_left",
         .given =
             {.lock = caller, .queue = {{anna, 30}}, .listening = {anna, ben}, .setup = said_by(caller, ben)},
         .call = resign(caller),
         .expect = {.reply = is(1),
                    .lock = anna,
                    .ttl = 2'000,
                    .counter = last_token + 1,
                    .messages = {granted(anna, last_token + 1, 1)}},
         .again = expect{.reply = is(-1), .lock = anna, .ttl = 2'000}},
        {.name = "release_of_the_lock_of_another_changes_nothing",
         .given = {.lock = rival, .queue = {{anna}}, .listening = {anna}, .setup = said_by(rival, anna)},
         .call = resign(caller),
         .expect = {.reply = is(-1), .lock = rival, .ttl = 20'000, .queue = {anna}}},
        {.name = "release_of_a_lock_that_is_gone_changes_nothing",
         .given = {.queue = {{anna}}, .listening = {anna}},
         .call = resign(caller),
         .expect = {.reply = is(0), .queue = {anna}}},
        {.name = "release_frees_the_lock_whatever_stands_beside_it",
         .given = {.lock = caller, .setup = {{"SET", std::string{leader_key}, "a string"}}},
         .call = resign(caller),
         .expect = {.reply = is(1)},
         .again = expect{.reply = is(0)}},
        {.name = "pass_gives_it_to_the_candidate_that_was_named",
         .given = {.lock = caller,
                   .queue = {{anna, 30'000}, {ben, 20'000}},
                   .listening = {anna, ben},
                   .setup = said_by(caller, ben)},
         .call = pass_on(caller, sibling, 60s),
         .expect = {.reply = is_passed_on(nearly_2_s, 0, ben, last_token + 1),
                    .lock = ben,
                    .ttl = 2'000,
                    .counter = last_token + 1,
                    .queue = {sibling, anna},
                    .messages = {granted(ben, last_token + 1, 1)}},
         .again = expect{.reply = is_list({-1}), .lock = ben, .ttl = 2'000, .queue = {sibling, anna}}},
        {.name = "pass_keeps_the_order_of_arrival",
         .given = {.lock = caller, .queue = {{anna, 20'000}}, .listening = {anna}, .setup = said_by(caller)},
         .call = pass_on(caller, sibling, 60s),
         .expect = {.reply = is_list({1, last_token + 1, 1}),
                    .lock = sibling,
                    .counter = last_token + 1,
                    .queue = {anna}}},
        {.name = "renew_gives_its_owner_a_full_ttl",
         .given = {.lock = caller, .setup = said_by(caller)},
         .call = lead_on({{lock_name, caller}}),
         .expect = {.reply = is_list({}), .lock = caller}},
        {.name = "renew_tells_that_the_value_is_gone",
         .given = {.lock = caller},
         .call = lead_on({{lock_name, caller}}),
         .expect = {.reply = is_without_a_value(), .lock = caller}},
        {.name = "renew_tells_that_the_value_is_that_of_another",
         .given = {.lock = caller, .setup = said_by(rival)},
         .call = lead_on({{lock_name, caller}}),
         .expect = {.reply = is_without_a_value(), .lock = caller}},
        {.name = "renew_says_nothing_of_a_key_that_holds_something_else",
         .given = {.lock = caller, .setup = {{"SET", std::string{leader_key}, "a string"}}},
         .call = lead_on({{lock_name, caller}}),
         .expect = {.reply = is_list({}), .lock = caller}},
        {.name = "renew_tells_of_a_lock_that_is_gone",
         .given = {.setup = said_by(caller)},
         .call = lead_on({{lock_name, caller}}),
         .expect = {.reply = is_list({1})}},
        {.name = "renew_tells_of_a_lock_of_another",
         .given = {.lock = rival, .setup = said_by(caller)},
         .call = lead_on({{lock_name, caller}}),
         .expect = {.reply = is_list({-1}), .lock = rival, .ttl = 20'000}},
        {.name = "publish_leaves_the_lock_as_it_is",
         .given = {.lock = caller, .queue = {{anna}}, .listening = {anna}},
         .call = publish(caller),
         .expect = {.reply = is(1), .lock = caller, .ttl = 20'000, .queue = {anna}}},
        {.name = "publish_of_who_does_not_lead_is_refused",
         .given = {.lock = rival},
         .call = publish(caller),
         .expect = {.reply = is(-1), .lock = rival, .ttl = 20'000}},
        {.name = "publish_of_whose_lock_is_gone_is_refused",
         .call = publish(caller),
         .expect = {.reply = is(0)}},
        {.name = "publish_tells_what_stands_beside_the_lock",
         .given = {.lock = caller, .setup = {{"SET", std::string{leader_key}, "a string"}}},
         .call = publish(caller),
         .expect = {.reply = is_error("WRONGTYPE the value of the leader is a string"),
                    .lock = caller,
                    .ttl = 20'000}},
        {.name = "nominate_leaves_the_queue_as_it_is",
         .given = {.lock = caller,
                   .queue = {{anna, 30}, {ben, 20}},
                   .listening = {anna, ben},
                   .setup = said_by(caller)},
         .call = name_next(caller, ben),
         .expect = {.reply = is(1), .lock = caller, .ttl = 20'000, .queue = {anna, ben}}},
        {.name = "nominate_wants_a_candidate_that_waits",
         .given = {.lock = caller, .queue = {{anna}}, .listening = {anna, ben}},
         .call = name_next(caller, ben),
         .expect = {.reply = is(2), .lock = caller, .ttl = 20'000, .queue = {anna}}},
        {.name = "nominate_wants_a_candidate_that_lives",
         .given = {.lock = caller, .queue = {{anna}, {ben}}, .listening = {anna}},
         .call = name_next(caller, ben),
         .expect = {.reply = is(3), .lock = caller, .ttl = 20'000, .queue = {anna, ben}}},
        {.name = "nominate_by_who_does_not_lead_is_refused",
         .given = {.lock = rival, .queue = {{ben}}, .listening = {ben}},
         .call = name_next(caller, ben),
         .expect = {.reply = is(-1), .lock = rival, .ttl = 20'000, .queue = {ben}}},
        {.name = "nominate_by_whose_lock_is_gone_is_refused",
         .given = {.queue = {{ben}}, .listening = {ben}},
         .call = name_next(caller, ben),
         .expect = {.reply = is(0), .queue = {ben}}},
        {.name = "read_finds_nobody",
         .given = {.setup = said_by(caller)},
         .call = read(),
         .expect = {.reply = is_list({-2})}},
        {.name = "read_finds_a_holder_that_has_said_nothing",
         .given = {.lock = caller},
         .call = read(),
         .expect = {.reply = is_list({left_of(20'000)}), .lock = caller, .ttl = 20'000}},
        {.name = "read_takes_the_words_of_a_former_leader_for_nobody_s",
         .given = {.lock = caller, .setup = said_by(rival)},
         .call = read(),
         .expect = {.reply = is_list({left_of(20'000)}), .lock = caller, .ttl = 20'000}},
        {.name = "read_finds_the_leader",
         .given = {.lock = caller, .setup = said_by(caller)},
         .call = read(),
         .expect = {.reply = is_array({is_number(left_of(20'000)), is_text(caller), is_text("7"),
                                       is_text("old")}),
                    .lock = caller,
                    .ttl = 20'000}},
        {.name = "read_takes_another_kind_of_key_beside_the_lock_for_nothing",
         .given = {.lock = caller, .setup = {{"SET", std::string{leader_key}, "a string"}}},
         .call = read(),
         .expect = {.reply = is_list({left_of(20'000)}), .lock = caller, .ttl = 20'000}},
        {.name = "read_names_the_type_of_what_is_no_lock",
         .given = {.setup = {{"HSET", std::string{lock_name}, "owner", "1"}}},
         .call = read(),
         .expect = {.reply = is_error("WRONGTYPE hash")}},
        {.name = "read_names_the_kind_of_what_is_no_lock",
         .given = {.lock = "holdfast_latch 3 3 0"},
         .call = read(),
         .expect = {.reply = is_error("WRONGTYPE latch"), .lock = "holdfast_latch 3 3 0", .ttl = 20'000}},
    }),
    name_of);

/// An empty server with this leader, and what is said on the channel of its election.
class leader_value : public testing::Test {
 protected:
  leader_value() { prepare(raw_, {.lock = caller}); }
  raw_reply run(call const& script_call) { return raw_.command(eval(script_call)); }
  [[nodiscard]] std::string field(std::string const& name) {
    return raw_.command({"HGET", std::string{leader_key}, name}).text;
  }
  [[nodiscard]] std::int64_t left() { return raw_.pttl(std::string{leader_key}); }

  test::redis_server& server_ = empty_server();
  raw_redis raw_ = server_.raw();
  subscription observer_{server_, words{std::string{leader_key}}, "SUBSCRIBE"};
};

TEST_F(leader_value, stands_beside_the_lock_under_the_name_of_its_channel) {
  EXPECT_EQ(names::leader(lock_name), leader_key);
  EXPECT_THAT(run(publish(caller)), is(1));
  EXPECT_EQ(field("owner"), caller);
  EXPECT_EQ(field("term"), std::to_string(term));
  EXPECT_EQ(field("value"), "10.0.0.7:80");
  EXPECT_THAT(left(), left_of(full_ttl));
  EXPECT_THAT(observer_.take(), ElementsAre(std::string{leader_key} + " leader " + std::to_string(term)));
}

TEST_F(leader_value, may_be_any_bytes_or_none) {
  std::string const bytes{"\0\r\n\xff", 4};
  run(publish(caller, bytes));
  EXPECT_EQ(field("value"), bytes);
  run(publish(caller, ""));
  EXPECT_THAT(run(read()),
              is_array({is_number(Gt(0)), is_text(caller), is_text(std::to_string(term)), is_text("")}));
}

TEST_F(leader_value, of_who_does_not_lead_is_not_taken) {
  run(publish(caller));
  (void)observer_.take();
  EXPECT_THAT(run(publish(rival, "wrong", term + 1)), is(-1));
  EXPECT_EQ(field("value"), "10.0.0.7:80");
  EXPECT_THAT(observer_.take(), IsEmpty());
}

TEST_F(leader_value, replaces_that_of_the_former_leader_with_its_candidate) {
  for (auto const& command : said_by(rival, ben)) raw_.command(command);
  run(publish(caller));
  EXPECT_EQ(field("owner"), caller);
  EXPECT_EQ(field("next"), "");
}

TEST_F(leader_value, lives_as_long_as_the_lock_is_renewed) {
  run(publish(caller));
  raw_.command({"PEXPIRE", std::string{leader_key}, "5000"});
  run(lead_on({{lock_name, caller}}));
  EXPECT_THAT(left(), left_of(full_ttl));
  raw_.command({"PEXPIRE", std::string{leader_key}, "5000"});
  run(lead_on({{lock_name, rival}}));
  EXPECT_LE(left(), 5'000) << "not renewed by another";
}

TEST_F(leader_value, goes_with_the_leader) {
  run(publish(caller));
  (void)observer_.take();
  EXPECT_THAT(run(resign(caller)), is(1));
  EXPECT_FALSE(raw_.exists(std::string{leader_key}));
  EXPECT_THAT(observer_.take(), ElementsAre(std::string{leader_key} + " leader 0"));
  EXPECT_THAT(run(resign(caller)), is(0));
  EXPECT_THAT(observer_.take(), IsEmpty());
}

TEST_F(leader_value, stays_when_another_resigns) {
  run(publish(caller));
  (void)observer_.take();
  EXPECT_THAT(run(resign(rival)), is(-1));
  EXPECT_EQ(field("owner"), caller);
  EXPECT_THAT(observer_.take(), IsEmpty());
}

TEST_F(leader_value, is_not_what_stands_in_its_place) {
  raw_.command({"SET", std::string{leader_key}, "a string"});
  EXPECT_THAT(run(resign(caller)), is(1));
  EXPECT_EQ(raw_.get(std::string{leader_key}), "a string");
}

TEST_F(leader_value, goes_with_a_leader_whose_process_has_the_next_one) {
  run(publish(caller));
  (void)observer_.take();
  EXPECT_THAT(run(pass_on(caller, sibling)), is_list({1, last_token + 1, 1}));
  EXPECT_FALSE(raw_.exists(std::string{leader_key}));
  EXPECT_THAT(observer_.take(), ElementsAre(std::string{leader_key} + " leader 0"));
}

TEST_F(leader_value, names_a_candidate_without_a_value_for_the_life_of_the_lock) {
  prepare(raw_, {.queue = {{ben}}});
  subscription const inbox{server_, {ben}};
  EXPECT_THAT(run(name_next(caller, ben)), is(1));
  EXPECT_EQ(field("next"), ben);
  EXPECT_THAT(left(), left_of(20'000));
}

TEST_F(leader_value, is_told_over_channels_of_its_slot_and_on_both) {
  raw_redis raw = empty_cluster().raw();
  std::string const channel{leader_key};
  subscription in_slot{empty_cluster(), words{channel}};
  subscription on_all{empty_cluster(), words{channel}, "SUBSCRIBE"};
  raw.command({"SET", std::string{lock_name}, std::string{caller}});
  auto const publish_by = [&](engine::publishing mode) {
    return raw.command(
        eval(recipes::plain::publish({.name = lock_name, .owner = caller}, 7, "v", 30s, mode)));
  };
  auto const message = channel + " leader 7";
  EXPECT_THAT(publish_by(engine::publishing::sharded), is(1));
  EXPECT_THAT(in_slot.take(), ElementsAre(message));
  EXPECT_THAT(on_all.take(), IsEmpty());
  EXPECT_THAT(publish_by(engine::publishing::uncounted), is(1));
  EXPECT_THAT(in_slot.take(), ElementsAre(message));
  EXPECT_THAT(on_all.take(), ElementsAre(message));
}

}  // namespace holdfast::contract::election_test
