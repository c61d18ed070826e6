#include "locks_of_others.hpp"

namespace {

using namespace holdfast::test;
using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::MatchesRegex;

class inspect : public raw_locks {
 protected:
  std::string output_of(words const& arguments, int const code = 0) {
    auto command = start(arguments);
    EXPECT_EQ(command.wait(), code);
    EXPECT_EQ(command.err(), "");
    return command.out();
  }
};

TEST_F(inspect, shows_all_about_a_lock_and_its_queue_in_order) {
  hold("orders");
  wait_for("orders");
  redis.command({"ZADD", holdfast::names::queue("orders"), std::to_string(micros_ago(2'500'000)),
                 std::string{uuid} + ":9"});
  EXPECT_THAT(
      output_of({"inspect", "orders"}),
      MatchesRegex("name      orders\n"
                   "wire      plain\n"
                   "kind      exclusive: held by a client of Holdfast\n"
                   "holder    web-3 pid 812\n"
                   "label     nightly import\n"
                   "program   import\n"
                   "owner     11111111-1111-4111-8111-111111111111:1\n"
                   "held for  4[0-9]s([0-9]+ms)?\n"
                   "ttl left  (5[0-9]s([0-9]+ms)?|1m)\n"
                   "token     [0-9]+\n"
                   "waiting   2\n"
                   "    1. waits [5-9]s([0-9]+ms)? +unknown \\(22222222-2222-4222-8222-222222222222:7\\)\n"
                   "    2. waits [2-6]s([0-9]+ms)? +web-3 pid 812 'nightly import'\n"));
}

TEST_F(inspect, shows_who_goes_first_by_its_policy) {
  hold("orders");
  wait_for("orders");
  constexpr std::int64_t head_start = 500'000'000'000'000;
  auto const wait_first = [&](std::string const& waiter) {
    redis.command({"ZADD", holdfast::names::queue("orders"),
                   std::to_string(micros_ago(2'500'000) - head_start), std::string{uuid} + waiter});
  };
  wait_first(":8");
  wait_first(":9:r");
  EXPECT_THAT(
      output_of({"inspect", "orders"}),
      testing::ContainsRegex("    1. waits [2-6]s[^\n]* 'nightly import', first by its policy\n"
                             "    2. waits [2-6]s[^\n]* 'nightly import', to read, first by its policy\n"
                             "    3. waits [5-9]s[^\n]* unknown [^\n,]*\n"));
  auto const queue = objects(output_of({"inspect", "--json", "orders"}))[0].at("queue");
  ASSERT_EQ(queue.size(), 3U);
  EXPECT_EQ(queue[0].at("preferred"), true);
  EXPECT_EQ(queue[1].at("preferred"), true);
  EXPECT_EQ(queue[2].at("preferred"), false);
}

TEST_F(inspect, says_with_verbose_in_which_way_the_server_is_asked_for_locks) {
  hold("orders");
  auto const last_line_of = [this](words const& arguments) {
    auto command = start(arguments);
    EXPECT_EQ(command.wait(), 0);
    auto const all = command.out();
    return all.substr(all.rfind('\n', all.size() - 2) + 1);
  };
  EXPECT_EQ(last_line_of({"inspect", "--verbose", "orders", "--url", server.url() + "?cas=lua"}),
            "way       scripts\n");
  EXPECT_THAT(last_line_of({"inspect", "orders"}), testing::Not(HasSubstr("way")));
}

TEST_F(inspect, prints_one_object_as_json) {
  hold("orders");
  wait_for("orders");
  auto const all = objects(output_of({"inspect", "--json", "orders"}));
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].at("holder").at("label"), "nightly import");
  ASSERT_EQ(all[0].at("queue").size(), 1U);
  EXPECT_EQ(all[0].at("queue")[0].at("owner"), std::string{other_uuid} + ":7");
  EXPECT_EQ(all[0].at("queue")[0].at("host"), nullptr);
  EXPECT_GE(all[0].at("queue")[0].at("waited_ms"), 5'500);
}

TEST_F(inspect, names_the_trace_of_the_holder_in_its_json) {
  constexpr auto trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  hold("orders");
  hold("other", std::string{uuid} + ":2");
  redis.command({"HSET", holdfast::names::client_record(uuid), "traces", std::string{"1="} + trace});
  EXPECT_EQ(objects(output_of({"inspect", "--json", "orders"}))[0].at("holder").at("trace"), trace);
  EXPECT_FALSE(objects(output_of({"inspect", "--json", "other"}))[0].at("holder").contains("trace"));
}

TEST_F(inspect, says_what_is_no_lock_of_holdfast) {
  EXPECT_THAT(output_of({"inspect", "orders"}, 1), HasSubstr("kind      free: nobody holds it\n"));
  redis.command({"SET", "orders", "redsync's value"});
  EXPECT_THAT(output_of({"inspect", "orders"}),
              AllOf(HasSubstr("kind      foreign: "), HasSubstr("value     redsync's value\n"),
                    HasSubstr("ttl left  for ever: it has no ttl\n")));
  redis.del("orders");
  redis.command({"HSET", "orders", "field", "value"});
  EXPECT_THAT(output_of({"inspect", "orders"}), HasSubstr("kind      other: a hash, which is not a lock\n"));
  EXPECT_EQ(json::parse(output_of({"inspect", "--json", "orders"})).at("type"), "hash");
}

TEST_F(inspect, exits_with_0_for_a_lock_that_is_held_and_with_1_for_a_free_one) {
  for (words const& options : {words{}, words{"--json"}, words{"--wire", "plain"}}) {
    words arguments{"inspect", "orders"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    static_cast<void>(output_of(arguments, 1));
    hold("orders");
    static_cast<void>(output_of(arguments, 0));
    redis.del("orders");
  }
  wait_for("orders");
  static_cast<void>(output_of({"inspect", "orders"}, 1));
  redis.command({"HSET", "orders", "field", "value"});
  static_cast<void>(output_of({"inspect", "orders"}, 0));
}

TEST_F(inspect, counts_those_that_it_does_not_show) {
  for (int i = 0; i < 1'003; ++i) wait_for("orders", std::string{other_uuid} + ":" + std::to_string(i));
  EXPECT_THAT(output_of({"inspect", "orders"}, 1), testing::EndsWith("       and 3 more\n"));
}

TEST_F(inspect, takes_a_name_that_looks_like_an_option_behind_two_dashes) {
  EXPECT_THAT(output_of({"inspect", "--", "--json"}, 1), HasSubstr("name      --json\n"));
}

TEST(inspect_without_server, exits_with_69) {
  auto command = holdfast_command({"inspect", "--url", "redis+unix:///nowhere/redis.sock", "orders"});
  EXPECT_EQ(command.wait(), 69);
  EXPECT_THAT(command.err(), HasSubstr("/nowhere/redis.sock"));
}

}  // namespace
