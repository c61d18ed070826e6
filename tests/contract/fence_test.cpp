// The scripts of a fence.

#include <map>

#include "contract/contract.hpp"
#include "script/names.hpp"
#include "scripts/fence.hpp"

namespace holdfast::contract::fence_test {

namespace lua = holdfast::scripts::fence;
namespace names = holdfast::names;
using state = std::map<std::string, std::string>;
using testing::AllOf;
using testing::Ge;
using testing::Le;

constexpr std::int64_t week = 7 * day;
constexpr std::int64_t hour = day / 24;

std::string const resource = "orders";
std::string const mark = names::fence_mark(resource);
std::string const key = "{orders}:total";
std::string const client{caller.substr(0, 36)};
std::string const done = names::fence_done(resource, client, 7);
std::string const earlier = names::fence_done(resource, client, 6);

holdfast::call write(std::int64_t token, words const& command, std::vector<std::string> const& answered = {},
                     std::int64_t remember = week) {
  lua::write script{.mark = {mark},
                    .target = {key},
                    .done = {done},
                    .answered = {},
                    .token = token,
                    .remember_ms = remember,
                    .done_ms = hour,
                    .command = command.front(),
                    .rest = {}};
  for (auto const& done_key : answered) script.answered.push_back({done_key});
  for (auto i = std::size_t{1}; i < command.size(); ++i) script.rest.emplace_back(command[i]);
  return script();
}

holdfast::call claim(std::int64_t token, std::int64_t remember = week) {
  return lua::claim{.mark = {mark}, .token = token, .remember_ms = remember}();
}

/// One row. Each call is made twice; the second call changes nothing and gets the same reply.
struct fence_row {
  std::string name;
  std::vector<words> given{};
  holdfast::call call;
  testing::Matcher<raw_reply const&> reply;
  state after{};                     ///< all keys of type string, with their values
  std::int64_t mark_ttl = week;      ///< an upper limit, which the ttl nearly reaches
  std::optional<words> query{};      ///< a command that reads any other key …
  std::vector<std::string> found{};  ///< … and the texts of its reply
};

std::ostream& operator<<(std::ostream& out, fence_row const& test_case) { return out << test_case.name; }

state texts(raw_redis& server) {
  state all;
  for (auto const& name : server.keys()) {
    if (auto const value = server.command({"GET", name}); !value.is_error()) all[name] = value.text;
  }
  return all;
}

/// Checks the ttl of an expected key.
void check_ttl(raw_redis& server, std::string const& name, state const& expected, std::int64_t ttl) {
  if (!expected.contains(name)) return;
  auto const shortest = ttl == no_ttl ? no_ttl : ttl / 2;
  EXPECT_THAT(server.pttl(name), AllOf(Ge(shortest), Le(ttl))) << name;
}

void check_once(raw_redis& server, fence_row const& test_case) {
  EXPECT_THAT(server.command(eval(test_case.call)), test_case.reply);
  EXPECT_EQ(texts(server), test_case.after);
  check_ttl(server, mark, test_case.after, test_case.mark_ttl);
  check_ttl(server, done, test_case.after, hour);
  if (!test_case.query) return;
  std::vector<std::string> found;
  auto const reply = server.command(*test_case.query);
  for (auto const& element : reply.elements) found.push_back(element.text);
  EXPECT_EQ(found, test_case.found);
}

class fence_script : public testing::TestWithParam<fence_row> {};

std::string title_of(testing::TestParamInfo<fence_row> const& info) { return info.param.name; }

TEST_P(fence_script, keeps_its_contract) {
  auto raw = empty_server().raw();
  for (auto const& command : GetParam().given) ASSERT_FALSE(raw.command(command).is_error());
  check_once(raw, GetParam());
  SCOPED_TRACE("sent twice");
  check_once(raw, GetParam());
}

words const mark_9{"SET", mark, "9", "PX", std::to_string(week)};

INSTANTIATE_TEST_SUITE_P(
    contract_of_claim, fence_script,
    testing::ValuesIn(std::vector<fence_row>{
        {.name = "claim_leaves_a_mark", .call = claim(7), .reply = is(1), .after = {{mark, "7"}}},
        {.name = "claim_raises_the_mark",
         .given = {{"SET", mark, "6"}},
         .call = claim(7),
         .reply = is(1),
         .after = {{mark, "7"}}},
        {.name = "claim_gives_a_mark_of_its_own_token_its_full_time",
         .given = {{"SET", mark, "7", "PX", "5000"}},
         .call = claim(7),
         .reply = is(1),
         .after = {{mark, "7"}}},
        {.name = "claim_is_refused_under_a_newer_mark",
         .given = {mark_9},
         .call = claim(7),
         .reply = is(0),
         .after = {{mark, "9"}}},
        {.name = "claim_remembers_for_ever_when_told_so",
         .call = claim(7, 0),
         .reply = is(1),
         .after = {{mark, "7"}},
         .mark_ttl = no_ttl},
        {.name = "claim_compares_numbers_and_not_words",
         .given = {mark_9},
         .call = claim(10),
         .reply = is(1),
         .after = {{mark, "10"}}},
        {.name = "claim_compares_all_64_bits",
         .given = {{"SET", mark, "9223372036854775807", "PX", std::to_string(week)}},
         .call = claim(9223372036854775806),
         .reply = is(0),
         .after = {{mark, "9223372036854775807"}}},
        {.name = "claim_says_when_the_mark_is_no_token",
         .given = {{"SET", mark, "12 apples", "PX", std::to_string(week)}},
         .call = claim(7),
         .reply = is_error("BADMARK"),
         .after = {{mark, "12 apples"}}},
        {.name = "claim_says_when_the_mark_is_a_list",
         .given = {{"LPUSH", mark, "7"}},
         .call = claim(7),
         .reply = is_error("BADMARK"),
         .query = words{"LRANGE", mark, "0", "-1"},
         .found = {"7"}},
    }),
    title_of);

INSTANTIATE_TEST_SUITE_P(
    contract_of_write, fence_script,
    testing::ValuesIn(std::vector<fence_row>{
        {.name = "write_writes_and_leaves_a_mark",
         .call = write(7, {"SET", "a"}),
         .reply = is(1),
         .after = {{mark, "7"}, {key, "a"}, {done, "written"}}},
        {.name = "write_passes_with_a_newer_token",
         .given = {{"SET", mark, "6"}, {"SET", key, "old"}},
         .call = write(7, {"SET", "a"}),
         .reply = is(1),
         .after = {{mark, "7"}, {key, "a"}, {done, "written"}}},
        {.name = "write_passes_with_the_same_token",
         .given = {{"SET", mark, "7", "PX", "5000"}, {"SET", key, "old"}},
         .call = write(7, {"SET", "a"}),
         .reply = is(1),
         .after = {{mark, "7"}, {key, "a"}, {done, "written"}}},
        {.name = "write_is_refused_with_an_older_token",
         .given = {mark_9, {"SET", key, "new"}},
         .call = write(7, {"SET", "late"}),
         .reply = is(0),
         .after = {{mark, "9"}, {key, "new"}}},
        {.name = "write_remembers_for_ever_when_told_so",
         .call = write(7, {"SET", "a"}, {}, 0),
         .reply = is(1),
         .after = {{mark, "7"}, {key, "a"}, {done, "written"}},
         .mark_ttl = no_ttl},
        {.name = "write_appends_once_though_sent_twice",
         .given = {{"SET", key, "a"}},
         .call = write(7, {"APPEND", "b"}),
         .reply = is(1),
         .after = {{mark, "7"}, {key, "ab"}, {done, "written"}}},
        {.name = "write_that_was_made_before_stays_made_under_a_newer_mark",
         .given = {mark_9, {"SET", key, "ab"}, {"SET", done, "written", "PX", std::to_string(hour)}},
         .call = write(7, {"APPEND", "b"}),
         .reply = is(1),
         .after = {{mark, "9"}, {key, "ab"}, {done, "written"}}},
        {.name = "write_that_had_begun_only_is_made",
         .given = {{"SET", done, "begun"}, {"SET", key, "a"}},
         .call = write(7, {"APPEND", "b"}),
         .reply = is(1),
         .after = {{mark, "7"}, {key, "ab"}, {done, "written"}}},
        {.name = "write_increments_once_though_sent_twice",
         .given = {{"SET", key, "9007199254740993"}},
         .call = write(7, {"INCRBY", "2"}),
         .reply = is(1),
         .after = {{mark, "7"}, {key, "9007199254740995"}, {done, "written"}}},
        {.name = "write_sets_fields_of_a_hash",
         .call = write(7, {"HSET", "one", "1", "two", "2"}),
         .reply = is(1),
         .after = {{mark, "7"}, {done, "written"}},
         .query = words{"HGETALL", key},
         .found = {"one", "1", "two", "2"}},
        {.name = "write_erases",
         .given = {{"SET", key, "a"}},
         .call = write(7, {"DEL"}),
         .reply = is(1),
         .after = {{mark, "7"}, {done, "written"}}},
        {.name = "write_clears_away_what_was_answered",
         .given = {{"SET", earlier, "written"}},
         .call = write(7, {"SET", "a"}, {earlier}),
         .reply = is(1),
         .after = {{mark, "7"}, {key, "a"}, {done, "written"}}},
        {.name = "write_of_a_key_of_another_type_changes_nothing",
         .given = {{"SET", mark, "6", "PX", std::to_string(week)}, {"LPUSH", key, "x"}},
         .call = write(7, {"APPEND", "b"}),
         .reply = is_error("WRONGTYPE"),
         .after = {{mark, "6"}},
         .query = words{"LRANGE", key, "0", "-1"},
         .found = {"x"}},
        {.name = "write_that_fails_leaves_no_mark",
         .given = {{"SET", key, "abc"}},
         .call = write(7, {"INCRBY", "1"}),
         .reply = is_error("ERR value is not an integer"),
         .after = {{key, "abc"}}},
        {.name = "write_by_an_unknown_command_changes_nothing",
         .call = write(7, {"NOTACOMMAND"}),
         .reply = is_error("ERR Unknown "),
         .after = {}},
        {.name = "write_says_when_the_mark_is_no_token",
         .given = {{"SET", mark, "7.5", "PX", std::to_string(week)}},
         .call = write(7, {"SET", "a"}),
         .reply = is_error("BADMARK"),
         .after = {{mark, "7.5"}}},
        {.name = "write_says_when_the_mark_is_a_list",
         .given = {{"LPUSH", mark, "7"}},
         .call = write(7, {"SET", "a"}),
         .reply = is_error("BADMARK"),
         .after = {}},
    }),
    title_of);

/// Logs in as a user with all rights of a fence on `{orders}`, except `revoked`.
void become_limited(raw_redis& raw, std::string const& revoked) {
  raw.command({"ACL", "SETUSER", "limited", "reset", "on", "nopass", "~" + key, "~{orders}:holdfast_fence*",
               "+eval", "+get", "+set", "+del", "+append", revoked});
  raw.command({"AUTH", "limited", "any"});
}

TEST(fence_scripts, need_no_more_than_their_documented_rights) {
  auto raw = empty_server().raw();
  become_limited(raw, "+append");
  EXPECT_THAT(raw.command(eval(claim(7))), is(1));
  EXPECT_THAT(raw.command(eval(write(7, {"APPEND", "a"}, {earlier}))), is(1));
}

TEST(fence_scripts, change_nothing_when_a_right_is_missing) {
  for (std::string const revoked : {"-set", "-append", "resetkeys", "-get"}) {
    SCOPED_TRACE(revoked);
    auto& server = empty_server();
    auto raw = server.raw();
    become_limited(raw, revoked);
    EXPECT_TRUE(raw.command(eval(write(7, {"APPEND", "a"}))).is_error());
    EXPECT_THAT(server.raw().keys(), testing::IsEmpty());
  }
}

TEST(fence_scripts, change_nothing_when_the_server_has_no_memory) {
  auto& server = empty_server();
  auto raw = server.raw();
  raw.command({"CONFIG", "SET", "maxmemory", "1"});
  EXPECT_THAT(raw.command(eval(write(7, {"APPEND", "a"}))), is_error("OOM"));
  EXPECT_THAT(raw.command(eval(claim(7))), is_error("OOM"));
  raw.command({"CONFIG", "SET", "maxmemory", "0"});
  EXPECT_THAT(raw.keys(), testing::IsEmpty());
}

}  // namespace holdfast::contract::fence_test
