#include "contract/rows_of_both_orders.hpp"

#include "script/names.hpp"

namespace holdfast::contract {
namespace {

using testing::AllOf;
using testing::Gt;
using testing::Le;

auto const nearly_full = AllOf(Gt(10'000), Le(20'000));

}  // namespace

std::vector<row> acquire_rows_of_both_orders(acquire_call acquire) {
  auto const to_try = acquire(try_request(caller), lock_name);
  auto const to_join = acquire(join_request(caller), lock_name);
  return {
      {.name = "takes_a_free_lock",
       .given = {},
       .call = to_join,
       .expect = {.reply = is_list({last_token + 1, 1}), .lock = caller, .counter = last_token + 1},
       .again = expect{.reply = is_list({last_token + 2, 1}), .lock = caller}},
      {.name = "takes_a_free_lock_that_it_only_asks_for",
       .given = {},
       .call = to_try,
       .expect = {.reply = is_list({last_token + 1, 1}), .lock = caller, .counter = last_token + 1},
       .again = expect{.reply = is_list({last_token + 2, 1}), .lock = caller}},
      {.name = "gives_its_own_lock_a_full_ttl_and_a_new_token_and_tells_nobody",
       .given = {.lock = caller, .ttl = 2'000, .queue = {{caller}, {anna}}, .listening = {anna}},
       .call = to_join,
       .expect = {.reply = is_list({last_token + 1, 1}),
                  .lock = caller,
                  .counter = last_token + 1,
                  .queue = {anna}}},
      {.name = "changes_nothing_when_it_only_asks_for_a_busy_lock",
       .given = {.lock = rival, .queue = {{anna}}, .listening = {anna}},
       .call = to_try,
       .expect =
           {.reply = is_busy(nearly_full, -1, 0, rival), .lock = rival, .ttl = 20'000, .queue = {anna}}},
      {.name = "joins_behind_all_others",
       .given = {.lock = rival, .queue = {{ben, 20}, {anna, 10}}},
       .call = to_join,
       .expect = {.reply = is_busy(nearly_full, 2, Gt(0), rival),
                  .lock = rival,
                  .ttl = 20'000,
                  .queue = {ben, anna, caller}}},
      {.name = "joins_behind_others_whose_tickets_lie_in_the_future",
       .given = {.lock = rival, .queue = {{anna, -60'000}, {ben, -70'000}}},
       .call = to_join,
       .expect = {.reply = is_busy(nearly_full, 2, Gt(0), rival),
                  .lock = rival,
                  .ttl = 20'000,
                  .queue = {anna, ben, caller}}},
      {.name = "keeps_its_place_though_it_comes_without_its_ticket",
       .given = {.lock = rival, .queue = {{caller, 30}, {anna, 10}}},
       .call = to_join,
       .expect = {.reply = is_busy(nearly_full, 0, Gt(0), rival),
                  .lock = rival,
                  .ttl = 20'000,
                  .queue = {caller, anna}}},
      {.name = "gets_its_place_back_with_its_ticket",
       .given = {.lock = rival, .queue = {{anna, 10}}},
       .call = acquire(join_request(caller, "1000"), lock_name),
       .expect = {.reply = is_busy(nearly_full, 0, 1'000, rival),
                  .lock = rival,
                  .ttl = 20'000,
                  .queue = {caller, anna}}},
      {.name = "is_refused_by_a_hash",
       .given = {.setup = {{"HSET", "orders:42", "field", "1"}}},
       .call = to_join,
       .expect = {.reply = is_error("WRONGTYPE hash")},
       .again = expect{.reply = is_error("WRONGTYPE hash")}},
  };
}

std::vector<row> pass_rows_of_both_orders(pass_call pass) {
  auto const to_sibling = pass(caller, sibling);
  return {
      {.name = "gives_the_lock_to_the_next_when_nobody_else_waits",
       .given = {.lock = caller},
       .call = to_sibling,
       .expect = {.reply = is_list({1, last_token + 1, 1}), .lock = sibling, .counter = last_token + 1},
       .again = expect{.reply = is_list({1, last_token + 2, 1}), .lock = sibling}},
      {.name = "does_nothing_for_the_next_when_the_lock_is_gone",
       .given = {.queue = {{anna}}, .listening = {anna}},
       .call = to_sibling,
       .expect = {.reply = is_list({0}), .queue = {anna}}},
      {.name = "does_nothing_for_the_next_when_the_lock_is_foreign",
       .given = {.lock = rival, .queue = {{anna}}, .listening = {anna}},
       .call = to_sibling,
       .expect = {.reply = is_list({-1}), .lock = rival, .ttl = 20'000, .queue = {anna}}},
      {.name = "leaves_a_key_of_another_type_alone",
       .given = {.setup = {{"SADD", "orders:42", "1"}}},
       .call = to_sibling,
       .expect = {.reply = is_list({-1})}},
      {.name = "finds_that_the_next_holds_already_and_gives_it_a_full_ttl",
       .given = {.lock = sibling, .ttl = 2'000, .queue = {{anna}}, .listening = {anna}},
       .call = to_sibling,
       .expect = {.reply = is_list({1, last_token + 1, 1}),
                  .lock = sibling,
                  .counter = last_token + 1,
                  .queue = {anna}}},
  };
}

void expect_refused_without_a_change(acquire_call acquire, words const& spoil, std::string const& error) {
  for (auto const holder : {std::string_view{}, caller, rival}) {
    for (auto const& request :
         {try_request(caller, 65), join_request(caller), join_request(caller, "1000")}) {
      auto raw = empty_server().raw();
      prepare(raw, {.lock = holder, .counter = {}, .setup = {spoil}});
      auto const before = raw.keys();
      EXPECT_THAT(raw.command(eval(acquire(request, lock_name))), is_error(error)) << spoil[0] << holder;
      EXPECT_THAT(raw.keys(), testing::UnorderedElementsAreArray(before));
      EXPECT_EQ(raw.get(std::string{lock_name}).value_or(""), holder);
      if (!holder.empty()) {
        EXPECT_THAT(raw.pttl(std::string{lock_name}), nearly_full);
      }
    }
  }
}

void expect_passed_without_publishing(pass_call pass, waiter first_waiter) {
  auto raw = empty_server().raw();
  prepare(raw, {.lock = caller, .queue = {first_waiter}});
  raw.command({"ACL", "SETUSER", "mute", "on", "nopass", "~*", "resetchannels", "+@all"});
  raw.command({"AUTH", "mute", "any"});
  EXPECT_THAT(raw.command(eval(pass(caller, sibling))), is_list({1, last_token + 2, 1}));
  EXPECT_EQ(raw.get(std::string{lock_name}), sibling);
  EXPECT_EQ(raw.command({"ZCARD", names::queue(lock_name)}).integer, 1);
}

}  // namespace holdfast::contract
