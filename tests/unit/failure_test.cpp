#include "engine/failure.hpp"

#include <gmock/gmock.h>

#include <string>
#include <string_view>

#include "net/deployment_url.hpp"

namespace {

using holdfast::errc;
using holdfast::error;
using holdfast::engine::explain;
using holdfast::engine::is_transient;
using testing::AllOf;
using testing::HasSubstr;

error explained(std::string_view words, std::string const& url = "redis://h:1") {
  auto const client = holdfast::engine::make_client_constants({}, holdfast::net::parse_deployment_url(url));
  return *explain(words, "orders:42", client);
}

auto const names_lock_and_server = AllOf(HasSubstr("\"orders:42\""), HasSubstr("redis://h:1"));

TEST(failure, waits_out_what_passes_by_itself) {
  for (auto const* const words :
       {"LOADING Redis is loading the dataset in memory", "BUSY Redis is busy running a script.",
        "TRYAGAIN Multiple keys request", "MASTERDOWN Link with MASTER is down"}) {
    EXPECT_TRUE(is_transient(words)) << words;
  }
}

TEST(failure, does_not_wait_for_what_stays) {
  for (auto const* const words : {"OOM command not allowed", "READONLY You can't write", "WRONGTYPE hash",
                                  "NOPERM this user", "ERR LOADING", "BUSYKEY exists", ""}) {
    EXPECT_FALSE(is_transient(words)) << words;
  }
}

TEST(failure, names_the_type_of_a_key_that_is_no_lock) {
  for (std::string const type : {"hash", "list", "set", "stream"}) {
    auto const failure = explained("WRONGTYPE " + type);
    EXPECT_EQ(failure.code(), errc::wrong_type);
    EXPECT_THAT(failure.what(),
                AllOf(names_lock_and_server, HasSubstr("holds a " + type), HasSubstr("another name")));
  }
}

TEST(failure, names_what_a_sorted_set_may_be) {
  auto const failure = explained("WRONGTYPE zset");
  EXPECT_EQ(failure.code(), errc::wrong_type);
  EXPECT_THAT(failure.what(), AllOf(names_lock_and_server, HasSubstr("a sorted set"),
                                    HasSubstr("expiring_semaphore"), HasSubstr("another name")));
}

TEST(failure, names_what_a_hash_may_be) {
  EXPECT_THAT(explained("WRONGTYPE hash").what(),
              HasSubstr("a hash (as locks of Redisson are: then say wire="));
}

TEST(failure, bears_a_wrong_type_without_its_name) {
  for (auto const* const words :
       {"WRONGTYPE", "WRONGTYPE ", "WRONGTYPE Operation against a key holding the wrong kind of value"}) {
    auto const failure = explained(words);
    EXPECT_EQ(failure.code(), errc::wrong_type);
    EXPECT_THAT(failure.what(), AllOf(names_lock_and_server, HasSubstr(words)));
  }
}

TEST(failure, names_the_keys_beside_the_lock_when_one_of_them_is_something_else) {
  for (auto const* const words : {"WRONGTYPE the token counter is no number",
                                  "WRONGTYPE Operation against a key holding the wrong kind of value script: "
                                  "5f, on @user_script:22."}) {
    auto const failure = explained(words);
    EXPECT_EQ(failure.code(), errc::wrong_type);
    EXPECT_THAT(failure.what(),
                AllOf(names_lock_and_server, HasSubstr(words), HasSubstr("{orders:42}:holdfast_token"),
                      HasSubstr("{orders:42}:holdfast_queue"), HasSubstr("delete it"),
                      testing::Not(HasSubstr("not a lock"))));
  }
}

TEST(failure, does_not_blame_the_keys_beside_a_lock_that_is_of_another_type) {
  EXPECT_THAT(explained("WRONGTYPE hash").what(), testing::Not(HasSubstr("holdfast_token")));
}

TEST(failure, names_the_missing_right) {
  for (auto const* const words :
       {"NOPERM this user has no permissions to run the 'evalsha' command",
        "ERR The user executing the script can't run this command or subcommand script: 12, on "
        "@user_script:1.",
        "ERR The user executing the script can't access at least one of the keys mentioned",
        "NOAUTH Authentication required."}) {
    auto const failure = explained(words);
    EXPECT_EQ(failure.code(), errc::unauthorized) << words;
    EXPECT_THAT(failure.what(), AllOf(names_lock_and_server, HasSubstr(words), HasSubstr("+evalsha"),
                                      HasSubstr("~orders:42"), HasSubstr("&holdfast_inbox:*")));
  }
}

TEST(failure, says_what_to_do_about_a_server_that_refuses) {
  std::pair<char const*, char const*> const known[]{
      {"READONLY You can't write against a read only replica.", "URL of the master"},
      {"OOM command not allowed when used memory > 'maxmemory'.", "raise maxmemory"},
      {"MISCONF Redis is configured to save RDB snapshots", "disk"},
      {"CLUSTERDOWN Hash slot not served", "redis+cluster://"},
      {"MOVED 1 127.0.0.1:7000", "node of a cluster"},
      {"NOREPLICAS Not enough good replicas to write.", "min-replicas-to-write"},
      {"LOADING Redis is loading the dataset in memory", "try again"},
  };
  for (auto const& [words, advice] : known) {
    auto const failure = explained(words);
    EXPECT_EQ(failure.code(), errc::refused) << words;
    EXPECT_THAT(failure.what(), AllOf(names_lock_and_server, HasSubstr(words), HasSubstr(advice)));
  }
}

TEST(failure, does_not_tell_a_client_of_a_cluster_that_there_is_one) {
  for (auto const* const words : {"CLUSTERDOWN Hash slot not served", "CROSSSLOT Keys in request"}) {
    EXPECT_THAT(explained(words, "redis+cluster://h:1").what(),
                AllOf(HasSubstr(words), testing::Not(HasSubstr("in place of redis://"))));
  }
  EXPECT_THAT(explained("CLUSTERDOWN Hash slot not served", "redis+cluster://h:1").what(),
              HasSubstr("CLUSTER INFO"));
}

TEST(failure, passes_on_words_it_does_not_know) {
  auto const failure = explained("ERR something new");
  EXPECT_EQ(failure.code(), errc::refused);
  EXPECT_THAT(failure.what(), AllOf(names_lock_and_server, HasSubstr("ERR something new")));
}

}  // namespace
