// What holds for each script.

#include "contract/contract.hpp"
#include "contract/redisson.hpp"
#include "contract/rw.hpp"
#include "script/names.hpp"
#include "script/names_redisson.hpp"
#include "scripts/all.hpp"
#include "sync/multi.hpp"
#include "sync/quorum.hpp"

namespace holdfast::contract::all_scripts_test {

using namespace std::chrono_literals;
using testing::_;
namespace lua = holdfast::scripts::exclusive;
namespace fair = holdfast::scripts::fair;
namespace fence = holdfast::scripts::fence;
namespace look = holdfast::scripts::inspect;
namespace multi = holdfast::scripts::multi;
namespace number = holdfast::scripts::redisson_number;
namespace semaphore = holdfast::scripts::redisson_semaphore;
namespace permit = holdfast::scripts::redisson_permit;
namespace latch = holdfast::scripts::redisson_latch;
namespace names = holdfast::names;
using holdfast::engine::publishing;

TEST(every_script, has_the_sha_1_that_script_load_replies) {
  auto raw = empty_server().raw();
  for (auto const* const one : holdfast::scripts::all) {
    auto const reply = raw.command({"SCRIPT", "LOAD", std::string{one->text}});
    EXPECT_EQ(reply.text, one->sha1) << one->name;
  }
}

constexpr std::string_view uuid = me.substr(0, 36);

/// All on a lock of that name, through each of their ways, with a waiter told and one granted, and a key of
/// that name behind a fence.
void go_through(raw_redis& raw, std::string const& name, publishing publish) {
  auto const run = [&](holdfast::call const& what, testing::Matcher<raw_reply const&> const& wanted) {
    EXPECT_THAT(raw.command(eval(what)), wanted) << what.source->name << " of " << name;
  };
  auto const any_list = testing::Field("elements", &raw_reply::elements, testing::SizeIs(6));
  auto const no_error = testing::Field("what", &raw_reply::what, testing::Ne(raw_reply::kind::error));
  run(acquire(asks(me), name), no_error);
  run(acquire(asks(you), name), any_list);
  run(acquire(joins(anna), name), any_list);
  run(acquire(joins(ben, "1000"), name), any_list);  // waits since 1970
  run(renew({{name, me}}), is_list({}));
  run(release(me, name), is(1));
  run(abandon(ben, name), is(1));
  run(acquire(joins(anna), name), no_error);
  run(acquire(joins(ben), name), any_list);
  run(pass(anna, sibling, 1, name), no_error);
  run(abandon(ben, name), no_error);
  run(abandon(sibling, name), no_error);
  run(release(ben, name), no_error);
  run(fair_acquire(joins(me), name), no_error);
  run(fair_acquire(joins(anna), name), any_list);
  run(fair_acquire(asks(you), name), any_list);
  run(fair_pass(me, sibling, 0s, name), no_error);
  run(fair_pass(anna, me, 1h, name), is_list({1, _, _}));
  run(release(me, name), is(1));
  run(acquire(asks(me), name), no_error);
  run(holdfast::sync::exclusive.release_unwanted(std::vector<holdfast::engine::owned>{{name, me}}),
      is_list({}));

  namespace sync = holdfast::sync;
  run(sync::quorum.acquire(name, {.owner = me, .ttl = 30s}), no_error);
  run(sync::quorum.acquire(name, {.owner = you, .ttl = 30s, .join = true}), any_list);
  run(sync::quorum.votes->raise({name, me}, 1), no_error);
  run(sync::quorum.votes->yield({name, me}, "1000", 1), is(1));
  run(sync::quorum.acquire(name, {.owner = me, .ttl = 30s}), no_error);
  run(sync::quorum.release({name, me}, {.publish = publish}), is(1));
  for (auto const who : {me, you}) {
    run(sync::quorum.abandon({name, who}, {.publish = publish}), testing::_);
    run(abandon(who, name), is(0));
  }

  auto const counter = names::token_counter(name);
  auto const queue = names::queue(name);
  run(acquire(asks(me), name), no_error);
  run(acquire(joins(anna), name), any_list);
  run(look::state{.lock = {name},
                  .counter = {counter},
                  .queue = {queue},
                  .most = 10,
                  .publish = word_of(publish),
                  .scope = "both"}(),
      no_error);
  auto const asked = names::asked(name, me);
  run(look::ask{.lock = {name}, .asked = {asked}, .owner = me, .mode = "ask"}(), is(0));
  run(look::force{.lock = {name},
                  .counter = {counter},
                  .queue = {queue},
                  .owner = me,
                  .grant_ms = 2000,
                  .publish = word_of(publish)}(),
      is(1));
  run(release(anna, name), is(1));

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

/// The same of Redisson's wire.
void go_through_redisson(raw_redis& raw, std::string const& name, publishing publish) {
  namespace recipes = holdfast::sync::redisson;
  holdfast::engine::release_policy const terms{.credit = 10s, .publish = publish};
  auto const of = [&](std::string_view owner) {
    return holdfast::engine::acquire_request{.owner = owner, .ttl = 30s, .join = true, .policy = terms};
  };
  auto const run = [&](holdfast::call const& what, testing::Matcher<raw_reply const&> const& wanted) {
    EXPECT_THAT(raw.command(eval(what)), wanted) << what.source->name << " of " << name;
  };
  auto const is_busy = testing::Field("elements", &raw_reply::elements, testing::SizeIs(6));
  auto const is_granted =
      testing::AnyOf(is(1), testing::Field("elements", &raw_reply::elements, testing::SizeIs(2)));
  for (auto const* const how : {&recipes::lock, &recipes::fenced}) {
    run(how->acquire(name, of(me)), is_granted);
    run(how->acquire(name, of(you)), is_busy);
    run(how->renew(30s, std::vector<holdfast::engine::owned>{{name, me}}), is_list({}));
    run(how->pass({name, me}, terms, of(sibling)), is_list({1, _, 1}));
    run(how->abandon({name, sibling}, terms), is(1));
    run(how->acquire(name, of(me)), is_granted);
    run(how->release({name, me}, terms), is(1));
  }
  raw.command({"DEL", names::redisson::token(name)});
  run(recipes::fair.acquire(name, of(me)), is_granted);
  for (auto const who : {you, anna, ben}) run(recipes::fair.acquire(name, of(who)), is_busy);
  run(recipes::fair.abandon({name, you}, terms), is(0));
  run(recipes::fair.release({name, me}, terms), is(1));
  run(recipes::fair.acquire(name, of(anna)), is_granted);
  run(recipes::fair.abandon({name, anna}, terms), is(1));
  run(recipes::fair.abandon({name, ben}, terms), is(0));

  auto const joined = holdfast::sync::join_names(words{name});
  run(recipes::multi.acquire(joined, of(me)), is_granted);
  run(recipes::multi.renew(30s, std::vector<holdfast::engine::owned>{{joined, me}}), is_list({}));
  run(recipes::multi.abandon({joined, me}, terms), is(1));
  run(recipes::multi.release({joined, me}, terms), is(0));
}

/// All on a read-write lock of that name, with several readers, one of whom has a count that is too high.
void go_through_shared(raw_redis& raw, std::string const& name) {
  auto const run = [&](holdfast::call const& what, testing::Matcher<raw_reply const&> const& wanted) {
    EXPECT_THAT(raw.command(eval(what)), wanted) << what.source->name << " of " << name;
  };
  auto const is_busy = testing::Field("elements", &raw_reply::elements, testing::SizeIs(6));
  using namespace holdfast::contract::rw;
  run(writes(me, full_ttl, name), is_granted());
  run(reads(you, full_ttl, name), is_busy);
  run(goes_on_writing({me}, full_ttl, name), is_list({}));
  run(passes_on(me, sibling, true, name), is_list({1, 0, 65}));
  run(only_reads_now(sibling, full_ttl, name), is(1));
  run(reads(you, full_ttl, name), is_granted());
  run(reads(anna, full_ttl, name), is_granted());
  run(writes(me, full_ttl, name), is_busy);
  run(goes_on_reading({sibling, you}, full_ttl, name), is_list({}));
  raw.command({"HSET", name, std::string{you}, "3"});
  run(stops_reading(sibling, name), is(1));
  run(gives_up(anna, name), is(1));
  run(is_forced(you, name), is(1));
  run(writes(me, full_ttl, name), is_granted());
  run(stops_writing(me, name), is(1));
  run(reads(you, full_ttl, name), is_granted());
  run(is_forced({}, name), is(1));
}

/// A semaphore of each kind and a latch of that name, one after the other, on Redisson's wire.
void go_through_numbers(raw_redis& raw, std::string const& name, publishing publish) {
  namespace format = holdfast::sync::redisson;
  namespace keys = names::redisson;
  auto const run = [&](holdfast::call const& what, testing::Matcher<raw_reply const&> const& wanted) {
    EXPECT_THAT(raw.command(eval(what)), wanted) << what.source->name << " of " << name;
  };
  auto const channel = keys::semaphore_channel(name);
  auto const out = keys::permits(name);
  auto notes = 0;
  std::string note;
  auto const new_note = [&] {
    note = keys::done(name, "r" + std::to_string(++notes));
    return holdfast::key{note};
  };
  auto const try_set = [&](std::int64_t permits) {
    run(number::try_set{.counter = {name},
                        .done = new_note(),
                        .answered = {},
                        .number = permits,
                        .message = permits,
                        .publish = word_of(publish),
                        .channel = channel,
                        .done_ms = day,
                        .what = "a number"}(),
        is(1));
  };
  try_set(2);
  run(format::semaphore.acquire(name, {.owner = me, .amount = 2}), is_list({0, 1}));
  run(format::semaphore.abandon({name, me}, {}), is(1));
  run(semaphore::add{.counter = {name},
                     .done = new_note(),
                     .answered = {{keys::done(name, "r1")}},
                     .permits = 1,
                     .publish = word_of(publish),
                     .channel = channel,
                     .done_ms = day}(),
      is(1));
  run(semaphore::drain{.counter = {name}, .done = new_note(), .answered = {}, .done_ms = day}(), is(3));
  run(number::read{.counter = {name}, .what = "a number"}(), is(0));

  run(permit::set{.counter = {name},
                  .permits = {out},
                  .altogether = 1,
                  .publish = word_of(publish),
                  .channel = channel}(),
      is(1));
  run(format::permit.acquire(name, {.owner = me, .ttl = 30s}), is_list({0, 1}));
  run(format::permit.renew(30s, std::vector<holdfast::engine::owned>{{name, me}}), is_list({}));
  run(permit::counts{.counter = {name}, .permits = {out}, .publish = word_of(publish), .channel = channel}(),
      is_list({0, 1, 1}));
  run(format::permit.release({name, me}, {}), is(1));
  run(permit::add{.counter = {name},
                  .permits = {out},
                  .done = new_note(),
                  .answered = {},
                  .more = 1,
                  .publish = word_of(publish),
                  .channel = channel,
                  .done_ms = day}(),
      is(1));

  auto const gate = keys::latch_channel(name);
  run(format::latch.acquire(name, {}), is_array({is_number(-1), _, _, _, _, _}));
  run(latch::count_down{.counter = {name},
                        .done = new_note(),
                        .answered = {},
                        .n = 1,
                        .publish = word_of(publish),
                        .channel = gate,
                        .done_ms = day}(),
      is(1));
  run(latch::open{.counter = {name},
                  .done = new_note(),
                  .answered = {},
                  .publish = word_of(publish),
                  .channel = gate,
                  .done_ms = day}(),
      is(1));
}

/// A user who may touch what KEYS of a lock of that name are, and nothing else.
void become_limited_to(raw_redis& raw, std::string const& name) {
  raw.command({"ACL",
               "SETUSER",
               "limited",
               "reset",
               "on",
               "nopass",
               "~" + name,
               "~" + names::token_counter(name),
               "~" + names::queue(name),
               "~" + names::newest_ask(name),
               "~" + names::asked(name, me),
               "~" + names::fence_mark(name),
               "~" + names::redisson::fair_queue(name),
               "~" + names::redisson::fair_timeouts(name),
               "~" + names::redisson::token(name),
               "~" + names::redisson::suffixed(name, "*:rwlock_timeout:*"),
               "~" + names::redisson::permits(name),
               "~" + names::redisson::done(name, "*"),
               "~" + names::fence_done(name, uuid, 1),
               "~" + names::fence_done(name, uuid, 2),
               "&*",
               "+@all"});
  raw.command({"AUTH", "limited", "any"});
}

TEST(every_script, touches_no_key_but_its_own) {
  for (std::string const name : {"a", "{x}b", "b{x}", "b{"}) {
    auto& server = empty_server();
    auto raw = server.raw();
    ears const inboxes{server, {anna, ben}, name, "SUBSCRIBE"};
    become_limited_to(raw, name);
    go_through_redisson(raw, name, publishing::counted);
    go_through_shared(raw, name);
    go_through(raw, name, publishing::counted);
    server.raw().command({"DEL", name});
    go_through_numbers(raw, name, publishing::counted);
  }
}

TEST(every_script, keeps_to_one_slot_of_a_cluster) {
  auto& server = empty_cluster();
  auto raw = server.raw();
  for (std::string const name : {"a", "{x}b", "b{x}", "orders:42"}) {
    for (auto const how : {publishing::counted, publishing::sharded}) {
      SCOPED_TRACE(word_of(how));
      ears const inboxes{server, {anna, ben}, name, "SUBSCRIBE"};
      ears const of_the_slot{server, {anna, ben}, name};
      as_told const in_this_way{how};
      go_through_redisson(raw, name, how);
      go_through_shared(raw, name);
      go_through(raw, name, how);
      raw.command({"FLUSHALL"});
      go_through_numbers(raw, name, how);
      raw.command({"FLUSHALL"});
    }
  }
  // The name, the slot of its key, and that of its channel.
  struct sample {
    std::string name;
    std::int64_t key;
    std::int64_t channel;
  };
  for (auto const& [name, key, channel] : {sample{"lk", 5002, 5002},
                                           {"a{x}b", 16287, 16287},
                                           {"a{b", 13340, 3200},
                                           {"a}b", 7866, 15495},
                                           {"{}z", 2337, 12733}}) {
    EXPECT_THAT(raw.command({"CLUSTER", "KEYSLOT", name}), is(key));
    EXPECT_THAT(raw.command({"CLUSTER", "KEYSLOT", names::redisson::lock_channel(name)}), is(channel));
    EXPECT_EQ(names::fits_in_a_slot(name), key == channel) << name;
  }
}

}  // namespace holdfast::contract::all_scripts_test
