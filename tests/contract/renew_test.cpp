#include "contract/contract.hpp"

namespace holdfast::contract::renew_test {

using testing::AllOf;
using testing::Gt;
using testing::Le;

auto const is_full = AllOf(Gt(full_ttl - 10'000), Le(full_ttl));

class renew_script : public testing::TestWithParam<row> {};
TEST_P(renew_script, keeps_its_contract) { check(GetParam()); }

INSTANTIATE_TEST_SUITE_P(contract, renew_script,
                         testing::ValuesIn(std::vector<row>{
                             {.name = "gives_its_lock_a_full_ttl",
                              .given = {.lock = caller, .ttl = 2'000},
                              .call = renew({{lock_name, caller}}),
                              .expect = {.reply = is_list({}), .lock = caller},
                              .again = expect{.reply = is_list({}), .lock = caller}},
                             {.name = "gives_its_lock_a_ttl_that_somebody_took_away",
                              .given = {.lock = caller, .ttl = no_ttl},
                              .call = renew({{lock_name, caller}}),
                              .expect = {.reply = is_list({}), .lock = caller}},
                             {.name = "does_not_bring_back_a_lock_that_is_gone",
                              .given = {},
                              .call = renew({{lock_name, caller}}),
                              .expect = {.reply = is_list({1})}},
                             {.name = "leaves_a_foreign_lock_alone",
                              .given = {.lock = rival},
                              .call = renew({{lock_name, caller}}),
                              .expect = {.reply = is_list({-1}), .lock = rival, .ttl = 20'000}},
                             {.name = "leaves_the_queue_and_the_counter_alone",
                              .given = {.lock = caller, .queue = {{anna}}, .listening = {anna}},
                              .call = renew({{lock_name, caller}}),
                              .expect = {.reply = is_list({}), .lock = caller, .queue = {anna}}},
                             {.name = "takes_a_key_of_another_type_for_foreign",
                              .given = {.setup = {{"HSET", "orders:42", "field", "1"}}},
                              .call = renew({{lock_name, caller}}),
                              .expect = {.reply = is_list({-1})}},
                             {.name = "turns_a_grant_into_a_full_lease",
                              .given = {.lock = caller, .ttl = 1'500},
                              .call = renew({{lock_name, caller}}),
                              .expect = {.reply = is_list({}), .lock = caller}},
                         }),
                         name_of);

TEST(renew_script_alone, says_which_are_lost_and_keeps_the_others) {
  auto raw = empty_server().raw();
  raw.command({"SET", "mine", std::string{caller}, "PX", "2000"});
  raw.command({"SET", "foreign", std::string{rival}, "PX", "20000"});
  raw.command({"LPUSH", "a list", "1"});
  raw.command({"SET", "a sibling's", std::string{sibling}, "PX", "2000"});
  auto const reply = raw.command(eval(renew({{"gone", caller},
                                             {"mine", caller},
                                             {"foreign", caller},
                                             {"a list", caller},
                                             {"a sibling's", sibling}})));
  EXPECT_THAT(reply, is_list({1, -3, -4}));
  EXPECT_THAT(raw.pttl("mine"), is_full);
  EXPECT_THAT(raw.pttl("a sibling's"), is_full);
  EXPECT_THAT(raw.pttl("foreign"), AllOf(Gt(10'000), Le(20'000)));
  EXPECT_EQ(raw.pttl("a list"), no_ttl);
  EXPECT_FALSE(raw.exists("gone"));
}

TEST(renew_script_alone, renews_a_full_batch) {
  auto raw = empty_server().raw();
  std::vector<std::string> names;
  for (int i = 0; i < 256; ++i) names.push_back("lock " + std::to_string(i));
  std::vector<holdfast::engine::owned> leases;
  for (auto const& name : names) {
    raw.command({"SET", name, std::string{caller}, "PX", "5000"});
    leases.push_back({.name = name, .owner = caller});
  }
  EXPECT_THAT(raw.command(eval(renew(leases))), is_list({}));
  for (auto const& name : names) EXPECT_THAT(raw.pttl(name), is_full) << name;
}

}  // namespace holdfast::contract::renew_test
