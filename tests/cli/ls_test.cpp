#include "locks_of_others.hpp"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

namespace {

using namespace holdfast::test;
using nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::MatchesRegex;

class ls : public raw_locks {};

TEST_F(ls, shows_each_lock_in_a_row) {
  hold("orders:42");
  wait_for("orders:42");
  auto command = start({"ls"});
  EXPECT_EQ(command.wait(), 0);
  EXPECT_EQ(command.err(), "");
  EXPECT_THAT(
      command.out(),
      MatchesRegex(
          "NAME +KIND +HOLDER +LABEL +HELD +TTL +TOKEN +WAITING +WIRE\n"
          "orders:42 +exclusive +web-3:812 +nightly import +4[0-9]s([0-9]+ms)? +(5[0-9]s([0-9]+ms)?|1m) +"
          "[0-9]+ +1  plain\n"));
}

TEST_F(ls, keeps_columns_in_line_and_makes_control_characters_harmless) {
  hold("a");
  hold("\x1b[31mred\n\xc2\x9b" + std::string(60, 'x'), "redsync's value");
  auto command = start({"ls"});
  EXPECT_EQ(command.wait(), 0);
  EXPECT_THAT(command.out(),
              AllOf(HasSubstr("\\x1b[31mred\\x0a\\xc2\\x9bxxx"), HasSubstr("\"redsync's value\"")));
  EXPECT_EQ(std::ranges::count(command.out(), '\n'), 3);
  EXPECT_EQ(command.out().find('\x1b'), std::string::npos);
  EXPECT_EQ(command.out().find('\xc2'), std::string::npos);
}

TEST_F(ls, shows_permits_without_a_lease_that_were_taken_days_ago) {
  redis.command({"ZADD", "slots", "-2", "holdfast_permits:3", "8000000000000", std::string{uuid} + ":1:l",
                 "8000000000000002", std::string{uuid} + ":1:l:p"});
  redis.command({"PEXPIRE", "slots", "3153600000000"});
  auto command = start({"ls"});
  EXPECT_EQ(command.wait(), 0);
  EXPECT_THAT(command.out(), MatchesRegex("NAME .*\nslots +permits +.* for ever +.*plain\n"));
}

TEST_F(ls, prints_bare_names_for_scripts_if_each_is_one_line) {
  hold("nightly import");
  hold("two\nlines");
  auto command = start({"ls", "--names"});
  EXPECT_EQ(command.wait(), 0);
  EXPECT_EQ(command.out(), "nightly import\n");
  EXPECT_EQ(command.err(), "holdfast: a name with control characters left out; --json shows all\n");
}

TEST_F(ls, prints_an_object_a_line_as_json) {
  hold("orders:42");
  wait_for("waited for");
  redis.command({"SET", holdfast::names::token_counter("waited for"), "41"});
  hold("unknown", std::string{other_uuid} + ":1");
  auto command = start({"ls", "--json"});
  EXPECT_EQ(command.wait(), 0);
  auto all = objects(command.out());
  ASSERT_EQ(all.size(), 3U);
  std::ranges::sort(all, {}, [](json const& object) { return object.at("name").get<std::string>(); });
  EXPECT_THAT(all[0].at("held_ms").get<int>(), testing::Ge(41'500));
  EXPECT_THAT(all[0].at("ttl_ms").get<int>(), AllOf(testing::Gt(30'000), testing::Le(60'000)));
  EXPECT_GT(all[0].at("token").get<std::int64_t>(), 1'700'000'000'000'000);
  all[0].erase("held_ms");
  auto const ttl = all[0].at("ttl_ms");
  all[0].erase("ttl_ms");
  all[0].erase("token");
  EXPECT_EQ(all[0].at("holders")[0].at("ttl_ms"), ttl);
  all[0]["holders"][0].erase("ttl_ms");
  EXPECT_EQ(all[0], json::parse(R"({"name": "orders:42", "kind": "exclusive", "type": "string", "waiting": 0,
    "holder": {"owner": "11111111-1111-4111-8111-111111111111:1", "host": "web-3", "pid": 812,
               "program": "import", "label": "nightly import"},
    "wire": "plain", "holding": 1, "fair": false, "available": null, "permits": null, "generation": null, "counts": null, "misfit": null, "leads": null,
    "holders": [{"owner": "11111111-1111-4111-8111-111111111111:1", "host": "web-3", "pid": 812,
                 "program": "import", "label": "nightly import", "side": "exclusive", "count": 1}]})"));
  EXPECT_EQ(all[1].at("holder").at("host"), nullptr);
  EXPECT_EQ(all[1].at("holder").at("pid"), nullptr);
  EXPECT_EQ(all[2], json::parse(R"({"name": "waited for", "kind": "free", "type": "none", "holder": null,
    "held_ms": null, "ttl_ms": null, "token": 41, "waiting": 1, "wire": "plain", "holding": 0, "holders": [],
    "fair": false, "available": null, "permits": null, "generation": null, "counts": null, "misfit": null, "leads": null})"));
}

TEST_F(ls, shows_only_names_that_match) {
  for (auto const* const name : {"orders:1", "orders:2", "stock"}) hold(name);
  auto command = start({"ls", "--json", "orders:?"});
  EXPECT_EQ(command.wait(), 0);
  EXPECT_EQ(objects(command.out()).size(), 2U);
}

TEST_F(ls, says_on_stderr_that_there_is_nothing) {
  auto all = start({"ls"});
  EXPECT_EQ(all.wait(), 0);
  EXPECT_EQ(all.out(), "");
  EXPECT_THAT(all.err(), MatchesRegex("holdfast: no lock on redis.* is held or waited for\n"));
  auto matching = start({"ls", "orders:*", "--json"});
  EXPECT_EQ(matching.wait(), 0);
  EXPECT_EQ(matching.out(), "");
  EXPECT_THAT(matching.err(), HasSubstr("no lock \"orders:*\" on"));
}

TEST_F(ls, has_json_that_does_nothing_to_a_terminal) {
  std::string const name{"\xc2\x9b\x7f\xe2\x80\xae\x1b\xc3\xa9"};
  hold(name);
  auto command = start({"ls", "--json"});
  EXPECT_EQ(command.wait(), 0);
  EXPECT_THAT(command.out(), HasSubstr("\\u009b\\u007f\\u202e\\u001b\xc3\xa9"));
  EXPECT_EQ(json::parse(command.out()).at("name"), name);
}

TEST_F(ls, takes_what_is_no_text_for_unknown_characters_in_json) {
  hold("\xff\xfe");
  auto command = start({"ls", "--json"});
  EXPECT_EQ(command.wait(), 0);
  EXPECT_EQ(objects(command.out()).at(0).at("name"), "\xef\xbf\xbd\xef\xbf\xbd");
}

TEST_F(ls, shows_an_election_whose_leader_has_said_so) {
  for (auto const* const name : {"led", "not yet led"}) hold(name);
  redis.command({"HSET", holdfast::names::leader("led"), "owner", std::string{uuid} + ":1", "term", "7",
                 "value", std::string(60'000, 'v')});
  auto table = start({"ls"});
  EXPECT_EQ(table.wait(), 0);
  EXPECT_THAT(table.out(), testing::ContainsRegex("\nled +election "));
  EXPECT_THAT(table.out(), testing::ContainsRegex("\nnot yet led +exclusive "));
  auto command = start({"ls", "led", "--json"});
  EXPECT_EQ(command.wait(), 0);
  auto const lock = objects(command.out()).at(0);
  EXPECT_EQ(lock["kind"], "exclusive");
  EXPECT_EQ(lock["leads"]["term"], 7);
  EXPECT_EQ(lock["leads"]["value"], std::string(1'024, 'v')) << "the beginning of it";
}

TEST_F(ls, does_not_take_its_connection_for_an_output_that_was_closed) {
  hold("job");
  process closed{{"sh", "-c", "exec " HOLDFAST_CLI " ls --url " + server.url() + " <&- >&-"}};
  EXPECT_EQ(closed.wait(), 70);
  EXPECT_EQ(closed.err(), "holdfast: can't write to stdout: Bad file descriptor\n");
}

TEST_F(ls, ends_without_a_word_when_nobody_reads) {
  for (int i = 0; i < 50; ++i) hold("job:" + std::to_string(i));
  for (std::string const trap : {"", "trap '' PIPE; "}) {
    process pipe{{"bash", "-c",
                  trap +
                      "exec 3> >(:); wait $!; "  // the reader has ended
                      HOLDFAST_CLI " ls --url " +
                      server.url() + " >&3 3>&-; exit $?"}};
    EXPECT_EQ(pipe.wait(), 128 + SIGPIPE) << trap;
    EXPECT_EQ(pipe.err(), "") << trap;
  }
}

TEST_F(ls, fails_when_its_output_can_not_be_written) {
  hold("orders");
  process full{shell(HOLDFAST_CLI " ls --url " + server.url() + " > /dev/full")};
  EXPECT_EQ(full.wait(), 70);
  EXPECT_THAT(full.err(), HasSubstr("can't write to stdout: No space left"));
}

TEST(looking, does_not_start_a_private_server) {
  temporary_folder runtime;
  auto command = holdfast_command({"ls", "--local"}, {{"HOLDFAST_LOCAL_DIR", runtime.path().string()}});
  EXPECT_EQ(command.wait(), 69);
  EXPECT_THAT(command.err(), AllOf(HasSubstr("no private Redis runs"), HasSubstr("--url")));
  EXPECT_TRUE(std::filesystem::is_empty(runtime.path()));
}

TEST(looking, uses_the_private_server_that_runs) {
  temporary_folder runtime;
  redis_server const server;
  std::filesystem::create_symlink(server.socket_path(), runtime / "redis.sock");
  auto command = holdfast_command({"inspect", "--local", "--json", "orders"},
                                  {{"HOLDFAST_LOCAL_DIR", runtime.path().string()}});
  EXPECT_EQ(command.wait(), 1) << command.err();
  EXPECT_EQ(json::parse(command.out()).at("kind"), "free");
}

}  // namespace
