#include "engine/readiness.hpp"

#include <gtest/gtest.h>

#include "resp/make_reply.hpp"

namespace holdfast::engine {
namespace {

using namespace std::chrono_literals;

constexpr time_point start{std::chrono::hours{24}};

net::response refusal(bool resent = false) {
  return {.reply = resp::make_error("BUSY a script"), .sent = true, .resent = resent};
}
net::response answered() { return {.reply = resp::make_integer(1), .sent = true}; }

TEST(readiness_of_a_server, is_asked_for_again_until_it_answers) {
  readiness request{client_options{}};
  auto busy = refusal();
  EXPECT_TRUE(request.next_copy(busy, start));
  auto last = answered();
  EXPECT_FALSE(request.next_copy(last, start + 1s));
  EXPECT_FALSE(last.resent) << "what was refused wasn't carried out";
}

TEST(readiness_of_a_server, has_an_end) {
  client_options const options{};
  readiness request{options};
  auto busy = refusal();
  EXPECT_TRUE(request.next_copy(busy, start));
  EXPECT_FALSE(request.next_copy(busy, start + options.reply_timeout + options.connect_timeout));
}

TEST(readiness_of_a_server, is_asked_for_until_the_end_that_was_given_whatever_it_says) {
  auto const end = start + 1h;
  readiness request{end};
  auto full = net::response{.reply = resp::make_error("OOM command not allowed"), .sent = true};
  EXPECT_TRUE(request.next_copy(full, start));
  net::response unreachable{.failure = std::make_shared<error const>(errc::unreachable, "gone")};
  EXPECT_TRUE(request.next_copy(unreachable, end - 2ms));
  EXPECT_TRUE(request.next_copy(full, end - 1ms));
  EXPECT_FALSE(request.next_copy(full, end));
}

TEST(readiness_of_a_server, is_not_asked_for_again_where_it_is_in_vain) {
  readiness request{start + 1h};
  net::response ended{.failure = std::make_shared<error const>(errc::closed, "ended")};
  EXPECT_FALSE(request.next_copy(ended, start));
  net::response misfit{.reply = resp::make_error("MISFIT a list"), .sent = true};
  EXPECT_FALSE(request.next_copy(misfit, start));
}

TEST(readiness_of_a_server, tells_that_any_copy_may_have_been_carried_out) {
  readiness request{client_options{}};
  auto busy = refusal(true);
  EXPECT_TRUE(request.next_copy(busy, start));
  auto again = refusal();
  EXPECT_TRUE(request.next_copy(again, start + 1s));
  EXPECT_TRUE(again.resent);
  auto last = answered();
  EXPECT_FALSE(request.next_copy(last, start + 2s));
  EXPECT_TRUE(last.resent);
}

}  // namespace
}  // namespace holdfast::engine
