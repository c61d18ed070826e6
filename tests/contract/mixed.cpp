#include "contract/mixed.hpp"

#include <algorithm>
#include <chrono>
#include <sstream>

#include "script/names.hpp"
#include "support/rounds.hpp"
#include "wire/lock_names.hpp"
#include "wire/plain/mixed.hpp"

namespace holdfast::contract::mixed {
namespace {

constexpr engine::release_policy policy_of_all{.starvation = starvation_limit};
constexpr std::int64_t heavy = 8'000'000'000'000'000;

std::string const& joined() {
  static auto const name = recipes::join_names(
      std::vector<multi_name>{holdfast::write("a"), holdfast::read("b"), holdfast::permits("c", 2, 3)});
  return name;
}

std::int64_t now_us(raw_redis& server) {
  auto const time = server.command({"TIME"}).elements;
  return std::stoll(time.at(0).text) * 1'000'000 + std::stoll(time.at(1).text);
}

void add(raw_redis& server, std::string const& key, std::int64_t score, std::string const& member) {
  server.command({"ZADD", key, std::to_string(score), member});
  server.command({"PEXPIRE", key, "20000"});
}

void add_waiters(raw_redis& server, std::string_view name, std::vector<waiter> const& queue) {
  for (auto const& [owner, waited_ms] : queue)
    add(server, names::queue(name), now_us(server) - waited_ms * 1'000, std::string{owner});
}

void add_parties(raw_redis& server, std::string const& key, std::vector<party> const& all, bool waiting) {
  for (auto const& [owner, amount, ms] : all) {
    auto const now = now_us(server);
    add(server, key, waiting ? now - ms * 1'000 : now / 1'000 + ms, owner);
    if (amount > 1) add(server, key, heavy + amount, owner + ":p");
  }
}

void prepare(raw_redis& server, state const& given) {
  auto const lock = [&](std::string const& name, std::string_view owner) {
    if (!owner.empty()) server.command({"SET", name, std::string{owner}, "PX", "20000"});
  };
  lock("a", given.a);
  lock("b", given.b.empty() ? given.b_writer : names::held_by_readers);
  add_parties(server, names::readers("b"), given.b, false);
  if (!given.c.empty()) {
    std::int64_t out = 0;
    for (auto const& each : given.c) out += each.amount;
    add(server, "c", -out, std::string{names::permits_marker} + "3");
    add_parties(server, "c", given.c, false);
  }
  add_waiters(server, "a", given.a_waits);
  add_waiters(server, "b", given.b_waits);
  add_parties(server, names::permit_queue("c"), given.c_waits, true);
  auto name = 'a';
  for (auto const taken : given.tokens)
    server.command({"SET", names::token_counter({&name, 1}), std::to_string(last_token + taken)}), ++name;
}

/// The members in their order, with their weights.
std::string members_of(raw_redis& server, std::string const& key) {
  auto const found = server.command({"ZRANGE", key, "0", "-1", "WITHSCORES"}).elements;
  std::ostringstream out;
  for (std::size_t i = 0; i + 1 < found.size(); i += 2) {
    auto const& member = found[i].text;
    if (member.ends_with(":p")) continue;
    auto const weight = server.command({"ZSCORE", key, member + ":p"});
    auto const amount = weight.is_nil() ? 1 : static_cast<std::int64_t>(std::stod(weight.text)) - heavy;
    out << ' ' << member;
    if (member.starts_with(names::permits_marker)) out << " less " << found[i + 1].text;
    if (amount != 1) out << " x" << amount;
  }
  return out.str();
}

std::string text_of(std::vector<party> const& all) {
  std::ostringstream out;
  for (auto const& [owner, amount, ms] : all) {
    out << ' ' << owner;
    if (amount != 1) out << " x" << amount;
  }
  return out.str();
}

std::string text_of(std::vector<waiter> const& all) {
  std::string out;
  for (auto const& each : all) out.append(" ").append(each.owner);
  return out;
}

void check_left(std::int64_t left, std::int64_t wanted, std::string const& what) {
  EXPECT_THAT(left, left_of(wanted)) << what;
}

void check_state(raw_redis& server, state const& wanted) {
  auto const holder = [&](std::string const& name) { return server.get(name).value_or("nobody"); };
  EXPECT_EQ(holder("a"), wanted.a.empty() ? "nobody" : wanted.a);
  auto const b = wanted.b.empty() ? wanted.b_writer : names::held_by_readers;
  if (server.command({"TYPE", "b"}).text != "zset") {  // as a row has set it up
    EXPECT_EQ(holder("b"), b.empty() ? "nobody" : b);
  }
  if (!wanted.b.empty()) {
    EXPECT_EQ(members_of(server, names::readers("b")), text_of(wanted.b));
    check_left(server.pttl("b"), wanted.b.back().ms, "b");
  }
  std::int64_t out = 0;
  for (auto const& each : wanted.c) out += each.amount;
  auto const marker = " " + std::string{names::permits_marker} + "3 less -" + std::to_string(out);
  EXPECT_EQ(members_of(server, "c"), wanted.c.empty() ? "" : marker + text_of(wanted.c));
  auto const now = now_us(server) / 1'000;
  for (auto const& [owner, amount, ms] : wanted.c)
    check_left(std::stoll(server.command({"ZSCORE", "c", owner}).text) - now, ms, owner);
  EXPECT_EQ(members_of(server, names::queue("a")), text_of(wanted.a_waits));
  EXPECT_EQ(members_of(server, names::queue("b")), text_of(wanted.b_waits));
  EXPECT_EQ(members_of(server, names::permit_queue("c")), text_of(wanted.c_waits));
}

void check_counters(raw_redis& server, state const& wanted) {
  auto name = 'a';
  for (auto const taken : wanted.tokens) {
    EXPECT_EQ(server.get(names::token_counter({&name, 1})), std::to_string(last_token + taken)) << name;
    ++name;
  }
}

void check_once(mixed_row const& test_case) {
  auto& server = empty_server();
  auto raw = server.raw();
  prepare(raw, test_case.given);
  for (auto const& command : test_case.setup) ASSERT_FALSE(raw.command(command).is_error());
  subscription inboxes{server, test_case.listening};
  for (auto const* const name : {"a", "b", "c"}) inboxes.add(test_case.listening, name, "SUBSCRIBE");

  EXPECT_THAT(raw.command(eval(test_case.call)), test_case.expect.reply);
  check_state(raw, test_case.expect.after);
  check_counters(raw, test_case.expect.after);
  EXPECT_THAT(inboxes.take(), testing::ElementsAreArray(test_case.expect.messages));

  SCOPED_TRACE("sent twice");
  auto const second = raw.command(eval(test_case.call));
  EXPECT_THAT(second, test_case.again ? test_case.again->reply : testing::A<raw_reply const&>());
  check_state(raw, test_case.again.value_or(test_case.expect).after);
  EXPECT_THAT(inboxes.take(), testing::ElementsAreArray(test_case.again ? test_case.again->messages
                                                                        : std::vector<std::string>{}));
}

}  // namespace

call acquire(engine::acquire_request request) {
  request.ttl = std::chrono::milliseconds{full_ttl};
  request.policy = policy_of_all;
  return recipes::plain::mixed.acquire(joined(), request);
}

call release(std::string_view owner) {
  return recipes::plain::mixed.release({.name = joined(), .owner = owner}, policy_of_all);
}

call abandon(std::string_view owner) {
  return recipes::plain::mixed.abandon({.name = joined(), .owner = owner}, policy_of_all);
}

call renew(std::vector<std::string_view> const& owners) {
  std::vector<engine::owned> all;
  for (auto const owner : owners) all.push_back({.name = joined(), .owner = owner});
  return recipes::plain::mixed.renew(std::chrono::milliseconds{full_ttl}, all);
}

void check(mixed_row const& test_case) {
  test::retry_if_slower_than(std::chrono::milliseconds{50}, [&] { check_once(test_case); });
}

}  // namespace holdfast::contract::mixed
