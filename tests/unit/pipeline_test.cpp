#include "pipelining.hpp"

namespace {

using namespace pipelining;

TEST(pipeline, matches_replies_to_requests_in_order) {
  pipeline requests;
  for (auto const* const bytes : {"a", "b", "c"}) add(requests, bytes);
  (void)send_all(requests);
  for (std::string const bytes : {"a", "b", "c"}) {
    auto const entry = matched(requests, "reply to " + bytes);
    EXPECT_EQ(entry.request.bytes, bytes);
    EXPECT_EQ(entry.response.reply.text, "reply to " + bytes);
    EXPECT_EQ(entry.response.failure, nullptr);
  }
  EXPECT_TRUE(requests.empty());
}

TEST(pipeline, sends_many_in_one_write_and_each_once) {
  pipeline requests;
  add(requests, "a");
  add(requests, "b");
  EXPECT_EQ(send_all(requests), "ab");
  EXPECT_EQ(send_all(requests), "");
  add(requests, "c");
  EXPECT_EQ(requests.unsent(), 1u);
  EXPECT_EQ(send_all(requests), "c");
  EXPECT_EQ(requests.in_flight(), 3u);
}

TEST(pipeline, matches_a_request_of_several_commands_to_the_last_of_its_replies) {
  pipeline requests;
  requests.add({.bytes = "MULTI…EXEC", .done = {}, .replies = 3}, opened_at);
  add(requests, "b");
  (void)send_all(requests);
  pipeline::batch none;
  for (auto const* const text : {"OK", "QUEUED"}) EXPECT_TRUE(requests.match(reply_of(text), none));
  EXPECT_TRUE(none.empty());
  EXPECT_EQ(requests.in_flight(), 2u);
  EXPECT_EQ(matched(requests, "result").response.reply.text, "result");
  EXPECT_EQ(matched(requests, "reply").request.bytes, "b");
}

TEST(pipeline, reports_the_first_error_of_a_request_of_several_commands) {
  pipeline requests;
  requests.add({.bytes = "MULTI…EXEC", .done = {}, .replies = 3}, opened_at);
  (void)send_all(requests);
  pipeline::batch none;
  EXPECT_TRUE(requests.match(reply_of("OK"), none));
  EXPECT_TRUE(requests.match({.type = kind::error, .text = "MOVED 1 b:1", .elements = {}}, none));
  pipeline::batch done;
  EXPECT_TRUE(requests.match({.type = kind::error, .text = "EXECABORT", .elements = {}}, done));
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(done.front().response.reply.text, "MOVED 1 b:1");
}

TEST(pipeline, awaits_all_replies_of_a_request_again_after_a_drop) {
  pipeline requests;
  requests.add({.bytes = "MULTI…EXEC", .done = {}, .replies = 2}, opened_at);
  (void)send_all(requests);
  pipeline::batch none;
  EXPECT_TRUE(requests.match({.type = kind::error, .text = "lost", .elements = {}}, none));
  requests.restart();
  (void)send_all(requests);
  EXPECT_TRUE(requests.match(reply_of("OK"), none));
  EXPECT_TRUE(none.empty());
  EXPECT_EQ(matched(requests, "result").response.reply.text, "result");
}

TEST(pipeline, has_no_request_for_a_reply_that_nobody_asked_for) {
  pipeline requests;
  pipeline::batch nothing;
  EXPECT_FALSE(requests.match(reply_of("hello"), nothing));
  add(requests, "not sent yet");
  EXPECT_FALSE(requests.match(reply_of("hello"), nothing));
  EXPECT_EQ(requests.unsent(), 1u);
}

TEST(pipeline, sends_everything_again_after_a_drop_in_the_old_order_ahead_of_what_came_later) {
  pipeline requests;
  for (auto const* const bytes : {"a", "b", "c"}) add(requests, bytes);
  (void)send_all(requests);
  (void)matched(requests, "reply");
  requests.restart();
  add(requests, "d");
  EXPECT_EQ(requests.in_flight(), 0u);
  std::string bytes;
  EXPECT_EQ(requests.send_to(bytes, opened_at), 2u);  // sent a second time
  EXPECT_EQ(bytes, "bcd");
  EXPECT_EQ(matched(requests, "reply").request.bytes, "b");
}

TEST(pipeline, says_which_were_sent_more_than_once) {
  pipeline requests;
  add(requests, "a");
  (void)send_all(requests);
  requests.restart();
  add(requests, "b");
  (void)send_all(requests);
  auto const first = matched(requests, "");
  auto const second = matched(requests, "");
  EXPECT_TRUE(first.response.sent && first.response.resent);
  EXPECT_TRUE(second.response.sent);
  EXPECT_FALSE(second.response.resent);
}

TEST(pipeline, believes_that_an_earlier_copy_was_sent_elsewhere) {
  pipeline requests;
  requests.add({.bytes = "a", .done = {}}, opened_at, true);
  (void)send_all(requests);
  EXPECT_TRUE(matched(requests, "").response.resent);
}

TEST(pipeline, counts_the_time_of_sending_from_the_last_copy) {
  pipeline requests;
  add(requests, "a");
  (void)send_all(requests, opened_at + 1s);
  EXPECT_EQ(requests.oldest(), opened_at + 1s);
  requests.restart();
  (void)send_all(requests, opened_at + 5s);
  EXPECT_EQ(requests.oldest(), opened_at + 5s);
  EXPECT_EQ(matched(requests, "").response.sent_at, opened_at + 5s);
}

TEST(pipeline, takes_out_what_is_asked_for_and_keeps_the_order_of_the_rest) {
  pipeline requests;
  for (auto const* const bytes : {"a", "b", "c", "d"}) add(requests, bytes);
  auto const removed = requests.remove_if(
      [](request const& candidate, time_point) { return candidate.bytes == "b" || candidate.bytes == "d"; });
  ASSERT_EQ(removed.size(), 2u);
  EXPECT_EQ(removed.front().request.bytes, "b");
  EXPECT_EQ(removed.back().request.bytes, "d");
  EXPECT_EQ(send_all(requests), "ac");
}

TEST(pipeline, takes_out_by_the_time_of_queueing) {
  pipeline requests;
  add(requests, "old", opened_at);
  add(requests, "new", opened_at + 2s);
  auto const removed =
      requests.remove_if([](request const&, time_point queued) { return queued < opened_at + 1s; });
  ASSERT_EQ(removed.size(), 1u);
  EXPECT_EQ(removed.front().request.bytes, "old");
}

TEST(pipeline, remembers_of_what_is_taken_out_whether_it_had_been_sent) {
  pipeline requests;
  add(requests, "sent");
  (void)send_all(requests, opened_at + 1s);
  requests.restart();
  add(requests, "never sent");
  auto const removed = requests.remove_if([](request const&, time_point) { return true; });
  ASSERT_EQ(removed.size(), 2u);
  EXPECT_TRUE(removed.front().response.sent);
  EXPECT_EQ(removed.front().response.sent_at, opened_at + 1s);
  EXPECT_FALSE(removed.back().response.sent);
  EXPECT_TRUE(requests.empty());
}

TEST(pipeline, sends_what_is_put_back_ahead_of_what_came_behind_it) {
  pipeline requests;
  for (auto const* const bytes : {"a", "b"}) add(requests, bytes);
  (void)send_all(requests);
  pipeline::batch refused;
  ASSERT_TRUE(requests.match(reply_of("READONLY"), refused));
  refused.front().response.sent = false;  // the server refused the request and didn't carry it out
  requests.restart();
  requests.put_back(std::move(refused), opened_at);
  EXPECT_EQ(send_all(requests), "ab");
  EXPECT_FALSE(matched(requests, "reply").response.resent);
  EXPECT_TRUE(matched(requests, "reply").response.resent) << "the outcome of the second request is unknown";
}

TEST(pipeline, repeats_requests_in_their_order_and_ahead_of_all_that_came_behind_them) {
  pipeline requests;
  for (auto const* const bytes : {"a", "b", "c"}) add(requests, bytes);
  (void)send_all(requests);
  add(requests, "d");
  auto const answer_to_repeat = [&] {
    pipeline::batch forgotten;
    ASSERT_TRUE(requests.match(reply_of("NOSCRIPT"), forgotten));
    forgotten.front().response.sent = false;
    requests.repeat(std::move(forgotten), opened_at);
  };
  answer_to_repeat();
  EXPECT_FALSE(requests.can_send());
  EXPECT_EQ(send_all(requests), "") << "the next ones may have to be repeated, too";
  answer_to_repeat();
  (void)matched(requests, "reply");
  EXPECT_FALSE(requests.empty());
  EXPECT_TRUE(requests.can_send());
  EXPECT_EQ(send_all(requests), "abd");
  EXPECT_FALSE(matched(requests, "reply").response.resent);
}

TEST(pipeline, sends_what_is_to_be_repeated_first_after_a_break) {
  pipeline requests;
  for (auto const* const bytes : {"a", "b"}) add(requests, bytes);
  (void)send_all(requests);
  add(requests, "c");
  pipeline::batch forgotten;
  ASSERT_TRUE(requests.match(reply_of("NOSCRIPT"), forgotten));
  requests.repeat(std::move(forgotten), opened_at);
  requests.restart();
  EXPECT_EQ(send_all(requests), "abc");
}

}  // namespace
