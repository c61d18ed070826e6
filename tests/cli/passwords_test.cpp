// Where the password of a Redis comes from, and who gets to see it.
#include "holdfast_command.hpp"
#include "probe/url_password.hpp"
#include "support/eventually.hpp"
#include "support/redis_server.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace {

using namespace holdfast::test;
namespace probe = holdfast::probe;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(url_password, is_put_into_and_taken_out_of_urls_of_all_deployments) {
  EXPECT_EQ(probe::with_password("redis://h:1/2?wire=plain", "p@s/s"), "redis://:p%40s%2Fs@h:1/2?wire=plain");
  EXPECT_EQ(probe::with_password("rediss://jobs@h", "x"), "rediss://jobs:x@h");
  EXPECT_EQ(probe::with_password("localhost:6380", "x"), ":x@localhost:6380");
  EXPECT_EQ(probe::with_password("redis+unix:///run/redis.sock", "x"), "redis+unix://:x@/run/redis.sock");
  EXPECT_EQ(probe::with_password("redis+quorum://h1:1,h2:2", "x"), "redis+quorum://:x@h1:1,h2:2");
  EXPECT_EQ(probe::without_passwords("redis://jobs:x@h:1/2?wire=plain"), "redis://jobs@h:1/2?wire=plain");
  EXPECT_EQ(probe::without_passwords("redis+unix://:x@/run/redis.sock"), "redis+unix:///run/redis.sock");
  EXPECT_EQ(probe::without_passwords(
                "redis+sentinel://:x@h1:1,h2/m?sentinel_user=u&wire=plain&sentinel_password=p"),
            "redis+sentinel://h1:1,h2/m?wire=plain");
  EXPECT_EQ(probe::without_passwords("redis://jobs@h"), "redis://jobs@h");
  EXPECT_EQ(probe::without_passwords("redis://:a/b@h"), "");  // where the password ends is a guess
  EXPECT_TRUE(probe::shows_password("redis+sentinel://h1/m?sentinel_password=p"));
  EXPECT_FALSE(probe::has_password("redis+sentinel://jobs@h1/m?sentinel_password=p"));
  EXPECT_TRUE(probe::lacks_password("redis+sentinel://jobs@h1/m?sentinel_password=p"));
}

class passwords : public testing::Test {
 protected:
  std::string file_with(std::string const& name, std::string const& text) const {
    std::ofstream{folder / name} << text;
    std::filesystem::permissions(folder / name, std::filesystem::perms{0600});
    return folder / name;
  }
  /// The URL without the password.
  [[nodiscard]] std::string url() const { return "redis+unix://" + server->socket_path(); }
  [[nodiscard]] std::string whole_url() const {
    return "redis+unix://:pass%20w%40rd@" + server->socket_path();
  }
  static process ls(environment const& extra, words options = {}) {
    options.insert(options.begin(), "ls");
    return holdfast_command(options, extra);
  }

  temporary_folder const folder;
  std::unique_ptr<redis_server> const server = redis_server::make({.requirepass = "pass w@rd"});
};

TEST_F(passwords, come_from_a_variable_a_file_or_a_credential_of_systemd) {
  EXPECT_EQ(ls({{"HOLDFAST_URL", url()}}).wait(), 77);
  auto by_variable = ls({{"HOLDFAST_URL", url()}, {"HOLDFAST_PASSWORD", "pass w@rd"}});
  EXPECT_EQ(by_variable.wait(), 0) << by_variable.err();
  auto beside_option =
      holdfast_command({"run", "--url", url(), "job", "--", "true"}, {{"HOLDFAST_PASSWORD", "pass w@rd"}});
  EXPECT_EQ(beside_option.wait(), 0) << beside_option.err();
  EXPECT_EQ(beside_option.err(), "");
  auto const file = file_with("secret", "pass w@rd\n");
  auto by_file = ls({{"HOLDFAST_URL", url()}, {"HOLDFAST_PASSWORD", "wrong"}}, {"--password-file", file});
  EXPECT_EQ(by_file.wait(), 0) << by_file.err();
  file_with("holdfast-password", "pass w@rd");
  auto by_systemd = ls({{"HOLDFAST_URL", url()}, {"CREDENTIALS_DIRECTORY", folder.path().string()}});
  EXPECT_EQ(by_systemd.wait(), 0) << by_systemd.err();
  file_with("config", "url = " + url() + "\npassword_file = secret\n");
  auto configured = ls({{"HOLDFAST_CONFIG_DIR", folder.path().string()}});
  EXPECT_EQ(configured.wait(), 0) << configured.err();
}

TEST_F(passwords, in_a_file_that_other_users_can_read_are_warned_of) {
  auto const file = file_with("secret", "pass w@rd\n");
  auto hidden = ls({{"HOLDFAST_URL", url()}}, {"--password-file", file});
  EXPECT_EQ(hidden.wait(), 0) << hidden.err();
  EXPECT_THAT(hidden.err(), Not(HasSubstr("warning")));
  std::filesystem::permissions(file, std::filesystem::perms{0644});
  auto open = ls({{"HOLDFAST_URL", url()}}, {"--password-file", file});
  EXPECT_EQ(open.wait(), 0) << open.err();
  EXPECT_THAT(open.err(), HasSubstr("can read the password in " + file + "; run `chmod o-r` on it\n"));
}

TEST_F(passwords, that_are_missing_do_not_send_people_to_the_command_line) {
  auto without = ls({{"HOLDFAST_URL", url()}});
  EXPECT_EQ(without.wait(), 77);
  EXPECT_THAT(without.err(),
              AllOf(HasSubstr("needs a password"), HasSubstr("--password-file or HOLDFAST_PASSWORD")));
}

