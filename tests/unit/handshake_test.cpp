#include "net/handshake.hpp"

#include <gmock/gmock.h>

namespace {

using namespace std::chrono_literals;
using holdfast::errc;
using holdfast::net::client_info;
using holdfast::net::endpoint;
using holdfast::net::handshake;
using holdfast::net::parse_url;
using holdfast::resp::kind;
using holdfast::resp::reply;
using step = handshake::step;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

reply ok() { return {.type = kind::text, .integer = 0, .text = "OK", .elements = {}}; }
reply reply_with_error(std::string words) {
  return {.type = kind::error, .integer = 0, .text = std::move(words), .elements = {}};
}

handshake handshake_for(std::string_view url, std::string name = "holdfast") {
  return {parse_url(url), std::move(name)};
}

/// The error of a handshake that ends with this reply.
holdfast::error failure_after(handshake greeting, std::string words, int replies_before = 0) {
  for (int i = 0; i < replies_before; ++i) EXPECT_EQ(greeting.on_reply(ok()), step::more);
  EXPECT_EQ(greeting.on_reply(reply_with_error(std::move(words))), step::failed);
  return greeting.failure();
}

TEST(handshake, sends_what_the_url_asks_for) {
  EXPECT_EQ(handshake_for("redis://u:secret@h/3").commands(),
            "*3\r\n$4\r\nAUTH\r\n$1\r\nu\r\n$6\r\nsecret\r\n"
            "*2\r\n$6\r\nSELECT\r\n$1\r\n3\r\n"
            "*3\r\n$6\r\nCLIENT\r\n$7\r\nSETNAME\r\n$8\r\nholdfast\r\n"
            "*1\r\n$4\r\nPING\r\n");
  EXPECT_EQ(handshake_for("redis://:secret@h", "").commands(),
            "*2\r\n$4\r\nAUTH\r\n$6\r\nsecret\r\n*1\r\n$4\r\nPING\r\n");
}

TEST(handshake, sends_ping_when_there_is_nothing_to_say) {
  auto greeting = handshake_for("redis://h", "");
  EXPECT_EQ(greeting.commands(), "*1\r\n$4\r\nPING\r\n");
  EXPECT_EQ(greeting.expected(), 1u);
  EXPECT_EQ(greeting.on_reply(ok()), step::done);
}

TEST(handshake, is_done_after_the_last_reply) {
  auto greeting = handshake_for("redis://u:p@h/3");
  ASSERT_EQ(greeting.expected(), 4u);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(greeting.on_reply(ok()), step::more);
  EXPECT_EQ(greeting.on_reply(ok()), step::done);
}

TEST(handshake, explains_a_wrong_password) {
  auto const failure =
      failure_after(handshake_for("redis://web:secret@h"), "WRONGPASS invalid username-password pair");
  EXPECT_EQ(failure.code(), errc::unauthorized);
  EXPECT_THAT(failure.what(),
              AllOf(HasSubstr("redis://web:***@h"), HasSubstr("user \"web\""), HasSubstr("WRONGPASS"),
                    HasSubstr("check user and password"), Not(HasSubstr("secret"))));
}

TEST(handshake, explains_a_password_that_the_server_does_not_want) {
  auto const failure = failure_after(
      handshake_for("redis://:secret@h"),
      "ERR AUTH <password> called without any password configured for the default user. Are you sure?");
  EXPECT_EQ(failure.code(), errc::unauthorized);
  EXPECT_THAT(failure.what(), HasSubstr("leave it out"));
}

TEST(handshake, explains_a_server_without_users) {
  auto const failure =
      failure_after(handshake_for("redis://u:p@h"), "ERR wrong number of arguments for 'auth' command");
  EXPECT_THAT(failure.what(), HasSubstr("Redis 6"));
}

TEST(handshake, does_not_repeat_a_password_that_the_server_quotes) {
  for (auto const* const words : {"ERR unknown command 'AUTH', with args beginning with: 'web' 'secret' ",
                                  "ERR unknown command `AUTH`, with args beginning with: `web`, `secr`, ",
                                  "ERR what is AUTH web secret"}) {
    auto const failure = failure_after(handshake_for("redis://web:secret@h"), words);
    EXPECT_EQ(failure.code(), errc::unauthorized);
    EXPECT_EQ(std::string_view{failure.what()}.find("secr"), std::string_view::npos) << failure.what();
  }
}

TEST(handshake, asks_for_a_password_when_the_server_does) {
  for (auto greeting :
       {handshake_for("redis://h"), handshake_for("redis://h", ""), handshake_for("redis://h/2")}) {
    auto const failure = failure_after(greeting, "NOAUTH Authentication required.");
    EXPECT_EQ(failure.code(), errc::unauthorized);
    EXPECT_THAT(failure.what(), AllOf(HasSubstr("needs a password"), HasSubstr("URL")));
  }
}

TEST(handshake, tells_of_a_database_that_does_not_exist) {
  auto const failure = failure_after(handshake_for("redis://:p@h/99"), "ERR DB index is out of range", 1);
  EXPECT_EQ(failure.code(), errc::refused);
  EXPECT_THAT(failure.what(), AllOf(HasSubstr("database 99"), HasSubstr("out of range")));
}

TEST(handshake, names_the_right_that_select_needs) {
  auto const failure = failure_after(handshake_for("redis://h/1"),
                                     "NOPERM this user has no permissions to run the 'select' command");
  EXPECT_EQ(failure.code(), errc::unauthorized);
  EXPECT_THAT(failure.what(), HasSubstr("+select"));
  EXPECT_THAT(failure_after(handshake_for("redis://h/1"), "NOPERM No permissions to access database").what(),
              HasSubstr("alldbs"));
}

TEST(handshake, can_do_without_a_name_and_without_ping) {
  auto greeting = handshake_for("redis://h");
  EXPECT_EQ(greeting.on_reply(reply_with_error("ERR unknown subcommand 'SETNAME'")), step::more);
  EXPECT_EQ(
      greeting.on_reply(reply_with_error("NOPERM this user has no permissions to run the 'ping' command")),
      step::done);
}

TEST(handshake, comes_again_when_the_server_is_not_ready) {
  for (auto const* const words :
       {"LOADING Redis is loading the dataset in memory", "BUSY Redis is busy running a script.",
        "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'."}) {
    auto greeting = handshake_for("redis://h", "");
    EXPECT_EQ(greeting.on_reply(reply_with_error(words)), step::not_ready);
    EXPECT_THAT(greeting.failure().what(), HasSubstr(words));
  }
}

TEST(handshake, passes_on_why_the_server_takes_no_connection) {
  for (auto const* const words :
       {"ERR max number of clients reached", "DENIED Redis is running in protected mode"}) {
    auto const failure = failure_after(handshake_for("redis://:p@h"), words);
    EXPECT_EQ(failure.code(), errc::refused);
    EXPECT_THAT(failure.what(), AllOf(HasSubstr("redis://:***@h"), HasSubstr(words)));
  }
}

TEST(handshake, refuses_answers_that_no_redis_gives) {
  auto greeting = handshake_for("redis://h", "");
  EXPECT_EQ(greeting.on_reply({.type = kind::integer, .integer = 1, .text = {}, .elements = {}}),
            step::failed);
  EXPECT_EQ(greeting.failure().code(), errc::protocol);
}

reply role_of(std::string words) {
  reply role{.type = kind::array, .integer = 0, .text = {}, .elements = {}};
  role.elements.push_back({.type = kind::text, .integer = 0, .text = std::move(words), .elements = {}});
  return role;
}

handshake handshake_to_master() { return {parse_url("redis://h"), "", handshake::role::master}; }

TEST(handshake, asks_for_the_role_when_only_a_master_will_do) {
  auto greeting = handshake_to_master();
  EXPECT_EQ(greeting.commands(), "*1\r\n$4\r\nROLE\r\n*1\r\n$4\r\nPING\r\n");
  EXPECT_EQ(greeting.on_reply(role_of("master")), step::more);
  EXPECT_EQ(greeting.on_reply(ok()), step::done);
}

TEST(handshake, goes_elsewhere_from_a_replica) {
  auto greeting = handshake_to_master();
  EXPECT_EQ(greeting.on_reply(role_of("slave")), step::elsewhere);
  EXPECT_EQ(greeting.failure().code(), errc::unreachable);
  EXPECT_THAT(greeting.failure().what(), HasSubstr("is a replica"));
}

TEST(handshake, believes_the_sentinels_where_the_role_is_not_told) {
  auto greeting = handshake_to_master();
  EXPECT_EQ(
      greeting.on_reply(reply_with_error("NOPERM this user has no permissions to run the 'role' command")),
      step::more);
  EXPECT_EQ(greeting.on_reply(ok()), step::done);
}

holdfast::time_point clock_at(std::chrono::seconds time) { return holdfast::time_point{time}; }

reply reply_with_text(std::string words) {
  return {.type = kind::text, .integer = 0, .text = std::move(words), .elements = {}};
}
reply reply_with_number(std::int64_t n) {
  return {.type = kind::integer, .integer = n, .text = {}, .elements = {}};
}

/// A connection that replaces one whose handshake was 100 s ago, and which broke.
struct follower {
  explicit follower(client_info before) {
    greeting.end_first(
        {{.at = parse_url("redis://h"), .id = std::move(before), .greeted_at = clock_at(1000s)}},
        clock_at(1100s));
    EXPECT_EQ(greeting.commands(), "*2\r\n$6\r\nCLIENT\r\n$4\r\nINFO\r\n*1\r\n$4\r\nPING\r\n");
  }
  /// The next step when the server knows this connection as number 9.
  step learn(std::string const& address = "10.0.0.7:50009") {
    EXPECT_EQ(greeting.on_reply(
                  reply_with_text("id=9 addr=" + address + " laddr=10.0.0.1:6379 fd=8 name= age=0\n")),
              step::more);
    return greeting.on_reply(ok());
  }

