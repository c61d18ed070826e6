// A reader that has the lock for itself, without a set: its owner id is the text of the lock's key.
#include "contract/contract.hpp"
#include "script/names.hpp"
#include "scripts/deadlock.hpp"
#include "scripts/inspect.hpp"
#include "wire/plain/fair.hpp"
#include "wire/plain/shared.hpp"

namespace holdfast::contract::lone_reader_test {

using testing::Gt;

constexpr std::string_view caller_reads = "11111111-1111-4111-8111-111111111111:7:r";
constexpr std::string_view anna_reads = "aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa:12:r";
constexpr std::string_view ben_reads = "bbbbbbbb-bbbb-4bbb-8bbb-bbbbbbbbbbbb:3:r";
constexpr std::string_view readers = names::held_by_readers;
constexpr engine::owned callers{.name = lock_name, .owner = caller};

call read(engine::acquire_request request, engine::recipe const& kind = recipes::plain::reader) {
  request.ttl = std::chrono::milliseconds{full_ttl};
  return kind.acquire(lock_name, request);
}
call write(engine::acquire_request request) {
  request.ttl = std::chrono::milliseconds{full_ttl};
  return recipes::plain::fair.acquire(lock_name, request);
}
call renew(std::string_view owner) {
  std::vector<engine::owned> const leases{{.name = lock_name, .owner = owner}};
  return recipes::plain::reader.renew(std::chrono::milliseconds{full_ttl}, leases);
}

class lone_reader : public testing::TestWithParam<row> {};
TEST_P(lone_reader, keeps_its_contract) { check(GetParam()); }

INSTANTIATE_TEST_SUITE_P(
    fast_release, lone_reader,
    testing::ValuesIn(std::vector<row>{
        {.name = "frees_the_lock",
         .given = {.lock = caller_reads},
         .call = recipes::plain::reader.fast_release(callers),
         .expect = {.reply = is(1)},
         .again = expect{.reply = is(0)}},
        {.name = "does_nothing_when_somebody_waits",
         .given = {.lock = caller_reads, .queue = {{ben}}, .listening = {ben}},
         .call = recipes::plain::reader.fast_release(callers),
         .expect = {.reply = is(2), .lock = caller_reads, .ttl = 20'000, .queue = {ben}}},
        {.name = "does_nothing_when_others_read_beside_it",
         .given = {.lock = readers, .readers = {{caller_reads}}},
         .call = recipes::plain::reader.fast_release(callers),
         .expect = {.reply = is(2), .lock = readers, .ttl = 20'000, .readers = {{caller_reads, 20'000}}}},
        {.name = "finds_its_hold_gone_while_others_read",
         .given = {.lock = readers, .readers = {{ben_reads}}},
         .call = recipes::plain::reader.fast_release(callers),
         .expect = {.reply = is(0), .lock = readers, .ttl = 20'000, .readers = {{ben_reads, 20'000}}}},
        {.name = "leaves_a_writer_alone",
         .given = {.lock = rival},
         .call = recipes::plain::reader.fast_release(callers),
         .expect = {.reply = is(-1), .lock = rival, .ttl = 20'000}},
    }),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    ends, lone_reader,
    testing::ValuesIn(std::vector<row>{
        {.name = "release_frees_the_lock",
         .given = {.lock = caller_reads},
         .call = recipes::plain::reader.release(callers, {}),
         .expect = {.reply = is(1)},
         .again = expect{.reply = is(0)}},
        {.name = "release_gives_the_lock_to_a_writer",
         .given = {.lock = caller_reads, .queue = {{ben}}, .listening = {ben}},
         .call = recipes::plain::reader.release(callers, {}),
         .expect = {.reply = is(1),
                    .lock = ben,
                    .ttl = 2'000,
                    .counter = last_token + 1,
                    .messages = {granted(ben, last_token + 1, 1)}},
         .again = expect{.reply = is(-1), .lock = ben, .ttl = 2'000}},
        {.name = "release_counts_nobody_who_read_before",
         .given = {.lock = caller_reads, .queue = {{ben}}, .readers = {{anna_reads}}, .listening = {ben}},
         .call = recipes::plain::reader.release(callers, {}),
         .expect = {.reply = is(1),
                    .lock = ben,
                    .ttl = 2'000,
                    .counter = last_token + 1,
                    .messages = {granted(ben, last_token + 1, 1)}}},
        {.name = "release_frees_the_lock_though_the_set_is_something_else",
         .given = {.lock = caller_reads,
                   .queue = {{anna_reads}},
                   .listening = {anna},
                   .setup = {{"SET", "{orders:42}:holdfast_readers", "x"}}},
         .call = recipes::plain::reader.release(callers, {}),
         .expect = {.reply = is(1), .queue = {anna_reads}},
         .again = expect{.reply = is(0), .queue = {anna_reads}}},
        {.name = "release_lets_readers_in_and_is_out",
         .given = {.lock = caller_reads, .queue = {{anna_reads}}, .listening = {anna}},
         .call = recipes::plain::reader.release(callers, {}),
         .expect = {.reply = is(1),
                    .lock = readers,
                    .ttl = 2'000,
                    .counter = last_token + 1,
                    .messages = {granted(anna, last_token + 1, 1)},
                    .readers = {{anna_reads, 2'000}}},
         .again = expect{.reply = is(0), .lock = readers, .ttl = 2'000, .readers = {{anna_reads, 2'000}}}},
        {.name = "abandon_gives_the_lock_to_a_writer",
         .given = {.lock = caller_reads, .queue = {{ben}}, .listening = {ben}},
         .call = recipes::plain::reader.abandon(callers, {}),
         .expect = {.reply = is(1),
                    .lock = ben,
                    .ttl = 2'000,
                    .counter = last_token + 1,
                    .messages = {granted(ben, last_token + 1, 1)}},
         .again = expect{.reply = is(0), .lock = ben, .ttl = 2'000}},
        {.name = "renew_gives_it_a_full_ttl",
         .given = {.lock = caller_reads},
         .call = renew(caller),
         .expect = {.reply = is_list({}), .lock = caller_reads}},
        {.name = "renew_of_another_changes_nothing",
         .given = {.lock = anna_reads},
         .call = renew(caller),
         .expect = {.reply = is_list({-1}), .lock = anna_reads, .ttl = 20'000}},
    }),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    beside, lone_reader,
    testing::ValuesIn(std::vector<row>{
        {.name = "lets_another_in",
         .given = {.lock = anna_reads},
         .call = read(try_request(caller)),
         .expect = {.reply = is_list({last_token, 1}),
                    .lock = readers,
                    .readers = {{anna_reads, 20'000}, {caller_reads, full_ttl}}}},
        {.name = "lets_nobody_in_with_it_who_read_before",
         .given = {.lock = anna_reads, .readers = {{ben_reads}}},
         .call = read(try_request(caller)),
         .expect = {.reply = is_list({last_token, 1}),
                    .lock = readers,
                    .readers = {{anna_reads, 20'000}, {caller_reads, full_ttl}}}},
        {.name = "asks_again_and_is_in",
         .given = {.lock = caller_reads},
         .call = read(try_request(caller)),
         .expect = {.reply = is_list({last_token, 1}),
                    .lock = readers,
                    .readers = {{caller_reads, full_ttl}}}},
        {.name = "lets_nobody_in_past_a_writer_that_waits",
         .given = {.lock = anna_reads, .queue = {{ben}}, .listening = {ben}},
         .call = read(join_request(caller)),
         .expect = {.reply = is_busy(left_of(20'000), 1, Gt(0), anna_reads),
                    .lock = readers,
                    .ttl = 20'000,
                    .queue = {ben, caller_reads},
                    .readers = {{anna_reads, 20'000}}}},
        {.name = "keeps_a_writer_out",
         .given = {.lock = anna_reads},
         .call = write(join_request(caller)),
         .expect = {.reply = is_busy(left_of(20'000), 0, Gt(0), anna_reads),
                    .lock = anna_reads,
                    .ttl = 20'000,
                    .queue = {caller}}},
        {.name = "is_joined_by_readers_when_the_writer_before_them_leaves",
         .given = {.lock = anna_reads, .queue = {{caller, 2}, {ben_reads, 1}}, .listening = {ben}},
         .call = recipes::plain::fair.abandon(callers, {}),
         .expect = {.reply = is(0),
                    .lock = readers,
                    .ttl = 20'000,
                    .counter = last_token + 1,
                    .messages = {granted(ben, last_token + 1, 1)},
                    .readers = {{ben_reads, 2'000}, {anna_reads, 20'000}}}},
    }),
    name_of);

TEST(lone_reader_alone, is_shown_as_a_reader) {
  auto raw = empty_server().raw();
  raw.command({"SET", std::string{lock_name}, std::string{caller_reads}, "PX", "20000"});
  auto const counter = names::token_counter(lock_name);
  auto const queue = names::queue(lock_name);
  auto const state = ask(raw, scripts::inspect::state{.lock = {lock_name},
                                                      .counter = {counter},
                                                      .queue = {queue},
                                                      .most = 0,
                                                      .publish = "PUBLISH",
                                                      .scope = "plain"}());
  EXPECT_THAT(state.elements[1], is_array({is(1), is_text(caller_reads), testing::_}));
  auto const asked = names::asked(lock_name, caller);
  EXPECT_THAT(
      ask(raw,
          scripts::inspect::ask{.lock = {lock_name}, .asked = {asked}, .owner = caller, .mode = "look"}()),
      is_array({is(0), is_number(testing::Gt(0))}));
  auto const set = names::readers(lock_name);
  auto const blocked = names::blocked(lock_name);
  auto const look =
      ask(raw, scripts::deadlock::look{.lock = {lock_name}, .readers = {set}, .blocked = {blocked}}());
  EXPECT_EQ(look.elements[1].text, "by readers");
}

}  // namespace holdfast::contract::lone_reader_test
