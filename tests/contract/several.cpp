#include "contract/several.hpp"

#include <chrono>

#include "script/names.hpp"
#include "support/rounds.hpp"
#include "wire/lock_names.hpp"
#include "wire/plain/multi.hpp"

namespace holdfast::contract {
namespace {

constexpr engine::release_policy policy_of_all{.starvation = starvation_limit};

std::string const& joined() {
  static auto const name =
      recipes::join_names(std::vector<std::string>{three_names.begin(), three_names.end()});
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
    for (auto const& entry : wanted[i].queue) owners.push_back(entry.owner);
    std::vector<std::string> queued;
    for (auto const& element : server.command({"ZRANGE", names::queue(name), "0", "-1"}).elements)
      queued.push_back(element.text);
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

call acquire_all(engine::acquire_request request) {
  request.ttl = std::chrono::milliseconds{full_ttl};
  request.policy = policy_of_all;
  return recipes::plain::multi.acquire(joined(), request);
}

call release_all(std::string_view owner) {
  return recipes::plain::multi.release({.name = joined(), .owner = owner}, policy_of_all);
}

call pass_all(std::string_view owner, std::string_view next, int tokens) {
  return recipes::plain::multi.pass(
      {.name = joined(), .owner = owner}, policy_of_all,
      {.owner = next, .ttl = std::chrono::milliseconds{full_ttl}, .tokens = tokens, .join = true});
}

call abandon_all(std::string_view owner) {
  return recipes::plain::multi.abandon({.name = joined(), .owner = owner}, policy_of_all);
}

call renew_all(std::vector<std::pair<std::vector<std::string>, std::string_view>> const& leases) {
  std::vector<std::string> joined_names;
  std::vector<engine::owned> all;
  joined_names.reserve(leases.size());
  for (auto const& [names_of_lease, owner] : leases) {
    joined_names.push_back(recipes::join_names(names_of_lease));
    all.push_back({.name = joined_names.back(), .owner = owner});
  }
  return recipes::plain::multi.renew(std::chrono::milliseconds{full_ttl}, all);
}

static void check_once(several_row const& test_case) {
  auto& server = empty_server();
  auto raw = server.raw();
  for (std::size_t i = 0; i < three_names.size(); ++i) {
    std::string const name{three_names[i]};
    auto const& state = test_case.given[i];
    if (!state.lock.empty()) {
      raw.command({"SET", name, std::string{state.lock}, "PX", std::to_string(state.ttl)});
    }
    raw.command({"SET", names::token_counter(name), std::to_string(last_token + state.tokens)});
    auto const time = raw.command({"TIME"});
    auto const now = std::stoll(time.elements.at(0).text) * 1'000'000 + std::stoll(time.elements.at(1).text);
    for (auto const& entry : state.queue) {
      raw.command({"ZADD", names::queue(name), std::to_string(now - entry.waited_ms * 1'000),
                   std::string{entry.owner}});
    }
  }
  subscription inboxes{server, test_case.listening};
  for (auto const name : three_names) inboxes.add(test_case.listening, name, "SUBSCRIBE");

  EXPECT_THAT(raw.command(eval(test_case.call)), test_case.expect.reply);
  check_names(raw, test_case.expect.after);
  check_counters(raw, test_case.expect.after);
  EXPECT_THAT(inboxes.take(), testing::ElementsAreArray(test_case.expect.messages));

  SCOPED_TRACE("sent twice");
  auto const second = raw.command(eval(test_case.call));
  EXPECT_THAT(second, test_case.again ? test_case.again->reply : testing::A<raw_reply const&>());
  check_names(raw, test_case.again.value_or(test_case.expect).after);
  EXPECT_THAT(inboxes.take(), testing::ElementsAreArray(test_case.again ? test_case.again->messages
                                                                        : std::vector<std::string>{}));
}

void check(several_row const& test_case) {
  test::retry_if_slower_than(std::chrono::milliseconds{50}, [&] { check_once(test_case); });
}

}  // namespace holdfast::contract
