// The scripts of Redisson's RPermitExpirableSemaphore. A test names each deliberate difference from
// Redisson's own scripts.

#include "scripts/redisson_permit.hpp"
#include "contract/redisson_numbers.hpp"
#include "sync/shared_counter.hpp"
#include "wire/redisson/permit_id.hpp"
#include "wire/redisson/recipes.hpp"

namespace holdfast::contract::redisson_permit_test {

using testing::AllOf;
using testing::Gt;
using testing::Le;
namespace lua = holdfast::scripts::redisson_permit;
namespace names = holdfast::names::redisson;
namespace format = holdfast::recipes::redisson;
using holdfast::call;

constexpr std::int64_t never = 922'337'203'685'477;

std::string const a(16, '\xa1');
std::string const b(16, '\xb2');
std::string const c(16, '\xc3');
std::string const d(16, '\xd4');

class redisson_permit : public redisson_numbers {
 protected:
  redisson_permit() : redisson_numbers{"redisson_sc:{orders}"} {}

  [[nodiscard]] call acquire(std::string const& id, std::int64_t ttl = 30'000, std::int64_t size = 0) const {
    return lua::acquire{.counter = {name_},
                        .permits = {permits_key_},
                        .id = id,
                        .ttl_ms = ttl,
                        .size = size,
                        .publish = "PUBLISH",
                        .channel = channel_}();
  }
  [[nodiscard]] call release(std::string const& id) const {
    return lua::release{
        .counter = {name_}, .permits = {permits_key_}, .id = id, .publish = "PUBLISH", .channel = channel_}();
  }
  [[nodiscard]] call renew(std::vector<std::string> const& ids, std::int64_t ttl = 30'000) const {
    lua::renew script{.all_permits = {}, .ttl_ms = ttl, .mode = "at least", .ids = {}};
    for (auto const& id : ids) {
      script.all_permits.push_back({permits_key_});
      script.ids.emplace_back(id);
    }
    return script();
  }
  [[nodiscard]] call set(std::int64_t altogether) const {
    return lua::set{.counter = {name_},
                    .permits = {permits_key_},
                    .altogether = altogether,
                    .publish = "PUBLISH",
                    .channel = channel_}();
  }
  [[nodiscard]] call counts() const {
    return lua::counts{
        .counter = {name_}, .permits = {permits_key_}, .publish = "PUBLISH", .channel = channel_}();
  }
  call add(std::int64_t permits) {
    return lua::add{.counter = {name_},
                    .permits = {permits_key_},
                    .done = {new_mark()},
                    .answered = {},
                    .more = permits,
                    .publish = "PUBLISH",
                    .channel = channel_,
                    .done_ms = day}();
  }
  call try_set(std::int64_t permits) {
    return redisson_numbers::try_set(permits, permits, holdfast::sync::permits_of_a_semaphore);
  }

  /// Adds a permit that Java has taken until `expiry`. Holdfast takes no permit without an end.
  void taken_until(std::string const& id, std::int64_t expiry) {
    command({"ZADD", permits_key_, std::to_string(expiry), id});
  }
  void set_available(std::int64_t permits) { command({"SET", name_, std::to_string(permits)}); }
  void taken_and_expired(std::string const& id) { taken_until(id, now_ms() - 50); }
  [[nodiscard]] std::int64_t expiry_of(std::string const& id) {
    auto const score = raw_.command({"ZSCORE", permits_key_, id});
    return score.is_nil() ? -1 : std::stoll(score.text);
  }
  [[nodiscard]] keys_and_values state_with(std::int64_t permits, std::vector<std::string> const& ids) const {
    keys_and_values all{{name_, std::to_string(permits)}};
    std::string members;
    for (auto const& id : ids) members += (members.empty() ? "" : " ") + format::shown(id);
    if (!ids.empty()) all[permits_key_] = members;
    return all;
  }

