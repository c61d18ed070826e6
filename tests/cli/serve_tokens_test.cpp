// How often `holdfast serve` looks at tokens, without a server.
#include "serve/access.hpp"
#include "serve/token_tries.hpp"

#include <gmock/gmock.h>

#include <chrono>
#include <string>

namespace {

using namespace std::chrono_literals;
using namespace holdfast::cli;

std::string const good_token = "good-0123456789abcdef";

http_request token_from(std::string peer, std::string const& token) {
  http_request request{.method = "GET", .path = "/metrics", .peer = std::move(peer)};
  request.add_header("Authorization", "Bearer " + token);
  return request;
}

TEST(serve_tokens, an_address_may_be_wrong_ten_times_and_then_now_and_again) {
  token_tries tries;
  for (int i = 0; i != 10; ++i) {
    EXPECT_EQ(tries.wait_of("10.0.0.1", 1s), 0s) << i;
    tries.note_wrong("10.0.0.1", 1s);
  }
  EXPECT_EQ(tries.wait_of("10.0.0.1", 1s), 6s);
  EXPECT_EQ(tries.wait_of("10.0.0.2", 1s), 0s);
  EXPECT_EQ(tries.wait_of("10.0.0.1", 5s), 2s);
  EXPECT_EQ(tries.wait_of("10.0.0.1", 7s), 0s);
  tries.note_wrong("10.0.0.1", 7s);
  EXPECT_EQ(tries.wait_of("10.0.0.1", 7s), 6s);
  EXPECT_EQ(tries.wait_of("10.0.0.1", 200s), 0s);
}

TEST(serve_tokens, a_file_has_comments_and_tokens_may_have_what_begins_them) {
  auto const tokens = read_tokens(
      "# who may look\nanna 0123456789#abcdef  # of the night shift\n\n\t# nobody\n"
      "#0123456789abcdef\n0123456789abcde#\n",
      "the file");
  ASSERT_EQ(tokens.size(), 2U);
  EXPECT_EQ(tokens[0].user, "anna");
  EXPECT_EQ(tokens[0].token, "0123456789#abcdef");
  EXPECT_EQ(tokens[1].user, "admin");
  EXPECT_EQ(tokens[1].token, "0123456789abcde#");
}

TEST(serve_tokens, the_addresses_of_a_network_of_ipv6_are_one) {
  token_tries tries;
  for (int i = 0; i != 10; ++i) tries.note_wrong("2001:db8::" + std::to_string(i), 1s);
  EXPECT_EQ(tries.wait_of("2001:db8::ffff", 1s), 6s);
  EXPECT_EQ(tries.wait_of("2001:db8:0:1::1", 1s), 0s);
  for (int i = 0; i != 10; ++i) tries.note_wrong("::ffff:10.0.0.1", 1s);
  EXPECT_EQ(tries.wait_of("::ffff:10.0.0.2", 1s), 0s);
}

TEST(serve_tokens, only_so_many_addresses_are_kept) {
  token_tries tries{2};
  for (int i = 0; i != 10; ++i) tries.note_wrong("10.0.0.1", 1s);
  tries.note_wrong("10.0.0.2", 1s);
  tries.note_wrong("10.0.0.3", 1s);
  EXPECT_EQ(tries.wait_of("10.0.0.1", 1s), 6s);
}

TEST(serve_tokens, a_right_one_that_comes_after_too_many_wrong_ones_is_not_looked_at) {
  access_control access{{{.user = "anna", .token = good_token}}, {}};
  auto const wrong = token_from("10.0.0.1", "wrong-0123456789abcdef");
  for (int i = 0; i != 10; ++i) {
    ASSERT_FALSE(access.refuse_to_try(wrong, 1s));
    ASSERT_FALSE(access.recognize(wrong, 1s));
    EXPECT_EQ(access.refuse_token(wrong, 1s).status, 401);
  }
  auto const refused = access.refuse_to_try(token_from("10.0.0.1", good_token), 1s);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->status, 429);
  EXPECT_THAT(refused->headers, testing::Contains(testing::Pair("Retry-After", "6")));
  EXPECT_FALSE(access.refuse_to_try(token_from("10.0.0.2", good_token), 1s));
  EXPECT_FALSE(access.refuse_to_try({.method = "GET", .path = "/metrics", .peer = "10.0.0.1"}, 1s));
  EXPECT_FALSE(access.refuse_to_try(token_from("10.0.0.1", good_token), 8s));
  auto of_a_proxy = token_from("10.0.0.1", {});
  of_a_proxy.add_header("Authorization", "Basic YW5uYTpzZWNyZXQ=");
  EXPECT_FALSE(access.refuse_to_try(of_a_proxy, 1s)) << "there is no token of ours in it";
  EXPECT_EQ(access.refuse_token(of_a_proxy, 1s).after, 0ms);
  EXPECT_EQ(access.wrong_tokens(), 10U);
  EXPECT_EQ(access.refused_tokens(), 1U);
}

TEST(serve_tokens, sessions_of_two_servers_on_one_host_do_not_end_each_other) {
  access_control access{{{.user = "anna", .token = good_token}}, {}};
  auto const from_port = [](std::string const& port) {
    http_request request{.method = "GET", .path = "/api/v1/locks"};
    request.add_header("Host", "127.0.0.1" + port);
    return request;
  };
  auto visit = from_port(":7480");
  auto const cookie = access.log_in(visit, good_token, 1s);
  ASSERT_TRUE(cookie);
  EXPECT_NE(access.log_in(from_port(":7481"), good_token, 1s)->substr(0, cookie->find('=')),
            cookie->substr(0, cookie->find('=')));
  EXPECT_THAT(*access.log_in(from_port(""), good_token, 1s), testing::StartsWith("holdfast_session="));
  EXPECT_THAT(*access.log_in(from_port(":7;x=1"), good_token, 1s), testing::StartsWith("holdfast_session="));
  visit.add_header("Cookie",
                   "holdfast_session_7481=of-the-other-one; " + cookie->substr(0, cookie->find(';')));
  EXPECT_TRUE(access.recognize(visit, 2s));
  EXPECT_THAT(access.log_out(visit), testing::StartsWith("holdfast_session_7480=; "));
  EXPECT_FALSE(access.recognize(visit, 2s));
}

}  // namespace
