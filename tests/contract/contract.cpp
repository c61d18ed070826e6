#include "contract/contract.hpp"

#include <charconv>
#include <chrono>
#include <cstdlib>
#include <map>
#include <set>
#include <stdexcept>

#include "script/names.hpp"
#include "support/eventually.hpp"
#include "support/rounds.hpp"

namespace holdfast::contract {
namespace {

using raw_kind = raw_reply::kind;
using clock = std::chrono::steady_clock;

clock::time_point emptied;

/// Names of the scripts that the server that was asked for last has as commands, and "take", "give".
std::set<std::string> commands_of_the_module;

/// HOLDFAST_CONTRACT_MODULE in the environment is the module to load: the tables hold for its commands, too.
std::vector<std::string> module_arguments() {
  auto const* const module = std::getenv("HOLDFAST_CONTRACT_MODULE");
  return module == nullptr ? std::vector<std::string>{} : std::vector<std::string>{"--loadmodule", module};
}

void find_commands(raw_redis server) {
  if (std::getenv("HOLDFAST_CONTRACT_MODULE") == nullptr) return;
  auto const names = server.command({"HOLDFAST.VERSION"}).elements;
  commands_of_the_module.clear();
  for (std::size_t i = 1; i < names.size(); ++i) commands_of_the_module.insert(names[i].text);
  if (commands_of_the_module.empty()) throw std::runtime_error{"the server has no module"};
}

engine::release_policy test_policy{.starvation = std::chrono::seconds{10}};

std::string text(std::string_view view) { return std::string{view}; }

std::int64_t server_micros(raw_redis& server) {
  auto const time = server.command({"TIME"});
  return std::stoll(time.elements.at(0).text) * 1'000'000 + std::stoll(time.elements.at(1).text);
}

std::vector<std::string> queue_of(raw_redis& server) {
  std::vector<std::string> owners;
  for (auto const& element : server.command({"ZRANGE", names::queue(lock_name), "0", "-1"}).elements)
    owners.push_back(element.text);
  return owners;
}

void check_ttl(raw_redis& server, std::string const& key, std::int64_t ttl) {
  auto const left = server.pttl(key);
  if (ttl == no_ttl) {
    EXPECT_EQ(left, no_ttl) << key;
  } else {
    EXPECT_THAT(left, left_of(ttl)) << key;
  }
}

void check_lock_and_queue(raw_redis& server, expect const& wanted) {
  EXPECT_EQ(server.get(text(lock_name)).value_or("nobody"), wanted.lock.empty() ? "nobody" : wanted.lock);
  if (!wanted.lock.empty()) check_ttl(server, text(lock_name), wanted.ttl);
  EXPECT_THAT(queue_of(server), testing::ElementsAreArray(wanted.queue));
  if (!wanted.queue.empty()) {
    EXPECT_GT(server.pttl(names::queue(lock_name)), 0) << "it would stay for ever";
  }
}

void check_readers(raw_redis& server, std::vector<reader> const& wanted) {
  auto const key = names::readers(lock_name);
  auto const found = server.command({"ZRANGE", key, "0", "-1", "WITHSCORES"}).elements;
  ASSERT_EQ(found.size(), 2 * wanted.size());
  auto const now_ms = server_micros(server) / 1000;
  for (std::size_t i = 0; i != wanted.size(); ++i) {
    EXPECT_EQ(found[2 * i].text, wanted[i].owner);
    EXPECT_THAT(std::stoll(found[2 * i + 1].text) - now_ms, left_of(wanted[i].left_ms)) << wanted[i].owner;
  }
  if (!wanted.empty()) check_ttl(server, key, wanted.back().left_ms);
}

void check_counter(raw_redis& server, given const& before, expect const& wanted) {
  auto const key = names::token_counter(lock_name);
  auto const counter = server.get(key);
  EXPECT_EQ(counter.value_or("absent"), wanted.counter ? std::to_string(*wanted.counter) : "absent");
  if (counter && before.counter != wanted.counter) check_ttl(server, key, day);
}

/// A row whose lock key has another type sets it in `setup` and expects no change.
bool holds_other_type(raw_redis& server) {
  auto const type = server.command({"TYPE", text(lock_name)}).text;
  return type != "string" && type != "none";
}

}  // namespace

testing::Matcher<raw_reply const&> is_number(testing::Matcher<std::int64_t> const& number) {
  return testing::AllOf(testing::Field("what", &raw_reply::type, raw_kind::integer),
                        testing::Field("integer", &raw_reply::integer, number));
}

testing::Matcher<raw_reply const&> is_text(std::string_view wanted) {
  return testing::AllOf(testing::Field("what", &raw_reply::type, raw_kind::text),
                        testing::Field("text", &raw_reply::text, text(wanted)));
}

testing::Matcher<raw_reply const&> is_array(std::vector<testing::Matcher<raw_reply const&>> const& elements) {
  return testing::AllOf(
      testing::Field("what", &raw_reply::type, raw_kind::array),
      testing::Field("elements", &raw_reply::elements, testing::ElementsAreArray(elements)));
}

testing::Matcher<raw_reply const&> is(std::int64_t n) { return is_number(n); }

testing::Matcher<raw_reply const&> is_list(std::vector<testing::Matcher<std::int64_t>> const& numbers) {
  std::vector<testing::Matcher<raw_reply const&>> elements;
  for (auto const& number : numbers) elements.push_back(is_number(number));
  return is_array(elements);
}

testing::Matcher<raw_reply const&> is_busy(testing::Matcher<std::int64_t> const& pttl,
                                           testing::Matcher<std::int64_t> const& ahead,
                                           testing::Matcher<std::int64_t> const& ticket,
                                           std::string_view holder,
                                           testing::Matcher<std::int64_t> const& held_us,
                                           std::int64_t counter) {
  return is_array({is_number(pttl), is_number(ahead), is_number(ticket), is_number(counter), is_text(holder),
                   is_number(held_us)});
}

testing::Matcher<raw_reply const&> is_passed_on(testing::Matcher<std::int64_t> const& pttl,
                                                testing::Matcher<std::int64_t> const& ahead,
                                                std::string_view holder, std::int64_t counter) {
  return is_array({is_number(2), is_number(pttl), is_number(ahead), is_number(testing::Gt(0)),
                   is_number(counter), is_text(holder), is_number(-1)});
}

testing::Matcher<raw_reply const&> is_error(std::string const& start) {
  return testing::AllOf(testing::Field("what", &raw_reply::type, raw_kind::error),
                        testing::Field("text", &raw_reply::text, testing::StartsWith(start)));
}

std::string woken(std::string_view owner, std::string_view name) {
  return names::inbox(owner.substr(0, 36), name) + " woken " + text(owner.substr(37)) + " " + text(name);
}

std::string granted(std::string_view owner, std::int64_t token, std::int64_t count, std::string_view name) {
  return names::inbox(owner.substr(0, 36), name) + " granted " + text(owner.substr(37)) + " " +
         std::to_string(token) + " " + std::to_string(count) + " " + text(name);
}

call acquire(engine::acquire_request request, std::string_view name) {
  request.ttl = std::chrono::milliseconds{full_ttl};
  return recipes::plain::exclusive.acquire(name, request);
}

call release(std::string_view owner, std::string_view name) {
  return recipes::plain::exclusive.release({.name = name, .owner = owner}, test_policy);
}

call pass(std::string_view owner, std::string_view next, int tokens, std::string_view name) {
  return recipes::plain::exclusive.pass(
      {.name = name, .owner = owner}, test_policy,
      {.owner = next, .ttl = std::chrono::milliseconds{full_ttl}, .tokens = tokens, .join = true});
}

call abandon(std::string_view owner, std::string_view name) {
  return recipes::plain::exclusive.abandon({.name = name, .owner = owner}, test_policy);
}

call renew(std::vector<engine::owned> const& leases) {
  return recipes::plain::exclusive.renew(std::chrono::milliseconds{full_ttl}, leases);
}

call fair_acquire(engine::acquire_request request, std::string_view name) {
  request.ttl = std::chrono::milliseconds{full_ttl};
  request.policy.publish = test_policy.publish;
  return recipes::plain::fair.acquire(name, request);
}

call fair_pass(std::string_view owner, std::string_view next, std::chrono::microseconds next_waited,
               std::string_view name) {
  return recipes::plain::fair.pass(
      {.name = name, .owner = owner}, test_policy,
      {.owner = next, .ttl = std::chrono::milliseconds{full_ttl}, .join = true, .waited = next_waited});
}

engine::acquire_request join_request(std::string_view owner, std::string_view ticket) {
  return {.owner = owner, .join = true, .ticket = ticket};
}

engine::acquire_request join_request_after(std::chrono::microseconds waited, std::string_view owner) {
  return {.owner = owner, .join = true, .waited = waited};
}

engine::acquire_request try_request(std::string_view owner, int tokens) {
  return {.owner = owner, .tokens = tokens};
}

publishing_scope::publishing_scope(engine::publishing mode) { test_policy.publish = mode; }
publishing_scope::~publishing_scope() { test_policy.publish = engine::publishing::counted; }

/// A command of few words, and what stands at its end unless it is said otherwise.
struct brief_command {
  std::string name;
  words usual;
};
std::map<std::string, brief_command> const brief_commands{
    {"exclusive.acquire", {"take", {"1", "join", ""}}},
    {"exclusive.release", {"give", {"100000", "2000", "PUBLISH"}}},
    {"shared.acquire", {"take_shared", {"join", "", "0", "", "2000", "PUBLISH"}}},
    {"shared.release", {"give_shared", {"0", "2000", "PUBLISH"}}},
    {"permits.acquire", {"take_permits", {"join", "", "0", "2000", "PUBLISH"}}},
    {"permits.release", {"give_permits", {"2000", "PUBLISH"}}}};

/// The same call in the fewest words that mean it, where the module has such a command: as clients send it.
std::optional<words> in_brief(std::string const& script, words const& full) {
  auto const found = brief_commands.find(script);
  if (found == brief_commands.end()) return std::nullopt;
  auto const& [name, usual] = found->second;
  if (!commands_of_the_module.contains(name)) return std::nullopt;
  auto const keys = std::stoi(full[1]);
  auto const of_permits = script.starts_with("permits");
  words const usual_keys{full[2], names::token_counter(full[2]),
                         of_permits ? names::permit_queue(full[2]) : names::queue(full[2]),
                         of_permits ? names::permits(full[2]) : names::readers(full[2])};
  if (!std::equal(full.begin() + 2, full.begin() + 2 + keys, usual_keys.begin())) return std::nullopt;
  words result{"HOLDFAST." + name, full[2]};
  result.insert(result.end(), full.begin() + 2 + keys, full.end());
  for (auto last = usual.rbegin(); last != usual.rend() && result.back() == *last; ++last) result.pop_back();
  return result;
}

static words with_arguments(words result, call const& script_call) {
  for (std::string_view remaining = script_call.tail(); !remaining.empty();) {
    auto const line_end = remaining.find("\r\n");
    std::size_t size = 0;
    std::from_chars(remaining.data() + 1, remaining.data() + line_end, size);
    result.push_back(text(remaining.substr(line_end + 2, size)));
    remaining.remove_prefix(line_end + 2 + size + 2);
  }
  return result;
}

static words by_script(call const& script_call) {
  return with_arguments({"EVAL", text(script_call.source->text)}, script_call);
}

words eval(call const& script_call) {
  auto const name = text(script_call.source->name);
  if (!commands_of_the_module.contains(name)) return by_script(script_call);
  auto result = with_arguments({"HOLDFAST." + name}, script_call);
  if (auto brief = in_brief(name, result)) return *brief;
  return result;
}

raw_reply ask(raw_redis& server, call const& script_call) {
  auto reply = server.command(eval(script_call));
  return reply.is_error() && reply.text.starts_with("BYSCRIPT") ? server.command(by_script(script_call))
                                                                : reply;
}

testing::Matcher<std::int64_t> left_of(std::int64_t ttl) {
  auto const is_left = [ttl](std::int64_t left) {
    auto const elapsed = std::chrono::ceil<std::chrono::milliseconds>(clock::now() - emptied).count();
    return left <= ttl && left >= ttl - elapsed - 1;
  };
  return testing::Truly(is_left);
}

test::redis_server& empty_server() {
  static test::redis_server server{module_arguments()};
  find_commands(server.raw());
  emptied = clock::now();
  server.raw().command({"FLUSHALL"});
  return server;
}

test::redis_server& empty_cluster() {
  emptied = clock::now();
  auto arguments = module_arguments();
  for (auto const& word : {std::string{"--cluster-enabled"}, std::string{"yes"},
                           std::string{"--cluster-port"}, std::to_string(test::free_port())})
    arguments.push_back(word);
  static auto server =
      test::redis_server::with({.transport = test::server_transport::tcp, .args = arguments});
  auto raw = server.raw();
  raw.command({"CLUSTER", "ADDSLOTSRANGE", "0", "16383"});
  auto const ready = test::eventually(std::chrono::seconds{30}, [&raw] {
    return raw.command({"CLUSTER", "INFO"}).text.find("cluster_state:ok") != std::string::npos;
  });
  if (!ready) throw std::runtime_error{"the cluster of one node has not come up"};
  raw.command({"FLUSHALL"});
  find_commands(server.raw());
  return server;
}

void prepare(raw_redis& server, given const& state) {
  auto const lock = text(lock_name);
  if (!state.lock.empty()) server.command({"SET", lock, text(state.lock)});
  if (!state.lock.empty() && state.ttl != no_ttl)
    server.command({"PEXPIRE", lock, std::to_string(state.ttl)});
  if (state.counter) server.command({"SET", names::token_counter(lock_name), std::to_string(*state.counter)});
  auto const now = server_micros(server);
  for (auto const& entry : state.queue) {
    server.command(
        {"ZADD", names::queue(lock_name), std::to_string(now - entry.waited_ms * 1'000), text(entry.owner)});
    server.command({"PEXPIRE", names::queue(lock_name), std::to_string(minute)});
  }
  for (auto const& reader : state.readers) {
    server.command({"ZADD", names::readers(lock_name), std::to_string(now / 1'000 + reader.left_ms),
                    text(reader.owner)});
    server.command({"PEXPIRE", names::readers(lock_name), std::to_string(state.ttl)});
  }
  for (auto const& command : state.setup) {
    ASSERT_FALSE(server.command(command).is_error()) << command.front();
  }
}

/// The shortest time that a script asks about: whether a waiter has come just now. A row must end well within
/// it.
constexpr std::chrono::milliseconds just_now{100};

static void check_once(row const& test_case) {
  auto& server = empty_server();
  auto raw = server.raw();
  prepare(raw, test_case.given);
  subscription inboxes{server, test_case.given.listening};
  auto const lock = text(lock_name);

  EXPECT_THAT(ask(raw, test_case.call), test_case.expect.reply);
  if (!holds_other_type(raw)) check_lock_and_queue(raw, test_case.expect);
  check_counter(raw, test_case.given, test_case.expect);
  check_readers(raw, test_case.expect.readers);
  EXPECT_THAT(inboxes.take(), testing::ElementsAreArray(test_case.expect.messages));

  SCOPED_TRACE("sent twice");
  auto const second = ask(raw, test_case.call);
  EXPECT_THAT(second, test_case.again ? test_case.again->reply : testing::A<raw_reply const&>());
  if (!holds_other_type(raw)) check_lock_and_queue(raw, test_case.again.value_or(test_case.expect));
  check_readers(raw, test_case.again.value_or(test_case.expect).readers);
  EXPECT_THAT(inboxes.take(), testing::ElementsAreArray(test_case.again ? test_case.again->messages
                                                                        : std::vector<std::string>{}));
}

void check(row const& test_case) {
  test::retry_if_slower_than(just_now / 2, [&] { check_once(test_case); });
}

}  // namespace holdfast::contract