  std::string const permits_key_ = "{orders}:timeout";
};

TEST_F(redisson_permit, keeps_vector_13) {
  run(acquire(a), busy());
  run(release(a), is(0));
  EXPECT_EQ(state(), keys_and_values{});
  run(try_set(3), is(1), {"3"});
  run(try_set(4), is(0));
  EXPECT_EQ(state(), state_with(3, {}));
  set_available(2);
  taken_until(a, never);
  run(acquire(b, 30'000), granted());
  EXPECT_THAT(expiry_of(b) - now_ms(), AllOf(Gt(10'000), Le(30'000)));
  run(acquire(c, 60'000), granted());
  EXPECT_EQ(state(), state_with(0, {b, c, a}));
  EXPECT_EQ(raw_.pttl(permits_key_), no_ttl);
  run(acquire(d), busy(AllOf(Gt(10'000), Le(30'000))));
  EXPECT_EQ(state(), state_with(0, {b, c, a}));
  run(counts(), is_list({0, 3, 3}));
  taken_and_expired(b);
  run(acquire(d, 90'000), granted(), {"1"});
  EXPECT_EQ(state(), state_with(0, {c, d, a}));
  run(release(b), is(0));
  EXPECT_EQ(state(), state_with(0, {c, d, a}));
  run(release(c), is(1), {"1"}, is(0));
  EXPECT_EQ(state(), state_with(1, {d, a}));
  // Redisson gives several permits back at once and publishes their number. Here each permit has its own
  // message.
  run(release(a), is(1), {"2"}, is(0));
  run(release(d), is(1), {"3"}, is(0));
  EXPECT_EQ(state(), state_with(3, {}));
}

TEST_F(redisson_permit, is_given_its_number_again_when_that_is_missing) {
  run(acquire(a, 30'000, 3), granted(), {"3"});
  EXPECT_EQ(state(), state_with(2, {a}));
  run(acquire(b, 30'000, 7), granted());
  EXPECT_EQ(state(), state_with(1, {a, b}));
  command({"DEL", name_});
  run(acquire(c, 60'000, 3), granted(), {"3"});
  EXPECT_EQ(state(), state_with(0, {a, b, c}));
  command({"DEL", name_});
  run(acquire(d, 60'000, 2), busy(AllOf(Gt(10'000), Le(30'000))), {"2"}, busy(AllOf(Gt(10'000), Le(30'000))));
  EXPECT_EQ(state(), state_with(-1, {a, b, c}));
}

TEST_F(redisson_permit, does_not_know_when_to_look_while_all_are_out_for_ever) {
  set_available(0);
  for (auto const& id : {a, b, c}) taken_until(id, never);
  run(acquire(d), busy(-1));
  EXPECT_EQ(state(), state_with(0, {a, b, c}));
}

TEST_F(redisson_permit, adds_and_sets_its_number_as_vector_13_does) {
  set_available(0);
  for (auto const& id : {a, b, c}) taken_until(id, never);
  run(add(2), is(1), {"2"});
  run(add(-1), is(1));
  EXPECT_EQ(state(), state_with(1, {a, b, c}));
  run(set(10), is(1), {"10"}, is(0));
  EXPECT_EQ(state(), state_with(7, {a, b, c}));
  run(set(2), is(1), {"2"}, is(0));
  EXPECT_EQ(state(), state_with(-1, {a, b, c}));
  run(counts(), is_list({-1, 2, 3}));
  run(acquire(d), busy());
}

TEST_F(redisson_permit, gets_its_number_by_being_set) {
  run(set(4), is(1), {"4"}, is(0));
  EXPECT_EQ(state(), state_with(4, {}));
}

TEST_F(redisson_permit, is_given_back_late_once_and_that_is_reported_as_lost) {
  set_available(0);
  taken_and_expired(a);
  run(release(a), is(0), {"1"});
  EXPECT_EQ(state(), state_with(1, {}));
}

TEST_F(redisson_permit, takes_back_no_more_expired_ones_than_it_needs) {
  set_available(2);
  for (auto const& id : {a, b, c}) taken_and_expired(id);
  command({"ZADD", permits_key_, std::to_string(now_ms() - 1'000'000), a});
  run(acquire(d), granted(), {"3"});
  EXPECT_EQ(state(), state_with(2, {b, c, d}));
  run(counts(), is_list({4, 5, 1}), {"4"});
  EXPECT_EQ(state(), state_with(4, {d}));
}

TEST_F(redisson_permit, takes_back_as_many_expired_ones_as_it_needs) {
  // Redisson takes one permit back, finds none free, and requests again at once.
  set_available(-2);
  for (auto const& id : {a, b, c}) taken_and_expired(id);
  run(acquire(d), granted(), {"1"});
  EXPECT_EQ(state(), state_with(0, {d}));
}

TEST_F(redisson_permit, tells_nobody_of_a_negative_number) {
  set_available(-3);
  taken_until(a, never);
  taken_until(b, never);
  taken_and_expired(c);
  run(acquire(d), busy());
  EXPECT_EQ(state(), state_with(-2, {a, b}));
  run(release(a), is(1), {}, is(0));
  run(release(b), is(1), {"0"}, is(0));
  EXPECT_EQ(state(), state_with(0, {}));
}

TEST_F(redisson_permit, counts_a_copy_that_comes_later_from_its_own_time) {
  set_available(1);
  run(acquire(a, 1'000), granted());
  taken_until(a, now_ms() + 10);
  EXPECT_THAT(raw_.command(eval(acquire(a, 30'000))), granted());
  EXPECT_THAT(expiry_of(a) - now_ms(), AllOf(Gt(20'000), Le(30'000)))
      << "the holder counts its ttl from the copy that was answered";
  taken_until(a, never);
  EXPECT_THAT(raw_.command(eval(acquire(a, 30'000))), granted());
  EXPECT_EQ(expiry_of(a), never);
}

TEST_F(redisson_permit, ends_its_sorted_set_together_with_the_number) {
  command({"SET", name_, "3", "PX", "60000"});
  auto const kept_ttl = AllOf(Gt(50'000), Le(60'000));
  run(acquire(a), granted());
  EXPECT_THAT(raw_.pttl(permits_key_), kept_ttl);
  run(add(1), is(1), {"1"});
  EXPECT_THAT(raw_.pttl(name_), kept_ttl) << "Redisson loses it here";
}

TEST_F(redisson_permit, is_renewed_while_it_has_not_expired) {
  set_available(0);
  taken_until(a, now_ms() + 5'000);
  taken_and_expired(b);
  run(renew({a, b, c}), is_list({2, 3}));
  EXPECT_THAT(expiry_of(a) - now_ms(), AllOf(Gt(20'000), Le(30'000)));
  EXPECT_EQ(state(), state_with(0, {b, a})) << "what has expired is for whoever looks next";
}

TEST_F(redisson_permit, is_renewed_at_maxmemory) {
  set_available(0);
  taken_until(a, now_ms() + 5'000);
  raw_.command({"CONFIG", "SET", "maxmemory", "1"});
  run(renew({a}), is_list({}));
  raw_.command({"CONFIG", "SET", "maxmemory", "0"});
  EXPECT_THAT(expiry_of(a) - now_ms(), AllOf(Gt(20'000), Le(30'000)));
}

TEST_F(redisson_permit, is_not_shortened_by_a_renewal) {
  set_available(0);
  taken_until(a, never);
  auto const later = now_ms() + day;
  taken_until(b, later);
  run(renew({a, b}), is_list({}));
  EXPECT_EQ(expiry_of(a), never);
  EXPECT_EQ(expiry_of(b), later);
}

TEST_F(redisson_permit, is_lost_where_there_is_something_else) {
  command({"SET", permits_key_, "x"});
  run(renew({a}), is_list({-1}));
  run(release(a), is(-1));
}

TEST_F(redisson_permit, is_of_an_owner_by_its_id) {
  set_available(1);
  auto const id = format::permit_id(caller);
  run(format::permit.acquire(name_, {.owner = caller, .ttl = std::chrono::milliseconds{full_ttl}}),
      granted());
  EXPECT_EQ(state(), state_with(0, {id}));
  EXPECT_EQ(format::permit.id_of(caller), format::shown(id));
  run(format::permit.renew(std::chrono::milliseconds{full_ttl},
                           std::vector<holdfast::engine::owned>{{name_, caller}, {name_, rival}}),
      is_list({2}));
  run(format::permit.release({.name = name_, .owner = caller}, {}), is(1), {"1"}, is(0));
  run(format::permit.acquire(name_, {.owner = rival, .ttl = std::chrono::milliseconds{full_ttl}}), granted());
  run(format::permit.abandon({.name = name_, .owner = rival}, {}), is(1), {"1"}, is(0));
  EXPECT_EQ(state(), state_with(1, {}));
}

TEST_F(redisson_permit, is_given_back_when_the_server_has_no_memory) {
  set_available(2);
  run(acquire(a), granted());
  command({"CONFIG", "SET", "maxmemory", "1"});
  EXPECT_THAT(raw_.command(eval(acquire(b))), is_error("OOM"));
  EXPECT_THAT(raw_.command(eval(release(a))), is(1));
  command({"CONFIG", "SET", "maxmemory", "0"});
  EXPECT_EQ(state(), state_with(2, {}));
}

TEST_F(redisson_permit, is_not_taken_when_a_right_is_missing) {
  set_available(1);
  for (std::string const revoked : {"-zadd", "-decrby", "-zscore", "-get"}) {
    SCOPED_TRACE(revoked);
    auto limited = server_.raw();
    limited.command({"ACL", "SETUSER", "limited", "reset", "on", "nopass", "~*", "&*", "+@all", revoked});
    limited.command({"AUTH", "limited", "any"});
    EXPECT_TRUE(limited.command(eval(acquire(a))).is_error());
    EXPECT_EQ(state(), state_with(1, {}));
  }
}

TEST_F(redisson_permit, says_what_it_found_instead) {
  struct misfit {
    std::vector<words> set;
    std::string text;
  };
  std::vector<misfit> const all{
      {{{"HSET", name_, "a", "1"}}, "a hash, not the number of permits of a semaphore"},
      {{{"SET", name_, "three"}}, "text of something else, not the number of permits of a semaphore"},
      {{{"SET", name_, "3"}, {"SET", permits_key_, "x"}},
       "permits with a string under {orders}:timeout, not with the ids of those that are out"},
      {{{"SET", name_, "3"}, {"ZADD", permits_key_, "922337203685477", format::shown(a)}},
       "permits whose ids have 32 bytes, as those of Redisson before 3.17 have 32, not ids of 16 bytes"},
  };
  for (auto const& [set_up, text] : all) {
    SCOPED_TRACE(text);
    command({"FLUSHALL"});
    for (auto const& setup_command : set_up) command(setup_command);
    auto const keys = raw_.keys();
    for (auto const& script_call : {acquire(a), add(1), set(5), counts()}) {
      EXPECT_THAT(raw_.command(eval(script_call)), is_error("MISFIT " + text)) << script_call.source->name;
      EXPECT_EQ(raw_.keys().size(), keys.size()) << script_call.source->name;
    }
  }
  EXPECT_THAT(messages_.take(), testing::IsEmpty());
}

}  // namespace holdfast::contract::redisson_permit_test