  handshake greeting{parse_url("redis://h"), "", handshake::role::any, handshake::identity::asked};
};

constexpr auto list_7 = "*4\r\n$6\r\nCLIENT\r\n$4\r\nLIST\r\n$2\r\nID\r\n$1\r\n7\r\n";

TEST(handshake, learns_as_what_the_server_knows_the_connection) {
  handshake greeting{parse_url("redis://h"), "", handshake::role::any, handshake::identity::asked};
  (void)greeting.commands();
  EXPECT_EQ(greeting.on_reply(reply_with_text("id=9 addr=[::1]:50009 laddr=[::1]:6379 fd=8 name=a age=0\n")),
            step::more);
  EXPECT_EQ(greeting.on_reply(ok()), step::done);
  EXPECT_EQ(greeting.own_info(), (client_info{.number = 9, .address = "[::1]:50009"}));
}

TEST(handshake, ends_the_connection_before_it) {
  follower next{{.number = 7, .address = "10.0.0.7:50007"}};
  ASSERT_EQ(next.learn(), step::send);
  EXPECT_EQ(next.greeting.commands(),
            "*6\r\n$6\r\nCLIENT\r\n$4\r\nKILL\r\n$2\r\nID\r\n$1\r\n7\r\n"
            "$4\r\nADDR\r\n$14\r\n10.0.0.7:50007\r\n");
  EXPECT_EQ(next.greeting.on_reply(reply_with_number(0)), step::done) << "it was gone already";
  EXPECT_EQ(next.greeting.not_ended(), "");
  EXPECT_EQ(next.greeting.ended().size(), 1u);
}

TEST(handshake, lets_be_whoever_may_have_the_number_since_the_server_was_started_again) {
  follower next{{.number = 10, .address = "10.0.0.7:50007"}};
  EXPECT_EQ(next.learn(), step::done) << "numbers grow";
  EXPECT_EQ(next.greeting.not_ended(), "");
}

TEST(handshake, looks_at_the_age_of_a_connection_whose_address_all_have) {
  follower next{{.number = 7, .address = "/run/redis.sock:0"}};
  ASSERT_EQ(next.learn("/run/redis.sock:0"), step::send);
  EXPECT_EQ(next.greeting.commands(), list_7);
  ASSERT_EQ(
      next.greeting.on_reply(reply_with_text("id=7 addr=/run/redis.sock:0 fd=9 name=a age=99 idle=0\n")),
      step::send);
  EXPECT_THAT(next.greeting.commands(), HasSubstr("KILL"));
  EXPECT_EQ(next.greeting.on_reply(reply_with_number(1)), step::done);
}

TEST(handshake, lets_a_younger_connection_with_the_same_address_be) {
  for (auto const* const listed : {"", "id=7 addr=/run/redis.sock:0 fd=9 name=a age=90 idle=0\n"}) {
    follower next{{.number = 7, .address = "/run/redis.sock:0"}};
    ASSERT_EQ(next.learn("/run/redis.sock:0"), step::send);
    EXPECT_EQ(next.greeting.commands(), list_7);
    EXPECT_EQ(next.greeting.on_reply(reply_with_text(listed)), step::done);
    EXPECT_EQ(next.greeting.not_ended(), "");
  }
}

TEST(handshake, says_why_it_could_not_end_the_connection_before_it) {
  follower info_refused{{.number = 7, .address = "10.0.0.7:50007"}};
  EXPECT_EQ(info_refused.greeting.on_reply(reply_with_error("ERR unknown command 'CLIENT'")), step::more);
  EXPECT_EQ(info_refused.greeting.on_reply(ok()), step::done);
  EXPECT_EQ(info_refused.greeting.not_ended(), "ERR unknown command 'CLIENT'");

  follower unknown{{}};
  EXPECT_EQ(unknown.learn(), step::done);
  EXPECT_THAT(unknown.greeting.not_ended(), HasSubstr("CLIENT INFO"));

  follower kill_refused{{.number = 7, .address = "10.0.0.7:50007"}};
  ASSERT_EQ(kill_refused.learn(), step::send);
  (void)kill_refused.greeting.commands();
  EXPECT_EQ(kill_refused.greeting.on_reply(reply_with_error("NOPERM no permissions to run 'client|kill'")),
            step::done);
  EXPECT_THAT(kill_refused.greeting.not_ended(), HasSubstr("NOPERM"));
}

TEST(handshake, advises_when_a_server_without_databases_may_be_a_sentinel) {
  auto const failure =
      failure_after(handshake_for("redis://h/3", ""), "ERR unknown command 'SELECT', with args");
  EXPECT_THAT(failure.what(), HasSubstr("redis+sentinel://"));
}

TEST(handshake, explores_in_the_same_write_and_keeps_refusals_too) {
  auto greeting = handshake_for("redis://h");
  greeting.explore({.bytes = "<two commands>", .replies = 2});
  EXPECT_EQ(greeting.expected(), 4u);
  EXPECT_THAT(greeting.commands(), HasSubstr("<two commands>*1\r\n$4\r\nPING"));
  EXPECT_EQ(greeting.on_reply(ok()), step::more);
  EXPECT_EQ(greeting.on_reply(reply_with_error("NOPERM this user has no permissions")), step::more);
  EXPECT_EQ(greeting.on_reply({.type = kind::integer, .integer = 1, .text = {}, .elements = {}}), step::more);
  EXPECT_EQ(greeting.on_reply(ok()), step::done);
  auto const found = greeting.take_found();
  ASSERT_EQ(found.size(), 2U);
  EXPECT_TRUE(found[0].is_error("NOPERM"));
  EXPECT_EQ(found[1].integer, 1);
}

TEST(handshake, waits_for_a_server_that_is_not_ready_to_be_explored) {
  auto greeting = handshake_for("redis://h", "");
  greeting.explore({.bytes = "<command>"});
  EXPECT_EQ(greeting.on_reply(reply_with_error("LOADING Redis is loading the dataset in memory")),
            step::not_ready);
}

}  // namespace
