// The commands that show locks, with locks on either wire and names that are in use on both wires.
#include "objects_of_java.hpp"

#include <signal.h>

namespace {

using namespace holdfast::test;
using nlohmann::json;
using testing::AllOf;
using testing::ContainsRegex;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::UnorderedElementsAre;

class both_wires : public objects_of_java {
 protected:
  /// A taken permit on Redisson's wire, and a waiter for a lock of that name on the plain wire.
  void use_on_both(std::string const& name) {
    permits(name, 1);
    take(name, 'a');
    wait_for(name);
  }
  [[nodiscard]] std::string output_of(words const& arguments, int code = 0) const {
    auto command = start(arguments);
    EXPECT_EQ(command.wait(), code) << command.err();
    return command.out();
  }
  /// "name wire" of each lock.
  template <class Locks>
  [[nodiscard]] static words rows(Locks const& locks) {
    words all;
    for (json const& lock : locks)
      all.push_back(lock.at("name").get<std::string>() + ' ' + lock.at("wire").get<std::string>());
    return all;
  }
  [[nodiscard]] words listed(words const& more = {}) const {
    words arguments{"ls", "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return rows(objects(output_of(arguments)));
  }
  [[nodiscard]] words top_rows(words const& more = {}) const {
    words arguments{"top", "--once", "--json", "--interval", "100ms"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return rows(json::parse(output_of(arguments)).at("locks"));
  }
  /// The URL of a user with rights to plain locks only.
  [[nodiscard]] std::string url_of_plain_user() {
    redis.command({"ACL",   "SETUSER",       "viewer",  "on",    ">secret",
                   "~*",    "resetchannels", "-@all",   "+ping", "+client|setname",
                   "+eval", "+evalsha",      "+scan",   "+type", "+getrange",
                   "+pttl", "+zcard",        "+zrange", "+time", "+hgetall"});
    return "redis+unix://viewer:secret@" + server.socket_path();
  }
  std::size_t scans_of(words const& arguments) {
    auto const before = redis.calls_of("scan");
    (void)output_of(arguments);
    return redis.calls_of("scan") - before;
  }
};

TEST_F(both_wires, are_shown_by_ls_and_top_unless_they_are_told_which) {
  hold("plain one");
  lock("orders");
  read("prices", java);
  for (std::string const& url : {server.url(), server.url() + "?wire=redisson"}) {
    for (auto const& all : {words{"--url", url}, {"--url", url, "--wire", "all"}}) {
      EXPECT_THAT(listed(all), UnorderedElementsAre("plain one plain", "orders redisson", "prices redisson"));
      EXPECT_THAT(top_rows(all),
                  UnorderedElementsAre("plain one plain", "orders redisson", "prices redisson"));
    }
    words const plain{"--url", url, "--wire", "plain"};
    EXPECT_THAT(listed(plain), ElementsAre("plain one plain"));
    EXPECT_THAT(top_rows(plain), ElementsAre("plain one plain"));
    words const redisson{"--url", url, "--wire", "redisson"};
    EXPECT_THAT(listed(redisson), UnorderedElementsAre("orders redisson", "prices redisson"));
    EXPECT_THAT(top_rows(redisson), UnorderedElementsAre("orders redisson", "prices redisson"));
  }
}

TEST_F(both_wires, show_what_run_holds_on_either) {
  auto const reader = holdfast_run(server.url(), {"--shared"}, "prices", {"sleep", "60"});
  auto const slot = holdfast_run(server.url(), {"--slots", "2"}, "encoder", {"sleep", "60"});
  EXPECT_TRUE(eventually([&] { return listed().size() == 2; }));
  EXPECT_THAT(listed(), UnorderedElementsAre("prices plain", "encoder plain"));
}

TEST_F(both_wires, have_two_rows_for_a_name_that_is_in_use_on_both) {
  use_on_both("encoder");
  EXPECT_THAT(listed(), UnorderedElementsAre("encoder plain", "encoder redisson"));
  EXPECT_THAT(listed({"encoder"}), UnorderedElementsAre("encoder plain", "encoder redisson"));
  EXPECT_THAT(listed({"--wire", "plain", "encoder"}), ElementsAre("encoder plain"));
  EXPECT_THAT(top_rows(), ElementsAre("encoder plain", "encoder redisson"));
  EXPECT_THAT(output_of({"ls"}), AllOf(ContainsRegex("encoder +free +- .* 1 +plain\n"),
                                       ContainsRegex("encoder +permits +1 of 2 out .* 0 +redisson\n")));
  EXPECT_THAT(output_of({"top", "--once", "--interval", "100ms"}),
              AllOf(ContainsRegex("encoder +free .* 1 +0  plain\n"),
                    ContainsRegex("encoder +permits .* 0 +0  redisson\n")));
}

TEST_F(both_wires, show_once_who_waits_for_a_lock_that_never_was_held) {
  redis.command({"SET", "new", "redsync's value"});
  wait_for("new");
  EXPECT_THAT(listed(), ElementsAre("new plain"));
  hold("new");
  EXPECT_THAT(listed(), ElementsAre("new plain"));
  EXPECT_THAT(listed({"--wire", "plain"}), ElementsAre("new plain"));
}

TEST_F(both_wires, take_a_pass_over_the_keys_more_than_plain_locks_alone_and_none_for_a_whole_name) {
  std::vector<words> all;
  for (int i = 0; i != 5'000; ++i) all.push_back({"SET", "cache:" + std::to_string(i), "x"});
  redis.pipeline(all);
  auto const two_passes = scans_of({"ls", "--wire", "plain"});
  EXPECT_GT(two_passes, 10U);
  EXPECT_LE(scans_of({"ls"}), 2 * two_passes) << "some more while Redis makes room for keys";
  EXPECT_EQ(scans_of({"ls", "cache:1"}), 0U);
}

TEST_F(both_wires, leave_redissons_out_where_the_user_has_no_right_to_it) {
  hold("orders");
  lock("java's");
  use_on_both("encoder");
  auto const url = url_of_plain_user();
  auto const left_out = AllOf(HasSubstr("not all of Redisson's wire was searched"), HasSubstr("+hlen"));
  for (words const& arguments : {words{"ls", "--json", "--url", url},
                                 {"top", "--once", "--interval", "100ms", "--url", url},
                                 {"ls", "encoder", "--url", url}}) {
    auto command = start(arguments);
    EXPECT_EQ(command.wait(), 0) << command.err();
    EXPECT_THAT(command.err(), left_out);
    EXPECT_THAT(command.out(), AllOf(HasSubstr("encoder"), Not(HasSubstr("java's"))));
  }
  auto plain = holdfast_command({"ls", "--wire", "plain", "--names"}, {{"HOLDFAST_URL", url}});
  EXPECT_EQ(plain.wait(), 0);
  EXPECT_EQ(plain.err(), "");
  auto inspection = start({"inspect", "--url", url, "orders"});
  EXPECT_EQ(inspection.wait(), 0);
  EXPECT_THAT(inspection.out(), HasSubstr("exclusive"));
  EXPECT_THAT(inspection.err(), HasSubstr("a right is missing to see who waits for it on Redisson's wire"));
  auto redisson = start({"ls", "--wire", "redisson", "--url", url});
  EXPECT_EQ(redisson.wait(), 77) << "that was asked for";
}

TEST_F(both_wires, are_searched_by_inspect_for_the_name) {
  hold("orders");
  lock("java's");
  for (auto const& [name, wire] :
       {std::pair{"orders", "plain"}, {"java's", "redisson"}, {"nothing", "plain"}}) {
    auto const report = inspected(name);
    EXPECT_EQ(report.at("wire"), wire);
    EXPECT_EQ(report.at("other_wire"), nullptr);
    EXPECT_EQ(report.at("warning"), nullptr);
    EXPECT_THAT(page_about(name), HasSubstr(std::string{"wire      "} + wire + '\n'));
  }
  EXPECT_EQ(json::parse(output_of({"inspect", "--json", "--wire", "plain", "java's"}, 1)).at("kind"), "free");
  EXPECT_THAT(output_of({"inspect", "--wire", "redisson", "orders"}, 1),
              HasSubstr("nobody holds it on this wire; the key is the other one's, a string"));
}

TEST_F(both_wires, are_both_shown_by_inspect_with_a_warning) {
  use_on_both("encoder");
  auto const report = inspected("encoder");
  EXPECT_EQ(report.at("kind"), "permits");
  EXPECT_EQ(report.at("waiting"), 0) << "nobody of its own wire";
  EXPECT_THAT(report.at("queue"), IsEmpty());
  auto const& other = report.at("other_wire");
  EXPECT_EQ(other.at("wire"), "plain");
  EXPECT_EQ(other.at("kind"), "free");
  EXPECT_EQ(other.at("type"), "string");
  EXPECT_EQ(other.at("queue").size(), 1U);
  EXPECT_FALSE(other.contains("other_wire"));
  EXPECT_THAT(report.at("warning").get<std::string>(), HasSubstr("\"encoder\" is in use on both wires"));
  auto page = start({"inspect", "encoder"});
  EXPECT_EQ(page.wait(), 0);
  EXPECT_THAT(page.out(),
              AllOf(HasSubstr("wire      redisson\nkind      permits"),
                    HasSubstr("waiting   0\n\nname      encoder\nwire      plain\nkind      free")));
  EXPECT_THAT(page.err(), HasSubstr("holdfast: warning: \"encoder\" is in use on both wires"));
  auto narrowed = start({"inspect", "--json", "--wire", "plain", "encoder"});
  EXPECT_EQ(narrowed.wait(), 1);
  EXPECT_EQ(narrowed.err(), "");
  EXPECT_EQ(json::parse(narrowed.out()).at("wire"), "plain");
  EXPECT_EQ(json::parse(narrowed.out()).at("warning"), nullptr);
}

TEST_F(both_wires, show_who_waits_on_redissons_while_the_plain_one_holds) {
  hold("orders");
  listen(holdfast::names::redisson::semaphore_channel("orders"));
  EXPECT_THAT(listed(), UnorderedElementsAre("orders plain", "orders redisson"));
  auto const report = inspected("orders");
  EXPECT_EQ(report.at("kind"), "exclusive");
  EXPECT_EQ(report.at("other_wire").at("kind"), "free");
  EXPECT_EQ(report.at("other_wire").at("waiting"), 1);
  redis.del("orders");
  EXPECT_THAT(listed(), ElementsAre("orders redisson")) << "though it has a counter of the plain wire";
}

class watch_of_wires : public both_wires {
 protected:
  /// "event wire" of all events so far.
  static words events(process const& watcher) {
    words all;
    for (auto const& object : objects(watcher.out()))
      all.push_back(object.at("event").get<std::string>() + ' ' + object.at("wire").get<std::string>());
    return all;
  }
  static testing::AssertionResult prints(process const& watcher, words const& expected) {
    if (eventually([&] { return events(watcher).size() >= expected.size(); }) && events(watcher) == expected)
      return testing::AssertionSuccess();
    return testing::AssertionFailure() << watcher.out() << watcher.err();
  }
  [[nodiscard]] process watching(words const& more) const {
    words arguments{"watch", "--interval", "10ms", "orders"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return start(arguments);
  }
};

TEST_F(watch_of_wires, tells_of_both) {
  auto watcher = watching({"--json"});
  words all{"seen plain"};
  ASSERT_TRUE(prints(watcher, all));
  hold("orders");
  all.emplace_back("acquired plain");
  ASSERT_TRUE(prints(watcher, all));
  redis.del("orders");
  all.emplace_back("released plain");
  ASSERT_TRUE(prints(watcher, all));
  lock("orders");
  all.emplace_back("acquired redisson");
  ASSERT_TRUE(prints(watcher, all));
  EXPECT_EQ(watcher.err(), "");
  wait_for("orders");
  all.emplace_back("waiting plain");
  ASSERT_TRUE(prints(watcher, all));
  EXPECT_THAT(watcher.err(), HasSubstr("warning: \"orders\" is in use on both wires"));
  redis.del("orders");
  all.emplace_back("released redisson");
  ASSERT_TRUE(prints(watcher, all));
}

TEST_F(watch_of_wires, looks_at_one_when_told) {
  use_on_both("orders");
  auto plain = watching({"--json", "--wire", "plain"});
  auto redisson = watching({"--json", "--wire", "redisson"});
  ASSERT_TRUE(prints(plain, {"seen plain"}));
  ASSERT_TRUE(prints(redisson, {"seen redisson"}));
  permits("orders", 0);
  take("orders", 'b');
  wait_for("orders", std::string{other_uuid} + ":8");
  EXPECT_TRUE(prints(plain, {"seen plain", "waiting plain"}));
  EXPECT_TRUE(eventually([&] { return events(redisson).size() > 1; }));
  EXPECT_EQ(plain.err() + redisson.err(), "");
}

TEST_F(watch_of_wires, says_in_lines_which_is_meant_where_both_are) {
  use_on_both("orders");
  auto watcher = start({"watch", "--for", "50ms", "orders"});
  EXPECT_EQ(watcher.wait(), 0);
  EXPECT_THAT(watcher.out(), testing::MatchesRegex("[^ ]+  redisson: permits: 1 of 2 out\n"
                                                   "[^ ]+  plain: free: nobody holds it on this wire; .*, 1 "
                                                   "waiting\n"));
}

class release_on_wires : public both_wires {};

TEST_F(release_on_wires, finds_a_lock_on_whichever_it_is) {
  hold("orders", "11111111-1111-4111-8111-111111111111:1");
  lock("java's");
  for (std::string const name : {"orders", "java's"}) {
    EXPECT_EQ(output_of({"release", "--force", "--yes", "--grace", "0", name}), "");
    EXPECT_FALSE(redis.exists(name));
  }
}

TEST_F(release_on_wires, takes_nothing_before_it_knows_which_is_meant) {
  use_on_both("encoder");
  auto unsure = start({"release", "--force", "--yes", "encoder"});
  EXPECT_EQ(unsure.wait(), 64);
  EXPECT_THAT(unsure.err(),
              AllOf(HasSubstr("in use on both wires"), HasSubstr("--wire plain or --wire redisson")));
  auto plain = start({"release", "--force", "--yes", "--wire", "plain", "encoder"});
  EXPECT_EQ(plain.wait(), 0);
  EXPECT_THAT(plain.err(), HasSubstr("is not held with --wire plain"));
  EXPECT_EQ(inspected("encoder").at("holding"), 1);
  (void)output_of({"release", "--force", "--yes", "--wire", "redisson", "encoder"});
  EXPECT_EQ(inspected("encoder").at("holding"), 0);
}

TEST_F(release_on_wires, leaves_what_the_other_one_holds) {
  hold("orders");
  lock("java's");
  (void)output_of({"release", "--force", "--yes", "--grace", "0", "--wire", "redisson", "orders"});
  (void)output_of({"release", "--force", "--yes", "--grace", "0", "--wire", "plain", "--foreign", "java's"});
  EXPECT_TRUE(redis.exists("orders"));
  EXPECT_TRUE(redis.exists("java's"));
}

}  // namespace
