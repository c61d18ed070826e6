#include "net/pipeline.hpp"

#include <gmock/gmock.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using holdfast::time_point;
using holdfast::net::pipeline;
using holdfast::net::request;
using holdfast::resp::kind;
using holdfast::resp::reply;

constexpr time_point opened_at{1h};

void add(pipeline& to, std::string bytes, time_point when = opened_at) {
  to.add({.bytes = std::move(bytes), .done = {}}, when);
}

std::string sent(pipeline& from, time_point when = opened_at) {
  std::string bytes;
  (void)from.send_to(bytes, when);
  return bytes;
}

reply reply_of(std::string words) { return {.what = kind::text, .text = std::move(words), .elements = {}}; }

pipeline::entry matched(pipeline& by, std::string words) {
  pipeline::batch result;
  EXPECT_TRUE(by.match(reply_of(std::move(words)), result));
  return std::move(result.front());
}

TEST(pipeline, matches_replies_to_requests_in_order) {
  pipeline line;
  for (auto const* const one : {"a", "b", "c"}) add(line, one);
  (void)sent(line);
  for (std::string const one : {"a", "b", "c"}) {
    auto const done = matched(line, "reply to " + one);
    EXPECT_EQ(done.request.bytes, one);
    EXPECT_EQ(done.response.reply.text, "reply to " + one);
    EXPECT_EQ(done.response.failure, nullptr);
  }
  EXPECT_TRUE(line.empty());
}

TEST(pipeline, sends_many_in_one_write_and_each_once) {
  pipeline line;
  add(line, "a");
  add(line, "b");
  EXPECT_EQ(sent(line), "ab");
  EXPECT_EQ(sent(line), "");
  add(line, "c");
  EXPECT_EQ(line.unsent(), 1u);
  EXPECT_EQ(sent(line), "c");
  EXPECT_EQ(line.in_flight(), 3u);
}

TEST(pipeline, has_no_request_for_a_reply_that_nobody_asked_for) {
  pipeline line;
  pipeline::batch nothing;
  EXPECT_FALSE(line.match(reply_of("hello"), nothing));
  add(line, "not sent yet");
  EXPECT_FALSE(line.match(reply_of("hello"), nothing));
  EXPECT_EQ(line.unsent(), 1u);
}

TEST(pipeline, sends_everything_again_after_a_drop_in_the_old_order_ahead_of_what_came_later) {
  pipeline line;
  for (auto const* const one : {"a", "b", "c"}) add(line, one);
  (void)sent(line);
  (void)matched(line, "reply");
  line.restart();
  add(line, "d");
  EXPECT_EQ(line.in_flight(), 0u);
  std::string bytes;
  EXPECT_EQ(line.send_to(bytes, opened_at), 2u);  // of them a second time
  EXPECT_EQ(bytes, "bcd");
  EXPECT_EQ(matched(line, "reply").request.bytes, "b");
}

TEST(pipeline, says_which_were_sent_more_than_once) {
  pipeline line;
  add(line, "a");
  (void)sent(line);
  line.restart();
  add(line, "b");
  (void)sent(line);
  auto const first = matched(line, "");
  auto const second = matched(line, "");
  EXPECT_TRUE(first.response.sent && first.response.resent);
  EXPECT_TRUE(second.response.sent);
  EXPECT_FALSE(second.response.resent);
}

TEST(pipeline, believes_that_an_earlier_copy_was_sent_elsewhere) {
  pipeline line;
  line.add({.bytes = "a", .done = {}}, opened_at, true);
  (void)sent(line);
  EXPECT_TRUE(matched(line, "").response.resent);
}

TEST(pipeline, counts_the_time_of_sending_from_the_last_copy) {
  pipeline line;
  add(line, "a");
  (void)sent(line, opened_at + 1s);
  EXPECT_EQ(line.oldest(), opened_at + 1s);
  line.restart();
  (void)sent(line, opened_at + 5s);
  EXPECT_EQ(line.oldest(), opened_at + 5s);
  EXPECT_EQ(matched(line, "").response.sent_at, opened_at + 5s);
}

TEST(pipeline, takes_out_what_is_asked_for_and_keeps_the_order_of_the_rest) {
  pipeline line;
  for (auto const* const one : {"a", "b", "c", "d"}) add(line, one);
  auto const out =
      line.remove_if([](request const& what, time_point) { return what.bytes == "b" || what.bytes == "d"; });
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(out.front().request.bytes, "b");
  EXPECT_EQ(out.back().request.bytes, "d");
  EXPECT_EQ(sent(line), "ac");
}

TEST(pipeline, takes_out_by_the_time_of_queueing) {
  pipeline line;
  add(line, "old", opened_at);
  add(line, "new", opened_at + 2s);
  auto const out = line.remove_if([](request const&, time_point queued) { return queued < opened_at + 1s; });
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out.front().request.bytes, "old");
}

TEST(pipeline, remembers_of_what_is_taken_out_whether_it_had_been_sent) {
  pipeline line;
  add(line, "sent");
  (void)sent(line, opened_at + 1s);
  line.restart();
  add(line, "never sent");
  auto const out = line.remove_if([](request const&, time_point) { return true; });
  ASSERT_EQ(out.size(), 2u);
  EXPECT_TRUE(out.front().response.sent);
  EXPECT_EQ(out.front().response.sent_at, opened_at + 1s);
  EXPECT_FALSE(out.back().response.sent);
  EXPECT_TRUE(line.empty());
}

TEST(pipeline, sends_what_is_put_back_ahead_of_what_came_behind_it) {
  pipeline line;
  for (auto const* const one : {"a", "b"}) add(line, one);
  (void)sent(line);
  pipeline::batch refused;
  ASSERT_TRUE(line.match(reply_of("READONLY"), refused));
  refused.front().response.sent = false;  // whoever refused it hasn't done it
  line.restart();
  line.put_back(std::move(refused), opened_at);
  EXPECT_EQ(sent(line), "ab");
  EXPECT_FALSE(matched(line, "reply").response.resent);
  EXPECT_TRUE(matched(line, "reply").response.resent) << "of that one nothing is known";
}

}  // namespace
