#include "contract/shared.hpp"

namespace holdfast::contract::shared_test {

using namespace sharing;
using namespace std::chrono_literals;
using testing::Gt;

INSTANTIATE_TEST_SUITE_P(
    release, shared_scripts,
    testing::ValuesIn(std::vector<row>{
        {.name = "of_the_last_reader_frees_the_lock",
         .given = {.lock = readers, .readers = {{caller_reads}}},
         .call = stop_reading(caller),
         .expect = {.reply = is(1)},
         .again = expect{.reply = is(0)}},
        {.name = "of_one_of_several_leaves_the_time_of_the_others",
         .given = {.lock = readers, .readers = {{anna_reads, 9'000}, {caller_reads, 20'000}}},
         .call = stop_reading(caller),
         .expect = {.reply = is(1), .lock = readers, .ttl = 9'000, .readers = {{anna_reads, 9'000}}},
         .again = expect{.reply = is(0), .lock = readers, .ttl = 9'000, .readers = {{anna_reads, 9'000}}}},
        {.name = "of_the_last_reader_that_lives_does_not_wait_for_those_whose_time_is_over",
         .given = {.lock = readers, .readers = {{anna_reads, -1}, {caller_reads, 20'000}}},
         .call = stop_reading(caller),
         .expect = {.reply = is(1)},
         .again = expect{.reply = is(0)}},
        {.name = "of_the_last_reader_that_lives_gives_the_lock_to_a_writer",
         .given = {.lock = readers,
                   .queue = {{ben}},
                   .readers = {{anna_reads, -1}, {caller_reads, 20'000}},
                   .listening = {ben}},
         .call = stop_reading(caller),
         .expect = {.reply = is(1),
                    .lock = ben,
                    .ttl = 2'000,
                    .counter = last_token + 1,
                    .messages = {granted(ben, last_token + 1, 1)}},
         .again = expect{.reply = is(-1), .lock = ben, .ttl = 2'000}},
        {.name = "of_the_last_reader_gives_the_lock_to_one_writer",
         .given = {.lock = readers,
                   .queue = {{ben, 2}, {rival, 1}},
                   .readers = {{caller_reads}},
                   .listening = {ben, rival}},
         .call = stop_reading(caller),
         .expect = {.reply = is(1),
                    .lock = ben,
                    .ttl = 2'000,
                    .counter = last_token + 1,
                    .queue = {rival},
                    .messages = {granted(ben, last_token + 1, 1)}},
         .again = expect{.reply = is(-1), .lock = ben, .ttl = 2'000, .queue = {rival}}},
        {.name = "tells_a_writer_when_only_a_reader_is_left_that_will_not_last",
         .given = {.lock = readers,
                   .queue = {{ben}},
                   .readers = {{anna_reads, 900}, {caller_reads}},
                   .listening = {ben}},
         .call = stop_reading(caller),
         .expect = {.reply = is(1),
                    .lock = readers,
                    .ttl = 900,
                    .queue = {ben},
                    .messages = {woken(ben)},
                    .readers = {{anna_reads, 900}}},
         .again = expect{.reply = is(0),
                         .lock = readers,
                         .ttl = 900,
                         .queue = {ben},
                         .readers = {{anna_reads, 900}}}},
        {.name = "of_a_writer_lets_the_readers_at_the_head_in_together",
         .given = {.lock = caller,
                   .queue = {{anna_reads, 4}, {ben_reads, 3}, {rival, 2}, {caller_reads, 1}},
                   .listening = {anna, ben, rival}},
         .call = stop_writing(caller),
         .expect = {.reply = is(1),
                    .lock = readers,
                    .ttl = 2'000,
                    .counter = last_token + 1,
                    .queue = {rival, caller_reads},
                    .messages = {let_in(anna_reads), let_in(ben_reads)},
                    .readers = {{anna_reads, 2'000}, {ben_reads, 2'000}}},
         .again = expect{.reply = is(-1),
                         .lock = readers,
                         .ttl = 2'000,
                         .queue = {rival, caller_reads},
                         .readers = {{anna_reads, 2'000}, {ben_reads, 2'000}}}},
        {.name = "of_a_writer_lets_in_nobody_who_read_before_it",
         .given = {.lock = caller, .queue = {{ben_reads}}, .readers = {{anna_reads}}, .listening = {ben}},
         .call = stop_writing(caller),
         .expect = {.reply = is(1),
                    .lock = readers,
                    .ttl = 2'000,
                    .counter = last_token + 1,
                    .messages = {let_in(ben_reads)},
                    .readers = {{ben_reads, 2'000}}},
         .again = expect{.reply = is(-1), .lock = readers, .ttl = 2'000, .readers = {{ben_reads, 2'000}}}},
        {.name = "of_a_writer_passes_over_readers_that_are_gone",
         .given = {.lock = caller,
                   .queue = {{anna_reads, 3}, {ben_reads, 2}, {rival, 1}},
                   .listening = {rival}},
         .call = stop_writing(caller),
         .expect = {.reply = is(1),
                    .lock = rival,
                    .ttl = 2'000,
                    .counter = last_token + 2,
                    .messages = {granted(rival, last_token + 2, 1)}},
         .again = expect{.reply = is(-1), .lock = rival, .ttl = 2'000}},
        {.name = "of_a_writer_for_whom_only_the_dead_wait_frees_the_lock",
         .given = {.lock = caller, .queue = {{anna_reads, 3}, {ben_reads, 2}}},
         .call = stop_writing(caller),
         .expect = {.reply = is(1), .counter = last_token + 1},
         .again = expect{.reply = is(0)}},
        {.name = "of_a_writer_frees_the_lock_though_the_set_is_something_else",
         .given = {.lock = caller,
                   .queue = {{anna_reads}},
                   .listening = {anna},
                   .setup = {{"SET", "{orders:42}:holdfast_readers", "x"}}},
         .call = stop_writing(caller),
         .expect = {.reply = is(1), .queue = {anna_reads}},
         .again = expect{.reply = is(0), .queue = {anna_reads}}},
        {.name = "of_a_reader_succeeds_though_the_queue_is_something_else",
         .given = {.lock = readers,
                   .readers = {{anna_reads, 900}, {caller_reads}},
                   .setup = {{"SET", "{orders:42}:holdfast_queue", "x"}}},
         .call = stop_reading(caller),
         .expect = {.reply = is(1), .lock = readers, .ttl = 900, .readers = {{anna_reads, 900}}},
         .again = expect{.reply = is(0), .lock = readers, .ttl = 900, .readers = {{anna_reads, 900}}}},
        {.name = "of_who_does_not_read_changes_nothing",
         .given = {.lock = rival},
         .call = stop_reading(caller),
         .expect = {.reply = is(-1), .lock = rival, .ttl = 20'000}},
    }),
    name_of);

call pass_ahead_of_readers(std::string_view owner, std::string_view next) {
  return recipes::plain::writer_first.pass(
      {.name = lock_name, .owner = owner}, fair_policy,
      {.owner = next, .ttl = std::chrono::milliseconds{full_ttl}, .join = true, .waited = 1ms});
}

INSTANTIATE_TEST_SUITE_P(pass, shared_scripts,
                         testing::ValuesIn(std::vector<row>{
                             {.name = "gives_the_lock_to_a_writer_ahead_of_readers_where_writers_go_first",
                              .given = {.lock = caller, .queue = {{anna_reads, 20'000}}, .listening = {anna}},
                              .call = pass_ahead_of_readers(caller, sibling),
                              .expect = {.reply = is_list({1, last_token + 1, 1}),
                                         .lock = sibling,
                                         .counter = last_token + 1,
                                         .queue = {anna_reads}}},
                         }),
                         name_of);

INSTANTIATE_TEST_SUITE_P(
    abandon, shared_scripts,
    testing::ValuesIn(std::vector<row>{
        {.name = "leaves_the_queue",
         .given = {.lock = rival, .queue = {{anna_reads, 2}, {caller_reads, 1}}},
         .call = stop_waiting_to_read(caller),
         .expect = {.reply = is(0), .lock = rival, .ttl = 20'000, .queue = {anna_reads}}},
        {.name = "leaves_the_readers",
         .given = {.lock = readers, .queue = {{ben}}, .readers = {{caller_reads}}, .listening = {ben}},
         .call = stop_waiting_to_read(caller),
         .expect = {.reply = is(1),
                    .lock = ben,
                    .ttl = 2'000,
                    .counter = last_token + 1,
                    .messages = {granted(ben, last_token + 1, 1)}},
         .again = expect{.reply = is(0), .lock = ben, .ttl = 2'000}},
        {.name = "passes_on_a_wake_up_that_it_did_not_use",
         .given = {.queue = {{ben}}, .listening = {ben}},
         .call = stop_waiting_to_read(caller),
         .expect = {.reply = is(0),
                    .lock = ben,
                    .ttl = 2'000,
                    .counter = last_token + 1,
                    .messages = {granted(ben, last_token + 1, 1)}}},
        {.name = "of_a_writer_lets_readers_in_that_waited_behind_it",
         .given = {.lock = readers,
                   .queue = {{caller, 3}, {ben_reads, 2}, {rival, 1}},
                   .readers = {{anna_reads}},
                   .listening = {ben, rival}},
         .call = stop_waiting_to_write(caller),
         .expect = {.reply = is(0),
                    .lock = readers,
                    .ttl = 20'000,
                    .counter = last_token + 1,
                    .queue = {rival},
                    .messages = {let_in(ben_reads)},
                    .readers = {{ben_reads, 2'000}, {anna_reads, 20'000}}}},
    }),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    others, shared_scripts,
    testing::ValuesIn(std::vector<row>{
        {.name = "renew_gives_a_full_ttl",
         .given = {.lock = readers, .readers = {{anna_reads, 9'000}, {caller_reads}}},
         .call = go_on_reading({{lock_name, caller}}),
         .expect = {.reply = is_list({}),
                    .lock = readers,
                    .readers = {{anna_reads, 9'000}, {caller_reads, full_ttl}}}},
        {.name = "renew_tells_of_a_hold_that_is_over",
         .given = {.lock = readers, .readers = {{caller_reads, -1}, {anna_reads}}},
         .call = go_on_reading({{lock_name, caller}, {lock_name, anna}, {lock_name, ben}}),
         .expect = {.reply = is_list({1, 3}),
                    .lock = readers,
                    .readers = {{caller_reads, -1}, {anna_reads, full_ttl}}}},
        {.name = "renew_tells_of_a_writer",
         .given = {.lock = rival},
         .call = go_on_reading({{lock_name, caller}}),
         .expect = {.reply = is_list({-1}), .lock = rival, .ttl = 20'000}},
        {.name = "a_writer_waits_for_readers_and_hears_of_the_one_that_lasts_longest",
         .given = {.lock = readers, .readers = {{ben_reads, 9'000}, {anna_reads}}},
         .call = write(join_request(caller)),
         .expect = {.reply = is_busy(left_of(20'000), 0, Gt(0), anna_reads),
                    .lock = readers,
                    .ttl = 20'000,
                    .queue = {caller},
                    .readers = {{ben_reads, 9'000}, {anna_reads, 20'000}}}},
        {.name = "a_writer_does_not_wait_for_dead_readers_that_wait",
         .given = {.queue = {{anna_reads}}},
         .call = write(try_request(caller)),
         .expect = {.reply = is_list({last_token + 2, 1}), .lock = caller, .counter = last_token + 2},
         .again = expect{.reply = is_list({last_token + 3, 1}), .lock = caller}},
        {.name = "a_mutex_waits_for_readers_too",
         .given = {.lock = readers, .readers = {{anna_reads}}},
         .call = acquire(try_request(caller)),
         .expect = {.reply = is_busy(left_of(20'000), -1, 0, anna_reads),
                    .lock = readers,
                    .ttl = 20'000,
                    .readers = {{anna_reads, 20'000}}}},
        {.name = "downgrade_makes_the_writer_a_reader_and_lets_others_in",
         .given = {.lock = caller, .queue = {{ben_reads, 2}, {rival, 1}}, .listening = {ben, rival}},
         .call = read_on(caller),
         .expect = {.reply = is(1),
                    .lock = readers,
                    .counter = last_token + 1,
                    .queue = {rival},
                    .messages = {let_in(ben_reads)},
                    .readers = {{ben_reads, 2'000}, {caller_reads, full_ttl}}}},
        {.name = "downgrade_of_who_does_not_write_changes_nothing",
         .given = {.lock = rival},
         .call = read_on(caller),
         .expect = {.reply = is(-1), .lock = rival, .ttl = 20'000}},
    }),
    name_of);

TEST(shared_scripts_alone, believe_a_writer_that_has_asked) {
  auto raw = empty_server().raw();
  prepare(raw, {.lock = readers, .queue = {{ben, 20'000}}, .readers = {{anna_reads}}});
  auto const ticket = [&raw] {
    return raw.command({"ZSCORE", names::queue(lock_name), std::string{ben}}).text;
  };
  auto const before = ticket();
  for (auto const& shown : {before, std::string{}}) {
    raw.command(has_not_asked(ben));
    EXPECT_NE(ticket(), before);
    raw.command(eval(write(join_request(ben, shown))));
    EXPECT_THAT(std::stod(ticket()), testing::DoubleNear(std::stod(before), 1));
    EXPECT_EQ(ticket().find('.'), std::string::npos);
  }
}

TEST(shared_scripts_at_maxmemory, go_on_for_those_who_read) {
  auto& server = empty_server();
  auto raw = server.raw();
  auto const no_memory = [&raw](std::string const& limit) {
    raw.command({"CONFIG", "SET", "maxmemory", limit});
  };
  prepare(raw, {.lock = readers, .readers = {{caller_reads}, {anna_reads}}});
  no_memory("1");
  EXPECT_THAT(ask(raw, read(try_request(ben))), is_error("OOM"));
  EXPECT_THAT(ask(raw, go_on_reading({{lock_name, caller}, {lock_name, anna}})), is_list({}));
  EXPECT_GT(raw.pttl(std::string{lock_name}), 20'000);
  EXPECT_THAT(ask(raw, read_on(caller)), is(1)) << "sent again";
  EXPECT_THAT(ask(raw, stop_reading(caller)), is(1));
  EXPECT_THAT(ask(raw, stop_reading(anna)), is(1));
  EXPECT_FALSE(raw.exists(std::string{lock_name}));
  no_memory("0");
  raw.command({"SET", std::string{lock_name}, std::string{caller}, "PX", "20000"});
  no_memory("1");
  EXPECT_THAT(ask(raw, read_on(caller)), is(1));
  no_memory("0");
}

}  // namespace holdfast::contract::shared_test
