/// The pipeline with requests that are written in another form than they were made in.
#include "pipelining.hpp"

namespace {

using namespace pipelining;

/// Says "a" as "x" with two replies, and then "y"; all else as it stands.
struct two_exchanges final : holdfast::net::translation {
  bool alone = false;
  void begin(request const& asked, bool, holdfast::net::exchange& now) override {
    if (asked.bytes == "a") now = {.bytes = "x", .replies = 2, .alone = alone};
  }
  holdfast::net::meaning read(request const&, holdfast::net::exchange const&, std::span<reply>,
                              bool) override {
    return {};
  }
  bool reconsiders(request const&, reply const&) override { return false; }
};

void add_script(pipeline& requests, std::string bytes) {
  static int const some_script = 0;
  requests.add({.bytes = std::move(bytes), .done = {}, .script = &some_script}, opened_at);
}

std::string send_all(pipeline& requests, holdfast::net::translation& language, time_point now = opened_at) {
  std::string bytes;
  (void)requests.send_to(bytes, now, &language);
  return bytes;
}

TEST(pipeline, collects_all_replies_to_a_translated_request) {
  pipeline requests;
  two_exchanges language;
  add_script(requests, "a");
  add_script(requests, "b");
  EXPECT_EQ(send_all(requests, language), "xb");
  pipeline::batch done;
  EXPECT_TRUE(requests.match(reply_of("1"), done));
  EXPECT_TRUE(done.empty());
  EXPECT_TRUE(requests.match(reply_of("2"), done));
  ASSERT_EQ(done.size(), 1U);
  EXPECT_EQ(done.front().request.bytes, "a");
  EXPECT_EQ(done.front().last.replies.size(), 2U);
  EXPECT_EQ(matched(requests, "3").request.bytes, "b");
}

TEST(pipeline, goes_on_with_a_request_ahead_of_the_unsent_and_keeps_when_it_began) {
  pipeline requests;
  two_exchanges language;
  add_script(requests, "a");
  (void)send_all(requests, language);
  pipeline::batch half;
  EXPECT_TRUE(requests.match(reply_of("1"), half));
  EXPECT_TRUE(requests.match(reply_of("2"), half));
  add_script(requests, "b");
  requests.go_on(std::move(half), {.bytes = "y"});
  EXPECT_EQ(send_all(requests, language, opened_at + 1s), "yb");
  pipeline::batch whole;
  EXPECT_TRUE(requests.match(reply_of("3"), whole));
  ASSERT_EQ(whole.size(), 1U);
  EXPECT_EQ(whole.front().response.sent_at, opened_at);
  EXPECT_FALSE(whole.front().response.resent);
}

TEST(pipeline, begins_a_translated_request_anew_after_a_break) {
  pipeline requests;
  two_exchanges language;
  add_script(requests, "a");
  (void)send_all(requests, language);
  pipeline::batch half;
  EXPECT_TRUE(requests.match(reply_of("1"), half));
  requests.restart();
  EXPECT_EQ(send_all(requests, language), "x");
  EXPECT_TRUE(requests.match(reply_of("1"), half));
  EXPECT_TRUE(half.empty());
  EXPECT_TRUE(requests.match(reply_of("2"), half));
  requests.go_on(std::move(half), {.bytes = "y"});
  requests.restart();
  EXPECT_EQ(send_all(requests, language), "x");
  EXPECT_TRUE(requests.match(reply_of("1"), half));
  EXPECT_TRUE(requests.match(reply_of("2"), half));
  ASSERT_EQ(half.size(), 1U);
  EXPECT_TRUE(half.front().response.resent);
}

TEST(pipeline, writes_nothing_behind_what_must_be_alone) {
  pipeline requests;
  two_exchanges language;
  language.alone = true;
  add_script(requests, "a");
  add_script(requests, "b");
  EXPECT_EQ(send_all(requests, language), "x");
  EXPECT_FALSE(requests.can_send());
  pipeline::batch half;
  EXPECT_TRUE(requests.match(reply_of("1"), half));
  EXPECT_FALSE(requests.can_send());
  EXPECT_TRUE(requests.match(reply_of("2"), half));
  requests.go_on(std::move(half), {.bytes = "y"});
  EXPECT_EQ(send_all(requests, language), "yb");
}

/// Another transaction in between would end its watch.
TEST(pipeline, writes_nothing_between_what_must_be_alone_and_what_follows_it) {
  pipeline requests;
  two_exchanges language;
  add_script(requests, "a");
  EXPECT_EQ(send_all(requests, language), "x");
  language.alone = true;
  add_script(requests, "a");
  EXPECT_EQ(send_all(requests, language), "x");
  for (auto const* const bytes : {"of the first", "of the one alone"}) {
    pipeline::batch half;
    EXPECT_TRUE(requests.match(reply_of("1"), half));
    EXPECT_TRUE(requests.match(reply_of("2"), half));
    requests.go_on(std::move(half), {.bytes = bytes});
  }
  EXPECT_EQ(send_all(requests, language), "of the one aloneof the first");
}

/// Requests "a", of which each is half done.
void do_half(pipeline& requests, holdfast::net::translation& language, int count, bool alone = false) {
  for (auto i = 0; i != count; ++i) add_script(requests, "a");
  (void)send_all(requests, language);
  for (auto i = 0; i != count; ++i) {
    pipeline::batch half;
    EXPECT_TRUE(requests.match(reply_of("1"), half));
    EXPECT_TRUE(requests.match(reply_of("2"), half));
    requests.go_on(std::move(half), {.bytes = "y" + std::to_string(i), .alone = alone});
  }
}

TEST(pipeline, goes_on_with_requests_in_their_order) {
  pipeline requests;
  two_exchanges language;
  do_half(requests, language, 3);
  add_script(requests, "b");
  EXPECT_TRUE(requests.can_send());
  EXPECT_EQ(requests.unsent(), 4U);
  EXPECT_EQ(send_all(requests, language), "y0y1y2b");
}

TEST(pipeline, begins_all_requests_anew_that_were_to_go_on_when_the_connection_broke) {
  pipeline requests;
  two_exchanges language;
  do_half(requests, language, 3);
  EXPECT_FALSE(requests.empty());
  requests.restart();
  EXPECT_EQ(send_all(requests, language), "xxx") << "what the other half was made for is gone";
}

TEST(pipeline, begins_requests_anew_that_were_kept_back_behind_what_is_alone) {
  pipeline requests;
  two_exchanges language;
  do_half(requests, language, 2, true);
  EXPECT_EQ(send_all(requests, language), "y0");
  requests.restart();
  EXPECT_EQ(send_all(requests, language), "xx");
}

TEST(pipeline, asks_a_node_for_each_command_that_it_does_not_serve_yet) {
  struct several final : holdfast::net::translation {
    void begin(request const&, bool, holdfast::net::exchange& now) override {
      now = {.bytes =
                 "*2\r\n$3\r\nDEL\r\n$1\r\na\r\n*1\r\n$5\r\nMULTI\r\n*2\r\n$3\r\nGET\r\n$1\r\na\r\n"
                 "*1\r\n$4\r\nEXEC\r\n*2\r\n$3\r\nGET\r\n$1\r\nb\r\n",
             .replies = 5};
    }
    holdfast::net::meaning read(request const&, holdfast::net::exchange const&, std::span<reply>,
                                bool) override {
      return {};
    }
    bool reconsiders(request const&, reply const&) override { return false; }
  } language;
  pipeline requests;
  static int const some_script = 0;
  requests.add({.bytes = "a", .done = {}, .script = &some_script, .asked = true}, opened_at);
  std::string const asking{"*1\r\n$6\r\nASKING\r\n"};
  EXPECT_EQ(send_all(requests, language),
            asking + "*2\r\n$3\r\nDEL\r\n$1\r\na\r\n" + asking +
                "*1\r\n$5\r\nMULTI\r\n*2\r\n$3\r\nGET\r\n$1\r\na\r\n*1\r\n$4\r\nEXEC\r\n" + asking +
                "*2\r\n$3\r\nGET\r\n$1\r\nb\r\n")
      << "a transaction keeps what was said ahead of it";
  pipeline::batch done;
  for (auto const* const text : {"OK", "1", "OK", "OK", "QUEUED", "2", "OK"}) {
    EXPECT_TRUE(requests.match(reply_of(text), done));
    EXPECT_TRUE(done.empty());
  }
  EXPECT_TRUE(requests.match(reply_of("3"), done));
  ASSERT_EQ(done.size(), 1U);
  std::vector<std::string> texts;
  for (auto const& each : done.front().last.replies) texts.push_back(each.text);
  EXPECT_EQ(texts, (std::vector<std::string>{"1", "OK", "QUEUED", "2", "3"}));
}

}  // namespace
