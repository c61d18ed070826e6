// The scripts of Redisson's wire.

#include "contract/all_scripts.hpp"
#include "contract/redisson.hpp"
#include "contract/rw.hpp"
#include "script/names_redisson.hpp"
#include "scripts/redisson_latch.hpp"
#include "scripts/redisson_number.hpp"
#include "scripts/redisson_permit.hpp"
#include "scripts/redisson_semaphore.hpp"
#include "wire/lock_names.hpp"

namespace holdfast::contract::all_scripts {

using namespace std::chrono_literals;
using testing::_;
namespace number = holdfast::scripts::redisson_number;
namespace semaphore = holdfast::scripts::redisson_semaphore;
namespace permit = holdfast::scripts::redisson_permit;
namespace latch = holdfast::scripts::redisson_latch;

void go_through_redisson(raw_redis& raw, std::string const& name, publishing publish) {
  namespace redisson = holdfast::recipes::redisson;
  holdfast::engine::release_policy const policy{.credit = 10s, .publish = publish};
  auto const request_of = [&](std::string_view owner) {
    return holdfast::engine::acquire_request{.owner = owner, .ttl = 30s, .join = true, .policy = policy};
  };
  auto const run = [&](holdfast::call const& script_call, testing::Matcher<raw_reply const&> const& wanted) {
    EXPECT_THAT(ask(raw, script_call), wanted) << script_call.source->name << " of " << name;
  };
  auto const is_busy = testing::Field("elements", &raw_reply::elements, testing::SizeIs(6));
  auto const is_granted =
      testing::AnyOf(is(1), testing::Field("elements", &raw_reply::elements, testing::SizeIs(2)));
  for (auto const* const recipe : {&redisson::lock, &redisson::fenced}) {
    run(recipe->acquire(name, request_of(caller)), is_granted);
    run(recipe->acquire(name, request_of(rival)), is_busy);
    run(recipe->renew(30s, std::vector<holdfast::engine::owned>{{name, caller}}), is_list({}));
    run(recipe->pass({name, caller}, policy, request_of(sibling)), is_list({1, _, 1}));
    run(recipe->abandon({name, sibling}, policy), is(1));
    run(recipe->acquire(name, request_of(caller)), is_granted);
    run(recipe->release({name, caller}, policy), is(1));
  }
  raw.command({"DEL", names::redisson::token(name)});
  run(redisson::fair.acquire(name, request_of(caller)), is_granted);
  for (auto const owner : {rival, anna, ben}) run(redisson::fair.acquire(name, request_of(owner)), is_busy);
  run(redisson::fair.abandon({name, rival}, policy), is(0));
  run(redisson::fair.release({name, caller}, policy), is(1));
  run(redisson::fair.acquire(name, request_of(anna)), is_granted);
  run(redisson::fair.abandon({name, anna}, policy), is(1));
  run(redisson::fair.abandon({name, ben}, policy), is(0));

  auto const joined = holdfast::recipes::join_names(words{name});
  run(redisson::multi.acquire(joined, request_of(caller)), is_granted);
  run(redisson::multi.renew(30s, std::vector<holdfast::engine::owned>{{joined, caller}}), is_list({}));
  run(redisson::multi.abandon({joined, caller}, policy), is(1));
  run(redisson::multi.release({joined, caller}, policy), is(0));
}

void go_through_shared(raw_redis& raw, std::string const& name) {
  auto const run = [&](holdfast::call const& script_call, testing::Matcher<raw_reply const&> const& wanted) {
    EXPECT_THAT(ask(raw, script_call), wanted) << script_call.source->name << " of " << name;
  };
  auto const is_busy = testing::Field("elements", &raw_reply::elements, testing::SizeIs(6));
  using namespace holdfast::contract::rw;
  run(acquire_write(caller, full_ttl, name), is_granted());
  run(acquire_read(rival, full_ttl, name), is_busy);
  run(renew_write({caller}, full_ttl, name), is_list({}));
  run(pass_write(caller, sibling, true, name), is_list({1, 0, 65}));
  run(downgrade(sibling, full_ttl, name), is(1));
  run(acquire_read(rival, full_ttl, name), is_granted());
  run(acquire_read(anna, full_ttl, name), is_granted());
  run(acquire_write(caller, full_ttl, name), is_busy);
  run(renew_read({sibling, rival}, full_ttl, name), is_list({}));
  raw.command({"HSET", name, std::string{rival}, "3"});
  run(release_read(sibling, name), is(1));
  run(abandon_lock(anna, name), is(1));
  run(force(rival, name), is(1));
  run(acquire_write(caller, full_ttl, name), is_granted());
  run(release_write(caller, name), is(1));
  run(acquire_read(rival, full_ttl, name), is_granted());
  run(force({}, name), is(1));
}

void go_through_numbers(raw_redis& raw, std::string const& name, publishing publish) {
  namespace format = holdfast::recipes::redisson;
  namespace keys = names::redisson;
  auto const run = [&](holdfast::call const& script_call, testing::Matcher<raw_reply const&> const& wanted) {
    EXPECT_THAT(ask(raw, script_call), wanted) << script_call.source->name << " of " << name;
  };
  auto const channel = keys::semaphore_channel(name);
  auto const permits_key = keys::permits(name);
  auto mark_count = 0;
  std::string mark;
  auto const new_mark = [&] {
    mark = keys::done(name, "r" + std::to_string(++mark_count));
    return holdfast::key{mark};
  };
  auto const try_set = [&](std::int64_t permits) {
    run(number::try_set{.counter = {name},
                        .done = new_mark(),
                        .answered = {},
                        .number = permits,
                        .message = permits,
                        .publish = word_of(publish),
                        .channel = channel,
                        .done_ms = day,
                        .description = "a number"}(),
        is(1));
  };
  try_set(2);
  run(format::semaphore.acquire(name, {.owner = caller, .amount = 2}), is_list({0, 1}));
  run(format::semaphore.abandon({name, caller}, {}), is(1));
  run(semaphore::add{.counter = {name},
                     .done = new_mark(),
                     .answered = {{keys::done(name, "r1")}},
                     .permits = 1,
                     .publish = word_of(publish),
                     .channel = channel,
                     .done_ms = day}(),
      is(1));
  run(semaphore::drain{.counter = {name}, .done = new_mark(), .answered = {}, .done_ms = day}(), is(3));
  run(number::read{.counter = {name}, .description = "a number"}(), is(0));

  run(permit::set{.counter = {name},
                  .permits = {permits_key},
                  .altogether = 1,
                  .publish = word_of(publish),
                  .channel = channel}(),
      is(1));
  run(format::permit.acquire(name, {.owner = caller, .ttl = 30s}), is_list({0, 1}));
  run(format::permit.renew(30s, std::vector<holdfast::engine::owned>{{name, caller}}), is_list({}));
  run(
      permit::counts{
          .counter = {name}, .permits = {permits_key}, .publish = word_of(publish), .channel = channel}(),
      is_list({0, 1, 1}));
  run(format::permit.release({name, caller}, {}), is(1));
  run(permit::add{.counter = {name},
                  .permits = {permits_key},
                  .done = new_mark(),
                  .answered = {},
                  .more = 1,
                  .publish = word_of(publish),
                  .channel = channel,
                  .done_ms = day}(),
      is(1));

  auto const latch_channel = keys::latch_channel(name);
  run(format::latch.acquire(name, {}), is_array({is_number(-1), _, _, _, _, _}));
  run(latch::count_down{.counter = {name},
                        .done = new_mark(),
                        .answered = {},
                        .n = 1,
                        .publish = word_of(publish),
                        .channel = latch_channel,
                        .done_ms = day}(),
      is(1));
  run(latch::open{.counter = {name},
                  .done = new_mark(),
                  .answered = {},
                  .publish = word_of(publish),
                  .channel = latch_channel,
                  .done_ms = day}(),
      is(1));
}

}  // namespace holdfast::contract::all_scripts
