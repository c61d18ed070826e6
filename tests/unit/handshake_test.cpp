#include "net/handshake.hpp"

#include <gmock/gmock.h>

namespace {

using holdfast::errc;
using holdfast::net::endpoint;
using holdfast::net::handshake;
using holdfast::net::parse_url;
using holdfast::resp::kind;
using holdfast::resp::reply;
using step = handshake::step;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

reply ok() { return {.what = kind::text, .integer = 0, .text = "OK", .elements = {}}; }
reply failed(std::string words) {
  return {.what = kind::error, .integer = 0, .text = std::move(words), .elements = {}};
}

handshake to(std::string_view url, std::string name = "holdfast") {
  return {parse_url(url), std::move(name)};
}

/// The handshake ends with this reply; the error that follows.
holdfast::error refused(handshake greeting, std::string words, int replies_before = 0) {
  for (int i = 0; i < replies_before; ++i) EXPECT_EQ(greeting.on_reply(ok()), step::more);
  EXPECT_EQ(greeting.on_reply(failed(std::move(words))), step::failed);
  return greeting.failure();
}

TEST(handshake, sends_what_the_url_asks_for) {
  EXPECT_EQ(to("redis://u:secret@h/3").commands(),
            "*3\r\n$4\r\nAUTH\r\n$1\r\nu\r\n$6\r\nsecret\r\n"
            "*2\r\n$6\r\nSELECT\r\n$1\r\n3\r\n"
            "*3\r\n$6\r\nCLIENT\r\n$7\r\nSETNAME\r\n$8\r\nholdfast\r\n"
            "*1\r\n$4\r\nPING\r\n");
  EXPECT_EQ(to("redis://:secret@h", "").commands(),
            "*2\r\n$4\r\nAUTH\r\n$6\r\nsecret\r\n*1\r\n$4\r\nPING\r\n");
}

TEST(handshake, sends_ping_when_there_is_nothing_to_say) {
  auto greeting = to("redis://h", "");
  EXPECT_EQ(greeting.commands(), "*1\r\n$4\r\nPING\r\n");
  EXPECT_EQ(greeting.expected(), 1u);
  EXPECT_EQ(greeting.on_reply(ok()), step::done);
}

TEST(handshake, is_done_after_the_last_reply) {
  auto greeting = to("redis://u:p@h/3");
  ASSERT_EQ(greeting.expected(), 4u);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(greeting.on_reply(ok()), step::more);
  EXPECT_EQ(greeting.on_reply(ok()), step::done);
}

TEST(handshake, explains_a_wrong_password) {
  auto const failure = refused(to("redis://web:secret@h"), "WRONGPASS invalid username-password pair");
  EXPECT_EQ(failure.code(), errc::unauthorized);
  EXPECT_THAT(failure.what(),
              AllOf(HasSubstr("redis://web:***@h"), HasSubstr("user \"web\""), HasSubstr("WRONGPASS"),
                    HasSubstr("check user and password"), Not(HasSubstr("secret"))));
}

TEST(handshake, explains_a_password_that_the_server_does_not_want) {
  auto const failure = refused(
      to("redis://:secret@h"),
      "ERR AUTH <password> called without any password configured for the default user. Are you sure?");
  EXPECT_EQ(failure.code(), errc::unauthorized);
  EXPECT_THAT(failure.what(), HasSubstr("leave it out"));
}

TEST(handshake, explains_a_server_without_users) {
  auto const failure = refused(to("redis://u:p@h"), "ERR wrong number of arguments for 'auth' command");
  EXPECT_THAT(failure.what(), HasSubstr("Redis 6"));
}

TEST(handshake, asks_for_a_password_when_the_server_does) {
  for (auto greeting : {to("redis://h"), to("redis://h", ""), to("redis://h/2")}) {
    auto const failure = refused(greeting, "NOAUTH Authentication required.");
    EXPECT_EQ(failure.code(), errc::unauthorized);
    EXPECT_THAT(failure.what(), AllOf(HasSubstr("needs a password"), HasSubstr("URL")));
  }
}

TEST(handshake, tells_of_a_database_that_does_not_exist) {
  auto const failure = refused(to("redis://:p@h/99"), "ERR DB index is out of range", 1);
  EXPECT_EQ(failure.code(), errc::refused);
  EXPECT_THAT(failure.what(), AllOf(HasSubstr("database 99"), HasSubstr("out of range")));
}

TEST(handshake, names_the_right_that_select_needs) {
  auto const failure =
      refused(to("redis://h/1"), "NOPERM this user has no permissions to run the 'select' command");
  EXPECT_EQ(failure.code(), errc::unauthorized);
  EXPECT_THAT(failure.what(), HasSubstr("+select"));
}

TEST(handshake, can_do_without_a_name_and_without_ping) {
  auto greeting = to("redis://h");
  EXPECT_EQ(greeting.on_reply(failed("ERR unknown subcommand 'SETNAME'")), step::more);
  EXPECT_EQ(greeting.on_reply(failed("NOPERM this user has no permissions to run the 'ping' command")),
            step::done);
}

TEST(handshake, comes_again_when_the_server_is_not_ready) {
  for (auto const* const words :
       {"LOADING Redis is loading the dataset in memory", "BUSY Redis is busy running a script.",
        "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'."}) {
    auto greeting = to("redis://h", "");
    EXPECT_EQ(greeting.on_reply(failed(words)), step::not_ready);
    EXPECT_THAT(greeting.failure().what(), HasSubstr(words));
  }
}

TEST(handshake, passes_on_why_the_server_takes_no_connection) {
  for (auto const* const words :
       {"ERR max number of clients reached", "DENIED Redis is running in protected mode"}) {
    auto const failure = refused(to("redis://:p@h"), words);
    EXPECT_EQ(failure.code(), errc::refused);
    EXPECT_THAT(failure.what(), AllOf(HasSubstr("redis://:***@h"), HasSubstr(words)));
  }
}

TEST(handshake, refuses_answers_that_no_redis_gives) {
  auto greeting = to("redis://h", "");
  EXPECT_EQ(greeting.on_reply({.what = kind::integer, .integer = 1, .text = {}, .elements = {}}),
            step::failed);
  EXPECT_EQ(greeting.failure().code(), errc::protocol);
}

reply role_of(std::string words) {
  reply all{.what = kind::array, .integer = 0, .text = {}, .elements = {}};
  all.elements.push_back({.what = kind::text, .integer = 0, .text = std::move(words), .elements = {}});
  return all;
}

handshake to_master() { return {parse_url("redis://h"), "", handshake::role::master}; }

TEST(handshake, asks_for_the_role_when_only_a_master_will_do) {
  auto greeting = to_master();
  EXPECT_EQ(greeting.commands(), "*1\r\n$4\r\nROLE\r\n*1\r\n$4\r\nPING\r\n");
  EXPECT_EQ(greeting.on_reply(role_of("master")), step::more);
  EXPECT_EQ(greeting.on_reply(ok()), step::done);
}

TEST(handshake, goes_elsewhere_from_a_replica) {
  auto greeting = to_master();
  EXPECT_EQ(greeting.on_reply(role_of("slave")), step::elsewhere);
  EXPECT_EQ(greeting.failure().code(), errc::unreachable);
  EXPECT_THAT(greeting.failure().what(), HasSubstr("is a replica"));
}

TEST(handshake, believes_the_sentinels_where_the_role_is_not_told) {
  auto greeting = to_master();
  EXPECT_EQ(greeting.on_reply(failed("NOPERM this user has no permissions to run the 'role' command")),
            step::more);
  EXPECT_EQ(greeting.on_reply(ok()), step::done);
}

TEST(handshake, advises_when_a_server_without_databases_may_be_a_sentinel) {
  auto const failure = refused(to("redis://h/3", ""), "ERR unknown command 'SELECT', with args");
  EXPECT_THAT(failure.what(), HasSubstr("redis+sentinel://"));
}

}  // namespace
