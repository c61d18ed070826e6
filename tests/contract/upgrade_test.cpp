#include "contract/upgrade.hpp"

namespace holdfast::contract::upgrade_test {

using namespace upgrading;
using testing::Gt;

TEST_P(upgrade_scripts, keep_their_contract) { check(GetParam()); }

INSTANTIATE_TEST_SUITE_P(
    release_writer, upgrade_scripts,
    testing::ValuesIn(std::vector<row>{
        {.name = "frees_the_lock_and_deletes_the_set",
         .given = {.lock = sibling, .readers = {{caller_has_it}, {sibling_waits}}},
         .call = recipes::plain::upgrader.release({lock_name, sibling}, {}),
         .expect = {.reply = is(1)},
         .again = expect{.reply = is(0)}},
        {.name = "gives_it_to_the_next_waiter",
         .given = {.lock = sibling,
                   .queue = {{rival_wants_it, 3}, {ben_reads, 2}},
                   .readers = {{caller_has_it}, {sibling_waits}},
                   .listening = {rival, ben}},
         .call = recipes::plain::upgrader.release({lock_name, sibling}, {}),
         .expect = {.reply = is(1),
                    .lock = readers,
                    .ttl = 2'000,
                    .counter = last_token + 1,
                    .messages = {let_in(rival_wants_it), let_in(ben_reads)},
                    .readers = {{rival_wants_it, 2'000}, {ben_reads, 2'000}}},
         .again = expect{.reply = is(-1),
                         .lock = readers,
                         .ttl = 2'000,
                         .readers = {{rival_wants_it, 2'000}, {ben_reads, 2'000}}}},
        {.name = "renewal_forgets_the_upgrade_lease",
         .given = {.lock = sibling, .readers = {{caller_has_it}, {sibling_waits, full_ttl}}},
         .call = recipes::plain::upgrader.renew(std::chrono::milliseconds{full_ttl},
                                                std::vector<engine::owned>{{lock_name, sibling},
                                                                           {lock_name, rival}}),
         .expect = {.reply = is_list({-2}), .lock = sibling, .readers = {{sibling_waits, full_ttl}}}},
        {.name = "of_another_changes_nothing",
         .given = {.lock = readers, .readers = {{anna_reads}}},
         .call = recipes::plain::upgrader.release({lock_name, sibling}, {}),
         .expect = {.reply = is(-1), .lock = readers, .ttl = 20'000, .readers = {{anna_reads}}}},
    }),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    upgrade, upgrade_scripts,
    testing::ValuesIn(std::vector<row>{
        {.name = "of_the_only_reader_takes_the_lock_and_a_token",
         .given = {.lock = readers, .queue = {{ben}}, .readers = {{caller_has_it}}},
         .call = write_instead(join_request(sibling)),
         .expect = {.reply = is_list({last_token + 1, 1}),
                    .lock = sibling,
                    .counter = last_token + 1,
                    .queue = {ben},
                    .readers = {{caller_has_it}, {sibling_waits, full_ttl}}},
         .again = expect{.reply = is_list({last_token + 2, 1}),
                         .lock = sibling,
                         .counter = last_token + 2,
                         .queue = {ben},
                         .readers = {{caller_has_it}, {sibling_waits, full_ttl}}}},
        {.name = "waits_at_the_head_for_the_reader_that_lasts_longest",
         .given = {.lock = readers,
                   .queue = {{ben}},
                   .readers = {{anna_reads, 9'000}, {caller_has_it, 20'000}}},
         .call = write_instead(join_request(sibling)),
         .expect = {.reply = is_busy(left_of(9'000), 0, Gt(0), anna_reads),
                    .lock = readers,
                    .ttl = 20'000,
                    .queue = {sibling_waits, ben},
                    .readers = {{anna_reads, 9'000}, {caller_has_it, 20'000}}}},
        {.name = "waits_ahead_of_those_that_go_first",
         .given = {.lock = readers,
                   .queue = {{ben, 500'000'000'000}},
                   .readers = {{caller_has_it, 9'000}, {anna_reads, 20'000}}},
         .call = write_instead(join_request(sibling)),
         .expect = {.reply = is_busy(left_of(20'000), 0, Gt(0), anna_reads),
                    .lock = readers,
                    .ttl = 20'000,
                    .queue = {sibling_waits, ben},
                    .readers = {{caller_has_it, 9'000}, {anna_reads, 20'000}}}},
        {.name = "only_asks",
         .given = {.lock = readers, .readers = {{caller_has_it}, {anna_reads}}},
         .call = write_instead(try_request(sibling)),
         .expect = {.reply = is_busy(left_of(20'000), -1, 0, anna_reads),
                    .lock = readers,
                    .ttl = 20'000,
                    .readers = {{caller_has_it}, {anna_reads}}}},
        {.name = "does_not_wait_for_those_whose_time_is_over",
         .given = {.lock = readers, .readers = {{anna_reads, -1}, {caller_has_it}}},
         .call = write_instead(try_request(sibling)),
         .expect = {.reply = is_list({last_token + 1, 1}),
                    .lock = sibling,
                    .counter = last_token + 1,
                    .readers = {{caller_has_it}, {sibling_waits, full_ttl}}},
         .again = expect{.reply = is_list({last_token + 2, 1}),
                         .lock = sibling,
                         .counter = last_token + 2,
                         .readers = {{caller_has_it}, {sibling_waits, full_ttl}}}},
        {.name = "takes_over_what_an_earlier_try_was_given",
         .given = {.lock = caller,
                   .readers = {{"11111111-1111-4111-8111-111111111111:6:u"},
                               {"11111111-1111-4111-8111-111111111111:7:w"}}},
         .call = write_instead(try_request(sibling), 6),
         .expect = {.reply = is_list({last_token + 1, 1}),
                    .lock = sibling,
                    .counter = last_token + 1,
                    .readers = {{"11111111-1111-4111-8111-111111111111:6:u"}, {sibling_waits, full_ttl}}},
         .again = expect{.reply = is_list({last_token + 2, 1}),
                         .lock = sibling,
                         .counter = last_token + 2,
                         .readers = {{"11111111-1111-4111-8111-111111111111:6:u"},
                                     {sibling_waits, full_ttl}}}},
        {.name = "does_not_take_over_from_a_later_try",
         .given = {.lock = sibling,
                   .readers = {{"11111111-1111-4111-8111-111111111111:6:u"}, {sibling_waits}}},
         .call = write_instead(try_request(caller), 6),
         .expect = {.reply = is_error("LOST"),
                    .lock = sibling,
                    .ttl = 20'000,
                    .readers = {{"11111111-1111-4111-8111-111111111111:6:u"}, {sibling_waits}}}},
        {.name = "again_does_not_bring_back_what_was_given_back_meanwhile",
         .given = {.lock = sibling, .readers = {{sibling_waits}}},
         .call = write_instead(join_request(sibling)),
         .expect = {.reply = is_list({last_token + 1, 1}),
                    .lock = sibling,
                    .counter = last_token + 1,
                    .readers = {{sibling_waits, full_ttl}}}},
        {.name = "again_gives_no_time_to_what_was_kept_for_a_while",
         .given = {.lock = sibling, .readers = {{caller_has_it, 9'000}, {sibling_waits}}},
         .call = write_instead(join_request(sibling)),
         .expect = {.reply = is_list({last_token + 1, 1}),
                    .lock = sibling,
                    .counter = last_token + 1,
                    .readers = {{caller_has_it, 9'000}, {sibling_waits, full_ttl}}}},
        {.name = "is_refused_to_who_has_no_upgrade_lease",
         .given = {.lock = readers, .readers = {{anna_reads}}},
         .call = write_instead(join_request(sibling)),
         .expect = {.reply = is_error("LOST"), .lock = readers, .ttl = 20'000, .readers = {{anna_reads}}}},
        {.name = "is_refused_when_its_time_is_over",
         .given = {.lock = readers, .readers = {{caller_has_it, -1}, {anna_reads}}},
         .call = write_instead(join_request(sibling)),
         .expect = {.reply = is_error("LOST"),
                    .lock = readers,
                    .ttl = 20'000,
                    .readers = {{caller_has_it, -1}, {anna_reads}}}},
        {.name = "is_refused_while_another_writes",
         .given = {.lock = rival, .readers = {{caller_has_it}}},
         .call = write_instead(join_request(sibling)),
         .expect = {.reply = is_error("LOST"), .lock = rival, .ttl = 20'000, .readers = {{caller_has_it}}}},
        {.name = "is_refused_to_a_late_copy",
         .given = {.lock = readers, .readers = {{caller_has_it}}, .setup = {has_given_up(sibling)}},
         .call = write_instead(join_request(sibling)),
         .expect = {.reply = is_error("LOST"), .lock = readers, .ttl = 20'000, .readers = {{caller_has_it}}}},
        {.name = "is_not_refused_for_another_client_that_gave_up",
         .given = {.lock = readers,
                   .readers = {{caller_has_it}},
                   .setup = {has_given_up("22222222-2222-4222-8222-222222222222:99")}},
         .call = write_instead(try_request(sibling)),
         .expect = {.reply = is_list({last_token + 1, 1}),
                    .lock = sibling,
                    .counter = last_token + 1,
                    .readers = {{caller_has_it}, {sibling_waits, full_ttl}}},
         .again = expect{.reply = is_list({last_token + 2, 1}),
                         .lock = sibling,
                         .counter = last_token + 2,
                         .readers = {{caller_has_it}, {sibling_waits, full_ttl}}}},
        {.name = "keeps_readers_waiting_that_come_meanwhile",
         .given = {.lock = readers,
                   .queue = {{sibling_waits}},
                   .readers = {{caller_has_it}, {anna_reads}},
                   .listening = {caller}},
         .call = read(join_request(ben)),
         .expect = {.reply = is_busy(left_of(20'000), 1, Gt(0), anna_reads),
                    .lock = readers,
                    .ttl = 20'000,
                    .queue = {sibling_waits, ben_reads},
                    .readers = {{caller_has_it}, {anna_reads}}}},
        {.name = "keeps_no_reader_waiting_when_its_lease_is_over",
         .given = {.lock = readers,
                   .queue = {{sibling_waits}},
                   .readers = {{caller_has_it, -1}, {rival_wants_it}, {anna_reads}},
                   .listening = {caller}},
         .call = read(join_request(ben)),
         .expect = {.reply = is_list({last_token + 1, 1}),
                    .lock = readers,
                    .counter = last_token + 1,
                    .readers = {{rival_wants_it}, {anna_reads}, {ben_reads, full_ttl}}}},
        {.name = "keeps_no_reader_waiting_when_its_process_is_gone",
         .given = {.lock = readers,
                   .queue = {{sibling_waits, 500}},
                   .readers = {{caller_has_it}, {anna_reads}}},
         .call = read(join_request(ben)),
         .expect = {.reply = is_list({last_token + 1, 1}),
                    .lock = readers,
                    .counter = last_token + 1,
                    .readers = {{caller_has_it}, {anna_reads}, {ben_reads, full_ttl}}}},
    }),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    stay, upgrade_scripts,
    testing::ValuesIn(std::vector<row>{
        {.name = "leaves_the_queue_and_lets_readers_in",
         .given = {.lock = readers,
                   .queue = {{sibling_waits, 3}, {ben_reads, 2}, {rival, 1}},
                   .readers = {{caller_has_it}, {anna_reads}},
                   .listening = {ben, rival}},
         .call = stay(sibling),
         .expect = {.reply = is(0),
                    .lock = readers,
                    .ttl = 20'000,
                    .counter = last_token + 1,
                    .queue = {rival},
                    .messages = {let_in(ben_reads)},
                    .readers = {{ben_reads, 2'000}, {caller_has_it}, {anna_reads}}}},
        {.name = "gives_back_what_it_was_granted_meanwhile",
         .given = {.lock = sibling,
                   .queue = {{ben_reads, 2}, {rival, 1}},
                   .readers = {{caller_has_it}, {sibling_waits}},
                   .listening = {ben, rival}},
         .call = stay(sibling),
         .expect = {.reply = is(1),
                    .lock = readers,
                    .ttl = 20'000,
                    .counter = last_token + 1,
                    .queue = {rival},
                    .messages = {let_in(ben_reads)},
                    .readers = {{ben_reads, 2'000}, {caller_has_it}}},
         .again = expect{.reply = is(0),
                         .lock = readers,
                         .ttl = 20'000,
                         .queue = {rival},
                         .readers = {{ben_reads, 2'000}, {caller_has_it}}}},
        {.name = "frees_the_lock_when_the_upgrade_lease_is_over",
         .given = {.lock = sibling, .queue = {{ben}}, .listening = {ben}},
         .call = stay(sibling),
         .expect = {.reply = is(1),
                    .lock = ben,
                    .ttl = 2'000,
                    .counter = last_token + 1,
                    .messages = {granted(ben, last_token + 1, 1)}},
         .again = expect{.reply = is(0), .lock = ben, .ttl = 2'000}},
        {.name = "frees_the_lock_when_the_upgrade_lease_was_given_back_meanwhile",
         .given = {.lock = sibling, .queue = {{ben}}, .readers = {{sibling_waits}}, .listening = {ben}},
         .call = stay(sibling),
         .expect = {.reply = is(1),
                    .lock = ben,
                    .ttl = 2'000,
                    .counter = last_token + 1,
                    .messages = {granted(ben, last_token + 1, 1)}},
         .again = expect{.reply = is(0), .lock = ben, .ttl = 2'000}},
        {.name = "does_nothing_to_a_later_try",
         .given = {.lock = sibling, .readers = {{caller_has_it}, {sibling_waits}}},
         .call = stay(caller),
         .expect =
             {.reply = is(0), .lock = sibling, .ttl = 20'000, .readers = {{caller_has_it}, {sibling_waits}}}},
        {.name = "is_what_abandon_does_too",
         .given = {.lock = sibling, .readers = {{caller_has_it}, {sibling_waits}}},
         .call = abandon(sibling),
         .expect = {.reply = is(1), .lock = readers, .ttl = 20'000, .readers = {{caller_has_it}}},
         .again = expect{.reply = is(0), .lock = readers, .ttl = 20'000, .readers = {{caller_has_it}}}},
    }),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    others, upgrade_scripts,
    testing::ValuesIn(std::vector<row>{
        {.name = "renew_gives_a_full_ttl",
         .given = {.lock = readers, .readers = {{caller_has_it}}},
         .call = go_on(caller),
         .expect = {.reply = is_list({}), .lock = readers, .readers = {{caller_has_it, full_ttl}}}},
        {.name = "renew_finds_the_writer_that_it_has_become",
         .given = {.lock = sibling, .readers = {{caller_has_it}, {sibling_waits}}},
         .call = go_on(caller),
         .expect = {.reply = is_list({}),
                    .lock = sibling,
                    .readers = {{sibling_waits, 20'000}, {caller_has_it, full_ttl}}}},
        {.name = "renew_tells_of_another_writer_of_the_same_client",
         .given = {.lock = sibling, .readers = {{caller_has_it}}},
         .call = go_on(caller),
         .expect = {.reply = is_list({-1}), .lock = sibling, .ttl = 20'000, .readers = {{caller_has_it}}}},
        {.name = "downgrade_makes_the_writer_an_upgrade_lease",
         .given = {.lock = caller, .queue = {{rival_wants_it, 3}, {ben_reads, 2}}, .listening = {ben, rival}},
         .call = recipes::plain::downgrade_to_upgrade(
             {lock_name, caller}, std::chrono::milliseconds{full_ttl}, engine::publishing::counted),
         .expect = {.reply = is(1),
                    .lock = readers,
                    .counter = last_token + 1,
                    .queue = {rival_wants_it},
                    .messages = {let_in(ben_reads)},
                    .readers = {{ben_reads, 2'000}, {caller_has_it, full_ttl}}}},
    }),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    keep_reading, upgrade_scripts,
    testing::ValuesIn(std::vector<row>{
        {.name = "makes_the_upgrade_lease_a_reader_and_lets_the_next_one_in",
         .given = {.lock = readers,
                   .queue = {{rival_wants_it, 4}, {ben_reads, 3}, {anna, 2}},
                   .readers = {{caller_has_it, 9'000}},
                   .listening = {rival, ben, anna}},
         .call = keep_reading(caller),
         .expect = {.reply = is(1),
                    .lock = readers,
                    .counter = last_token + 1,
                    .queue = {anna},
                    .messages = {let_in(rival_wants_it), let_in(ben_reads)},
                    .readers = {{rival_wants_it, 2'000}, {ben_reads, 2'000}, {caller_reads, full_ttl}}}},
        {.name = "lets_nobody_in_past_a_writer_that_waits",
         .given = {.lock = readers,
                   .queue = {{anna, 3}, {rival_wants_it, 2}},
                   .readers = {{caller_has_it, 9'000}, {ben_reads, 40'000}},
                   .listening = {rival, anna}},
         .call = keep_reading(caller),
         .expect = {.reply = is(1),
                    .lock = readers,
                    .ttl = 40'000,
                    .queue = {anna, rival_wants_it},
                    .readers = {{caller_reads, full_ttl}, {ben_reads, 40'000}}}},
        {.name = "gives_a_reader_that_it_has_become_a_full_ttl",
         .given = {.lock = readers, .readers = {{caller_reads, 9'000}}},
         .call = keep_reading(caller),
         .expect = {.reply = is(1), .lock = readers, .readers = {{caller_reads, full_ttl}}}},
        {.name = "brings_nothing_back_whose_time_is_over",
         .given = {.lock = readers, .readers = {{caller_has_it, -1}, {anna_reads}}},
         .call = keep_reading(caller),
         .expect = {.reply = is(0),
                    .lock = readers,
                    .ttl = 20'000,
                    .readers = {{caller_has_it, -1}, {anna_reads}}}},
        {.name = "brings_nothing_back_that_was_given_back",
         .given = {.lock = readers, .readers = {{anna_reads}}},
         .call = keep_reading(caller),
         .expect = {.reply = is(0), .lock = readers, .ttl = 20'000, .readers = {{anna_reads}}}},
        {.name = "of_a_free_lock_changes_nothing",
         .given = {.readers = {{caller_has_it}}},
         .call = keep_reading(caller),
         .expect = {.reply = is(0), .readers = {{caller_has_it}}}},
        {.name = "tells_of_a_writer",
         .given = {.lock = rival, .readers = {{caller_has_it}}},
         .call = keep_reading(caller),
         .expect = {.reply = is(-1), .lock = rival, .ttl = 20'000, .readers = {{caller_has_it}}}},
        {.name = "takes_the_lock_back_from_a_try_that_was_given_up",
         .given = {.lock = sibling,
                   .queue = {{rival_wants_it, 2}},
                   .readers = {{caller_has_it}, {sibling_waits}},
                   .listening = {rival}},
         .call = keep_reading(caller),
         .expect = {.reply = is(1),
                    .lock = readers,
                    .counter = last_token + 1,
                    .messages = {let_in(rival_wants_it)},
                    .readers = {{rival_wants_it, 2'000}, {caller_reads, full_ttl}}}},
    }),
    name_of);

/// A late copy of an earlier end must not let a copy of a later try in.
TEST(upgrade_scripts_of_one_client, remember_the_latest_try_that_was_given_up) {
  auto& server = empty_server();
  auto raw = server.raw();
  constexpr std::string_view later = "11111111-1111-4111-8111-111111111111:9";
  for (auto const& owner : {sibling, later, sibling}) EXPECT_THAT(ask(raw, stay(owner)), is(0));
  EXPECT_EQ(raw.get(names::gave_up(lock_name)), later);
}

TEST(upgrade_scripts_of_one_client, free_the_lock_when_an_upgrade_lease_was_kept_until_now) {
  auto& server = empty_server();
  auto raw = server.raw();
  prepare(raw, {.lock = sibling, .readers = {{caller_has_it, -1}, {sibling_waits}}});
  EXPECT_THAT(ask(raw, stay(sibling)), is(1));
  EXPECT_FALSE(raw.exists(std::string{lock_name}));
}

TEST(upgrade_scripts_at_maxmemory, let_go_of_a_try) {
  auto& server = empty_server();
  auto raw = server.raw();
  auto const no_memory = [&raw](std::string const& limit) {
    raw.command({"CONFIG", "SET", "maxmemory", limit});
  };
  prepare(raw, {.lock = readers, .queue = {{sibling_waits}}, .readers = {{caller_has_it}, {anna_reads}}});
  no_memory("1");
  EXPECT_THAT(ask(raw, stay(sibling)), is(0));
  EXPECT_FALSE(raw.exists(names::queue(lock_name))) << "readers wait behind it";
  no_memory("0");
  EXPECT_THAT(ask(raw, stop_reading(anna)), is(1));
  EXPECT_THAT(ask(raw, write_instead(try_request("11111111-1111-4111-8111-111111111111:9"))),
              is_list({last_token + 1, 1}));
  no_memory("1");
  EXPECT_THAT(ask(raw, stay("11111111-1111-4111-8111-111111111111:9")), is(1));
  EXPECT_EQ(raw.command({"GET", std::string{lock_name}}).text, readers);
  EXPECT_THAT(ask(raw, give_it_back(caller)), is(1));
  EXPECT_FALSE(raw.exists(std::string{lock_name}));
  no_memory("0");
}

TEST(upgrade_scripts_alone, a_writer_that_leaves_frees_the_lock_when_the_time_of_its_upgrade_lease_is_over) {
  auto& server = empty_server();
  auto raw = server.raw();
  prepare(raw, {.lock = sibling, .queue = {{ben}}, .readers = {{caller_has_it, -1}, {sibling_waits}}});
  subscription inboxes{server, {ben}};
  EXPECT_THAT(raw.command(eval(abandon(sibling))), is(1));
  EXPECT_FALSE(raw.exists(std::string{lock_name}));
  EXPECT_THAT(inboxes.take(), testing::ElementsAre(woken(ben)));
}

TEST(upgrade_scripts_alone, renew_keeps_the_mark_of_the_writer_as_long_as_its_lock) {
  auto raw = empty_server().raw();
  prepare(raw, {.lock = sibling, .readers = {{sibling_waits}}});
  std::vector<engine::owned> const leases{{lock_name, sibling}};
  auto const renew = recipes::plain::upgrader.renew(std::chrono::milliseconds{full_ttl}, leases);
  EXPECT_THAT(raw.command(eval(renew)), is_list({}));
  EXPECT_THAT(raw.pttl(names::readers(lock_name)), left_of(full_ttl));
}

}  // namespace holdfast::contract::upgrade_test
