#include "contract/several.hpp"

#include <chrono>

#include "script/names.hpp"
#include "support/rounds.hpp"
#include "sync/multi.hpp"

namespace holdfast::contract {
namespace {

constexpr engine::release_policy policy_of_all{.starvation = short_after};

std::string const& joined() {
  static auto const name = sync::join_names(std::vector<std::string>{three_names.begin(), three_names.end()});
  return name;
}

void check_names(raw_redis& server, all_names const& wanted) {
  for (std::size_t i = 0; i < three_names.size(); ++i) {
    std::string const name{three_names[i]};
    SCOPED_TRACE("name " + name);
    EXPECT_EQ(server.get(name).value_or("nobody"), wanted[i].lock.empty() ? "nobody" : wanted[i].lock);
    if (!wanted[i].lock.empty()) {
      auto const left = server.pttl(name);
      EXPECT_THAT(left, left_of(wanted[i].ttl));
    }
    std::vector<std::string_view> owners;
    for (auto const& one : wanted[i].queue) owners.push_back(one.owner);
    std::vector<std::string> queued;
    for (auto const& one : server.command({"ZRANGE", names::queue(name), "0", "-1"}).elements)
      queued.push_back(one.text);
    EXPECT_THAT(queued, testing::ElementsAreArray(owners));
  }
}

void check_counters(raw_redis& server, all_names const& wanted) {
  for (std::size_t i = 0; i < three_names.size(); ++i) {
    auto const key = names::token_counter(three_names[i]);
    EXPECT_EQ(server.get(key), std::to_string(last_token + wanted[i].tokens)) << key;
    if (wanted[i].tokens != 0) {
      EXPECT_THAT(server.pttl(key), testing::AllOf(testing::Gt(day - minute), testing::Le(day)));
    }
  }
}

}  // namespace

call acquire_all(engine::acquire_request how) {
  how.ttl = std::chrono::milliseconds{full_ttl};
  how.policy = policy_of_all;
  return sync::multi.acquire(joined(), how);
}

call release_all(std::string_view owner) {
  return sync::multi.release({.name = joined(), .owner = owner}, policy_of_all);
}

call pass_all(std::string_view owner, std::string_view next, int tokens) {
  return sync::multi.pass(
      {.name = joined(), .owner = owner}, policy_of_all,
      {.owner = next, .ttl = std::chrono::milliseconds{full_ttl}, .tokens = tokens, .join = true});
}

call abandon_all(std::string_view owner) {
  return sync::multi.abandon({.name = joined(), .owner = owner}, policy_of_all);
}

call renew_all(std::vector<std::pair<std::vector<std::string>, std::string_view>> const& leases) {
  std::vector<std::string> lines;
  std::vector<engine::owned> all;
  lines.reserve(leases.size());
  for (auto const& [names_of_lease, owner] : leases) {
    lines.push_back(sync::join_names(names_of_lease));
    all.push_back({.name = lines.back(), .owner = owner});
  }
  return sync::multi.renew(std::chrono::milliseconds{full_ttl}, all);
}

static void check_once(several_row const& one) {
  auto& server = empty_server();
  auto raw = server.raw();
  for (std::size_t i = 0; i < three_names.size(); ++i) {
    std::string const name{three_names[i]};
    auto const& state = one.given[i];
    if (!state.lock.empty()) {
      raw.command({"SET", name, std::string{state.lock}, "PX", std::to_string(state.ttl)});
    }
    raw.command({"SET", names::token_counter(name), std::to_string(last_token + state.tokens)});
    auto const time = raw.command({"TIME"});
    auto const now = std::stoll(time.elements.at(0).text) * 1'000'000 + std::stoll(time.elements.at(1).text);
    for (auto const& who : state.queue) {
      raw.command(
          {"ZADD", names::queue(name), std::to_string(now - who.for_ms * 1'000), std::string{who.owner}});
    }
  }
  ears inboxes{server, one.listening};
  for (auto const name : three_names) inboxes.add(one.listening, name, "SUBSCRIBE");

  EXPECT_THAT(raw.command(eval(one.call)), one.expect.reply);
  check_names(raw, one.expect.then);
  check_counters(raw, one.expect.then);
  EXPECT_THAT(inboxes.take(), testing::ElementsAreArray(one.expect.messages));

  SCOPED_TRACE("sent twice");
  auto const second = raw.command(eval(one.call));
  EXPECT_THAT(second, one.again ? one.again->reply : testing::A<raw_reply const&>());
  check_names(raw, one.again.value_or(one.expect).then);
  EXPECT_THAT(inboxes.take(),
              testing::ElementsAreArray(one.again ? one.again->messages : std::vector<std::string>{}));
}

void check(several_row const& one) {
  test::unless_it_takes(std::chrono::seconds{1}, [&] { check_once(one); });
}

}  // namespace holdfast::contract