TEST_F(passwords, of_the_url_count_more_than_the_environments_but_not_with_a_file_beside) {
  auto by_url = ls({{"HOLDFAST_URL", whole_url()}, {"HOLDFAST_PASSWORD", "wrong"}});
  EXPECT_EQ(by_url.wait(), 0) << by_url.err();
  auto two = ls({{"HOLDFAST_URL", whole_url()}}, {"--password-file", file_with("secret", "x")});
  EXPECT_EQ(two.wait(), 64);
  EXPECT_THAT(two.err(), HasSubstr("--password-file: the URL has a password, too"));
}

TEST_F(passwords, of_a_configuration_file_are_not_sent_to_another_redis) {
  redis_server const other;  // which would refuse it
  file_with("secret", "pass w@rd");
  file_with("config", "url = " + url() + "\npassword_file = secret\n");
  auto elsewhere = ls({{"HOLDFAST_CONFIG_DIR", folder.path().string()}}, {"--url", other.url()});
  EXPECT_EQ(elsewhere.wait(), 0) << elsewhere.err();
  std::filesystem::create_directory(folder / "holdfast");
  file_with("holdfast/config", "url = " + other.url());
  auto of_user =
      ls({{"HOLDFAST_CONFIG_DIR", folder.path().string()}, {"XDG_CONFIG_HOME", folder.path().string()}});
  EXPECT_EQ(of_user.wait(), 0) << of_user.err();
}

TEST_F(passwords, that_are_missing_or_unfit_are_named) {
  auto const error_of = [&](words const& options, std::string const& at) {
    auto command = ls({{"HOLDFAST_URL", at}}, options);
    EXPECT_EQ(command.wait(), 64);
    return command.err();
  };
  EXPECT_THAT(error_of({"--password-file", "/nowhere/file"}, url()),
              HasSubstr("--password-file: /nowhere/file can't be read: No such file"));
  EXPECT_THAT(error_of({"--password-file", file_with("empty", "\n")}, url()),
              HasSubstr("has no password in it"));
  EXPECT_THAT(error_of({"--password-file", file_with("many", "secret\nother\n")}, url()),
              AllOf(HasSubstr("more than a password in it; write the password there alone"),
                    Not(HasSubstr("secret"))));
  EXPECT_THAT(error_of({}, "redis://jobs@h"),
              HasSubstr("a user without a password; give the password with HOLDFAST_PASSWORD"));
}

TEST_F(passwords, that_ps_can_show_are_warned_of_once) {
  auto shown = holdfast_command({"run", "--url", whole_url(), "job", "--", "true"});
  EXPECT_EQ(shown.wait(), 0) << shown.err();
  EXPECT_THAT(shown.err(), AllOf(HasSubstr("can see the password in --url (ps)"), Not(HasSubstr("w%40rd"))));
  EXPECT_EQ(std::ranges::count(shown.err(), '\n'), 1) << shown.err();
}

TEST_F(passwords, do_not_reach_the_command_unless_asked_for) {
  auto const seen_by_command = [&](environment const& extra, words options = {}) {
    options.insert(options.begin(), "run");
    options.insert(options.end(), {"job", "--", "env"});
    auto run = holdfast_command(options, extra);
    EXPECT_EQ(run.wait(), 0) << run.err();
    return run.out();
  };
  auto const in_url = seen_by_command({{"HOLDFAST_URL", whole_url()}});
  EXPECT_THAT(in_url, AllOf(Not(HasSubstr("w%40rd")), HasSubstr("HOLDFAST_URL=" + url() + "\n")));
  auto const in_redis_url = seen_by_command({{"REDIS_URL", whole_url()}});
  EXPECT_THAT(in_redis_url, AllOf(Not(HasSubstr("w%40rd")), HasSubstr("REDIS_URL=" + url() + "\n")));
  auto const beside = seen_by_command({{"HOLDFAST_URL", url()}, {"HOLDFAST_PASSWORD", "pass w@rd"}});
  EXPECT_THAT(beside, AllOf(Not(HasSubstr("w@rd")), Not(HasSubstr("HOLDFAST_PASSWORD"))));
  // The command's own variable, which Holdfast has no use for.
  auto const of_command = seen_by_command({{"HOLDFAST_URL", whole_url()}, {"REDIS_URL", "redis://:own@h"}});
  EXPECT_THAT(of_command, AllOf(Not(HasSubstr("w%40rd")), HasSubstr("REDIS_URL=redis://:own@h\n")));
  auto const asked_for =
      seen_by_command({{"HOLDFAST_URL", url()}, {"HOLDFAST_PASSWORD", "pass w@rd"}}, {"--pass-url"});
  EXPECT_THAT(asked_for, HasSubstr("HOLDFAST_URL=" + whole_url() + "\n"));
}

TEST_F(passwords, reach_a_holdfast_in_the_command_with_pass_url) {
  auto const nested = [&](words options) {
    options.insert(options.begin(), "run");
    options.insert(options.end(), {"outer", "--", HOLDFAST_CLI, "run", "inner", "--", "true"});
    return holdfast_command(options, {{"HOLDFAST_URL", url()}, {"HOLDFAST_PASSWORD", "pass w@rd"}});
  };
  EXPECT_EQ(nested({}).wait(), 77);  // the same server, which asks for the password
  auto passed = nested({"--pass-url"});
  EXPECT_EQ(passed.wait(), 0) << passed.err();
}

}  // namespace
