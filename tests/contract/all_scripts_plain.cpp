// The scripts of the plain wire.

#include "contract/all_scripts.hpp"
#include "script/names.hpp"
#include "scripts/barrier.hpp"
#include "scripts/condition.hpp"
#include "scripts/deadlock.hpp"
#include "scripts/fence.hpp"
#include "scripts/inspect.hpp"
#include "scripts/latch.hpp"
#include "scripts/permits.hpp"
#include "scripts/run.hpp"
#include "wire/lock_names.hpp"
#include "wire/plain/barrier.hpp"
#include "wire/plain/condition.hpp"
#include "wire/plain/election.hpp"
#include "wire/plain/latch.hpp"
#include "wire/plain/mixed.hpp"
#include "wire/plain/multi.hpp"
#include "wire/plain/permits.hpp"
#include "wire/plain/quorum.hpp"
#include "wire/plain/shared.hpp"

namespace holdfast::contract::all_scripts {

using namespace std::chrono_literals;
using testing::_;
namespace fence = holdfast::scripts::fence;
namespace look = holdfast::scripts::inspect;
namespace jobs = holdfast::scripts::run;

namespace {

/// What changes the number of permits, or gives back those without leases.
void go_through_changes_of_permits(raw_redis& raw, std::string const& name, publishing publish) {
  namespace lua = holdfast::scripts::permits;
  auto const run = [&](holdfast::call const& script_call, testing::Matcher<raw_reply const&> const& wanted) {
    EXPECT_THAT(ask(raw, script_call), wanted) << script_call.source->name << " of " << name;
  };
  holdfast::recipes::plain::permit_keys const keys{name};
  std::vector<std::string> marks;
  marks.reserve(4);
  for (auto const* const number : {"11", "12", "13", "14"})
    marks.push_back(names::done_prefix(name) + number);
  auto const resize = [&](std::string const& mark, std::int64_t number) {
    return lua::resize{.lock = keys.lock,
                       .counter = keys.counter,
                       .queue = keys.queue,
                       .size = keys.size,
                       .done = {mark},
                       .answered = {},
                       .mode = "set",
                       .number = number,
                       .offered = 0,
                       .grant_ms = 2000,
                       .publish = word_of(publish),
                       .done_ms = day}();
  };
  run(resize(marks[0], 3), is(1));
  holdfast::engine::acquire_request request{.owner = caller, .ttl = 30s};
  request.policy.publish = publish;
  run(holdfast::recipes::plain::lasting_permits.acquire(name, request), is_list({_, 1}));
  run(lua::counts{.lock = keys.lock,
                  .counter = keys.counter,
                  .queue = keys.queue,
                  .size = keys.size,
                  .offered = 0,
                  .grant_ms = 2000,
                  .publish = word_of(publish)}(),
      is_list({2, 3, 1}));
  run(lua::drain{.lock = keys.lock,
                 .counter = keys.counter,
                 .queue = keys.queue,
                 .size = keys.size,
                 .done = {marks[1]},
                 .answered = {},
                 .offered = 0,
                 .grant_ms = 2000,
                 .publish = word_of(publish),
                 .done_ms = day}(),
      is(2));
  run(lua::give_back{.lock = keys.lock,
                     .counter = keys.counter,
                     .queue = keys.queue,
                     .size = keys.size,
                     .done = {marks[2]},
                     .answered = {{marks[1]}},
                     .number = 1,
                     .client = caller.substr(0, 36),
                     .offered = 0,
                     .grant_ms = 2000,
                     .publish = word_of(publish),
                     .done_ms = day,
                     .takers = {}}(),
      is(1));
  raw.command({"DEL", names::permits(name)});
}

}  // namespace

void go_through(raw_redis& raw, std::string const& name, publishing publish) {
  auto const run = [&](holdfast::call const& script_call, testing::Matcher<raw_reply const&> const& wanted) {
    auto const reply = ask(raw, script_call);
    EXPECT_THAT(reply, wanted) << script_call.source->name << " of " << name << ": " << reply.text;
  };
  auto const any_list = testing::Field("elements", &raw_reply::elements, testing::SizeIs(6));
  auto const no_error = testing::Field("what", &raw_reply::type, testing::Ne(raw_reply::kind::error));
  run(acquire(try_request(caller), name), no_error);
  run(acquire(try_request(rival), name), any_list);
  run(acquire(join_request(anna), name), any_list);
  run(acquire(join_request(ben, "1000"), name), any_list);  // waiting since 1970
  run(renew({{name, caller}}), is_list({}));
  run(release(caller, name), is(1));
  run(abandon(ben, name), is(1));
  run(acquire(join_request(anna), name), no_error);
  run(acquire(join_request(ben), name), any_list);
  run(pass(anna, sibling, 1, name), no_error);
  run(abandon(ben, name), no_error);
  run(abandon(sibling, name), no_error);
  run(release(ben, name), no_error);
  run(fair_acquire(join_request(caller), name), no_error);
  run(fair_acquire(join_request(anna), name), any_list);
  run(fair_acquire(try_request(rival), name), any_list);
  run(fair_pass(caller, sibling, 0s, name), no_error);
  run(fair_pass(anna, caller, 1h, name), is_list({1, _, _}));
  run(release(caller, name), is(1));
  run(acquire(try_request(caller), name), no_error);
  run(holdfast::recipes::plain::exclusive.release_unwanted(
          std::vector<holdfast::engine::owned>{{name, caller}}),
      is_list({}));

  namespace plain = holdfast::recipes::plain;
  holdfast::engine::release_policy const policy{.publish = publish};
  holdfast::engine::acquire_request const next{.owner = sibling, .ttl = 30s, .join = true};
  run(fair_acquire(try_request(caller), name), no_error);
  run(plain::publish({name, caller}, 7, "value", 30s, publish), is(1));
  run(plain::read_leader(name), is_array({_, is_text(caller), is_text("7"), is_text("value")}));
  run(fair_acquire(join_request(anna), name), any_list);
  run(fair_acquire(join_request(ben), name), any_list);
  run(plain::nominate({name, caller}, ben, publish), is(1));
  run(plain::election.renew(30s, std::vector<holdfast::engine::owned>{{name, caller}}), is_list({}));
  run(plain::election.release({name, caller}, policy), is(1));
  run(plain::nominate({name, ben}, anna, publish), is(1));
  run(plain::election.pass({name, ben}, policy, next), no_error);
  for (auto const owner : {anna, sibling}) run(plain::election.abandon({name, owner}, policy), _);

  run(plain::quorum.acquire(name, {.owner = caller, .ttl = 30s}), no_error);
  run(plain::quorum.acquire(name, {.owner = rival, .ttl = 30s, .join = true}), any_list);
  run(plain::quorum.votes->raise({name, caller}, 1), no_error);
  run(plain::quorum.votes->yield({name, caller}, "1000", 1), is(1));
  run(plain::quorum.votes->leave({name, caller}), is(1));
  run(plain::quorum.acquire(name, {.owner = caller, .ttl = 30s}), no_error);
  run(plain::quorum.release({name, caller}, {.publish = publish}), is(1));
  for (auto const owner : {caller, rival}) {
    run(plain::quorum.abandon({name, owner}, {.publish = publish}), testing::_);
    run(abandon(owner, name), is(0));
  }

  auto const in_place_of = [](holdfast::engine::acquire_request request) {
    request.in_place_of = 7;  // caller's
    request.ttl = 30s;
    return request;
  };
  run(plain::upgradable.acquire(name, in_place_of(join_request(caller))), no_error);
  run(plain::reader.acquire(name, in_place_of(join_request(anna))), no_error);
  run(plain::upgrader.acquire(name, in_place_of(join_request(sibling))), any_list);
  run(plain::reader.release({name, anna}, {.publish = publish}), is(1));
  run(plain::upgrader.acquire(name, in_place_of(join_request(sibling))), no_error);
  run(plain::upgradable.renew(30s, std::vector<holdfast::engine::owned>{{name, caller}}), is_list({}));
  run(plain::upgrader.abandon({name, sibling}, {.publish = publish}), is(1));
  run(plain::upgrader.acquire(name, in_place_of(join_request("11111111-1111-4111-8111-111111111111:9"))),
      no_error);
  run(plain::upgrader.renew(
          30s, std::vector<holdfast::engine::owned>{{name, "11111111-1111-4111-8111-111111111111:9"}}),
      is_list({}));
  run(plain::upgrader.release({name, "11111111-1111-4111-8111-111111111111:9"}, {.publish = publish}), is(1));

  run(plain::upgradable.acquire(name, in_place_of(join_request(caller))), no_error);
  run(plain::keep_reading({name, caller}, 30s, publish), is(1));
  run(plain::reader.release({name, caller}, {.publish = publish}), is(1));

  for (auto const& wanted : {holdfast::write(name), holdfast::read(name), holdfast::permits(name, 2, 3)}) {
    auto const joined = holdfast::recipes::join_names(std::span{&wanted, 1});
    run(plain::mixed.acquire(joined, in_place_of(join_request(caller))), is_list({_, 1}));
    run(plain::mixed.acquire(joined, in_place_of(join_request(rival))), no_error);
    run(plain::mixed.renew(30s, std::vector<holdfast::engine::owned>{{joined, caller}}), is_list({}));
    run(plain::mixed.release({joined, caller}, policy), is(1));
    run(plain::mixed.abandon({joined, rival}, policy), _);
  }

  auto const counter = names::token_counter(name);
  auto const queue = names::queue(name);
  for (auto const others : {false, true}) {
    raw.command(
        {"SET", name, std::string{names::held_by_one_permit} + "3 " + std::string{caller}, "PX", "20000"});
    if (others) run(plain::permits.acquire(name, in_place_of(join_request(anna))), is_list({_, 1}));
    run(plain::permits.fast_release({name, caller}), is(others ? 2 : 1));
  }
  for (auto const owner : {caller, anna}) run(plain::permits.release({name, owner}, policy), is(1));
  go_through_changes_of_permits(raw, name, publish);
  raw.command({"SET", name, std::string{caller} + ":r", "PX", "20000"});
  run(plain::reader.acquire(name, in_place_of(join_request(anna))), no_error);
  run(plain::reader.release({name, anna}, policy), is(1));
  run(plain::reader.fast_release({name, caller}), is(2));
  run(plain::reader.release({name, caller}, policy), is(1));
  run(acquire(try_request(caller), name), no_error);
  run(acquire(join_request(anna), name), any_list);
  run(look::state{.lock = {name},
                  .counter = {counter},
                  .queue = {queue},
                  .most = 10,
                  .publish = word_of(publish),
                  .scope = "both"}(),
      no_error);
  run(look::states{.names = {{{name}, {counter}, {queue}}},
                   .waiters = 8,
                   .publish = word_of(publish),
                   .scope = "both"}(),
      no_error);
  run(look::sift_sets{.sets = {{name}}}(), no_error);
  run(look::pulse{.names = {{{name}, {queue}}}, .scope = "ttl"}(), no_error);
  auto const request_key = names::asked(name, caller);
  run(look::ask{.lock = {name}, .asked = {request_key}, .owner = caller, .mode = "ask"}(),
      testing::Field("elements", &raw_reply::elements,
                     testing::ElementsAre(is(0), is_number(testing::Gt(0)))));
  run(look::force{.lock = {name},
                  .counter = {counter},
                  .queue = {queue},
                  .owner = caller,
                  .grant_ms = 2000,
                  .publish = word_of(publish)}(),
      is(1));
  run(release(anna, name), is(1));

  namespace deadlock = holdfast::scripts::deadlock;
  auto const beside = names::blocked(name, caller);
  auto const readers = names::readers(name);
  auto const blocked = names::blocked(name);
  auto const say = [&](std::int64_t number) {
    run(deadlock::say{.keys = {{beside}}, .wait = "b", .number = number, .ttl_ms = day, .former = "a"}(),
        is(1));
  };
  run(acquire(try_request(caller), name), no_error);
  say(1);
  run(deadlock::look{.lock = {name}, .readers = {readers}, .blocked = {blocked}}(),
      is_array({_, is_text("alone"), is_array({is_text(caller), is_text("b"), is_text("1")})}));
  say(0);
  run(release(caller, name), is(1));

  auto const record = names::last_run(name);
  run(acquire(try_request(caller), name), no_error);
  run(jobs::note{.lock = {name},
                 .record = {record},
                 .owner = caller,
                 .began = 1,
                 .counts_until = 2,
                 .took_ms = "",
                 .exit_code = "",
                 .host = "web-3",
                 .pid = 812,
                 .label = "",
                 .token = 1,
                 .life_ms = day}(),
      is(1));
  run(jobs::look{.lock = {name}, .record = {record}}(), is_array({_, is(1), _}));
  run(release(caller, name), is(1));
  run(jobs::forget{.record = {record}, .owner = caller}(), is(1));

  auto const mark = names::fence_mark(name);
  auto const done = names::fence_done(name, uuid, 2);
  auto const answered = names::fence_done(name, uuid, 1);
  run(fence::claim{.mark = {mark}, .token = 7, .remember_ms = day}(), is(1));
  run(fence::write{.mark = {mark},
                   .target = {name},
                   .done = {done},
                   .answered = {{answered}},
                   .token = 7,
                   .remember_ms = day,
                   .done_ms = day,
                   .command = "SET",
                   .rest = {"x"}}(),
      is(1));
}

void go_through_meetings(raw_redis& raw, std::string const& name, publishing publish) {
  namespace plain = holdfast::recipes::plain;
  namespace gate = holdfast::scripts::latch;
  auto const run = [&](holdfast::call const& script_call, testing::Matcher<raw_reply const&> const& wanted) {
    EXPECT_THAT(ask(raw, script_call), wanted) << script_call.source->name << " of " << name;
  };
  auto const is_waiting = testing::Field("elements", &raw_reply::elements, testing::SizeIs(6));
  auto const counted = names::counted(name);
  auto const channel = names::inbox_of_all(name);
  std::vector<std::string> marks;
  for (auto const* const number : {"1", "2", "3", "4"}) marks.push_back(names::done_prefix(name) + number);
  auto const set = [&](std::string const& mark, std::int64_t open_ms) {
    return gate::set{.latch = {name},
                     .counted = {counted},
                     .done = {mark},
                     .answered = {},
                     .count = 2,
                     .open_ms = open_ms,
                     .told_ms = day,
                     .done_ms = day}();
  };
  run(set(marks[0], 0), is(1));
  run(gate::count_down{.latch = {name},
                       .counted = {counted},
                       .done = {marks[1]},
                       .answered = {{marks[0]}},
                       .participant = "a",
                       .n = 1,
                       .publish = word_of(publish),
                       .channel = channel,
                       .done_ms = day}(),
      is(1));
  run(plain::latch.acquire(name, {}), is_waiting);
  run(gate::open{.latch = {name},
                 .counted = {counted},
                 .done = {marks[2]},
                 .answered = {},
                 .publish = word_of(publish),
                 .channel = channel,
                 .done_ms = day}(),
      is(1));
  run(set(marks[3], minute), is(1));
  raw.command({"DEL", name});

  auto const seat = plain::seat_name(name, 1, "web-1");
  holdfast::engine::acquire_request request{.owner = caller, .ttl = 30s, .size = 2, .join = true};
  request.policy.publish = publish;
  run(plain::barrier.acquire(seat, request), is_waiting);
  run(plain::barrier.abandon({seat, caller}, {.publish = publish}), is(1));
  request.owner = sibling;
  run(plain::barrier.acquire(seat, request), is_waiting);
  auto const arrived = names::arrived(name);
  run(holdfast::scripts::barrier::force{.barrier = {name},
                                        .arrived = {arrived},
                                        .participant = "ops",
                                        .publish = word_of(publish),
                                        .channel = channel}(),
      is(1));
  raw.command({"DEL", name});
}

void go_through_condition(raw_redis& raw, std::string const& name, publishing publish) {
  namespace plain = holdfast::recipes::plain;
  auto const run = [&](holdfast::call const& script_call, testing::Matcher<raw_reply const&> const& wanted) {
    EXPECT_THAT(raw.command(eval(script_call)), wanted) << script_call.source->name << " of " << name;
  };
  holdfast::engine::release_policy const policy{.credit = 10s, .publish = publish};
  auto const queue = names::queue(name);
  auto const waiting = names::condition(name);
  auto const counting = names::condition_until(name);
  auto const mark = names::done_prefix(name) + "5";
  auto const earlier = names::done_prefix(name) + "4";
  for (auto const owner : {caller, anna, ben}) {
    raw.command({"SET", name, std::string{owner}, "PX", "30000"});
    run(plain::begin_to_wait({name, owner}, policy), is(1));
  }
  run(plain::condition.acquire(plain::seat_of_waiter(name, 7),
                               {.owner = caller, .listening = false, .policy = policy}),
      testing::Field("elements", &raw_reply::elements, testing::SizeIs(6)));
  run(holdfast::scripts::condition::notify{.lock = {name},
                                           .queue = {queue},
                                           .waiting = {waiting},
                                           .counting = {counting},
                                           .done = {mark},
                                           .answered = {{earlier}},
                                           .most = 1,
                                           .grant_ms = 2000,
                                           .publish = word_of(publish),
                                           .done_ms = day}(),
      is(1));
  run(plain::leave({name, caller}, plain::leaving::passes_on, publish), is(1));
  run(plain::leave({name, ben}, plain::leaving::asks, publish), is(0));
  raw.command({"DEL", counting});
}

}  // namespace holdfast::contract::all_scripts
