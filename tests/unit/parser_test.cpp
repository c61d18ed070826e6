#include "resp/parser.hpp"

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>

namespace {

using namespace holdfast::resp;
using namespace std::string_literals;
using testing::HasSubstr;
using testing::Not;

reply integer(std::int64_t value) {
  return {.type = kind::integer, .integer = value, .text = {}, .elements = {}};
}
reply text_reply(std::string value) {
  return {.type = kind::text, .integer = 0, .text = std::move(value), .elements = {}};
}
reply error_reply(std::string words) {
  return {.type = kind::error, .integer = 0, .text = std::move(words), .elements = {}};
}
reply array(std::vector<reply> elements) {
  return {.type = kind::array, .integer = 0, .text = {}, .elements = std::move(elements)};
}

void feed(parser& target, std::string_view bytes) {
  auto const room = target.prepare(bytes.size());
  ASSERT_GE(room.size(), bytes.size());
  if (!bytes.empty()) std::memcpy(room.data(), bytes.data(), bytes.size());
  target.commit(bytes.size());
}

/// The replies that a parser reads from pieces; `failure`: why it broke, if it did.
struct result {
  std::vector<reply> replies;
  std::string failure;
};

result parse(std::vector<std::string_view> const& pieces, limits bounds = {}) {
  parser under_test{bounds};
  result parsed;
  for (auto const piece : pieces) {
    feed(under_test, piece);
    for (;;) {
      reply next = error_reply("left from before");
      auto const outcome = under_test.next(next);
      if (outcome == parser::outcome::broken) parsed.failure = under_test.why();
      if (outcome != parser::outcome::reply) break;
      parsed.replies.push_back(std::move(next));
    }
  }
  return parsed;
}

std::vector<std::string_view> bytewise(std::string_view all) {
  std::vector<std::string_view> pieces;
  for (std::size_t i = 0; i < all.size(); ++i) pieces.push_back(all.substr(i, 1));
  return pieces;
}

std::string failure_of(std::string_view bytes, limits bounds = {}) { return parse({bytes}, bounds).failure; }

struct test_vector {
  std::string bytes;
  std::vector<reply> replies;
};

std::vector<test_vector> const test_vectors{
    {"+OK\r\n", {text_reply("OK")}},
    {"+\r\n", {text_reply("")}},
    {"-ERR wrong kind\r\n", {error_reply("ERR wrong kind")}},
    {":0\r\n:-42\r\n:+7\r\n", {integer(0), integer(-42), integer(7)}},
    {":9223372036854775807\r\n:-9223372036854775808\r\n",
     {integer(std::numeric_limits<std::int64_t>::max()), integer(std::numeric_limits<std::int64_t>::min())}},
    {"$5\r\nhello\r\n$0\r\n\r\n$-1\r\n", {text_reply("hello"), text_reply(""), reply{}}},
    {"$6\r\na\r\nb\0c\r\n"s, {text_reply("a\r\nb\0c"s)}},
    {"$4\r\n\r\n\r\n\r\n", {text_reply("\r\n\r\n")}},
    {"*0\r\n*-1\r\n", {array({}), reply{}}},
    {"*3\r\n:1\r\n$1\r\nx\r\n$-1\r\n+next\r\n",
     {array({integer(1), text_reply("x"), reply{}}), text_reply("next")}},
    {"*2\r\n*2\r\n:1\r\n*1\r\n:2\r\n*2\r\n*0\r\n-E\r\n",
     {array({array({integer(1), array({integer(2)})}), array({array({}), error_reply("E")})})}},
    {"*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$5\r\na\r\nbc\r\n",
     {array({text_reply("message"), text_reply("c"), text_reply("a\r\nbc")})}},
};

TEST(parser, reads_every_kind_of_reply) {
  for (auto const& sample : test_vectors) {
    auto const parsed = parse({sample.bytes});
    EXPECT_EQ(parsed.replies, sample.replies) << sample.bytes;
    EXPECT_EQ(parsed.failure, "");
  }
}

TEST(parser, resumes_at_every_byte) {
  for (auto const& sample : test_vectors) {
    std::string_view const all = sample.bytes;
    for (std::size_t split = 0; split <= all.size(); ++split) {
      EXPECT_EQ(parse({all.substr(0, split), all.substr(split)}).replies, sample.replies)
          << sample.bytes << " at " << split;
    }
    EXPECT_EQ(parse(bytewise(all)).replies, sample.replies) << sample.bytes;
  }
}

TEST(parser, says_what_answered_instead_of_redis) {
  auto const failure = failure_of("HTTP/1.1 400 Bad Request\r\nServer: x\r\n\r\n");
  EXPECT_THAT(failure, HasSubstr("not a Redis server"));
  EXPECT_THAT(failure, HasSubstr("\"HTTP/1.1 400 Bad Request\""));
  EXPECT_THAT(failure_of("\x15\x03\x03\x01\x02"), HasSubstr("rediss://"));
}

TEST(parser, quotes_at_most_40_printable_characters) {
  auto const failure = failure_of("\x01\x7f\xff" + std::string(100, 'x'));
  EXPECT_THAT(failure, HasSubstr("\"..." + std::string(37, 'x') + "\""));
}

TEST(parser, refuses_an_unknown_type_in_the_middle) {
  EXPECT_THAT(failure_of("+OK\r\n!oops\r\n"), HasSubstr("\"!oops\""));
  EXPECT_THAT(failure_of("*2\r\n:1\r\n%1\r\n"), HasSubstr("\"%1\""));
}

TEST(parser, refuses_what_is_no_number) {
  for (auto const* const bytes :
       {":\r\n", ":x\r\n", ":1x\r\n", ": 1\r\n", ":+-1\r\n", ":+\r\n", ":9223372036854775808\r\n", "$\r\n",
        "$x\r\n", "$1x\r\n", "$+1\r\n", "$-0\r\n", "$-2\r\n", "$--1\r\n", "$99999999999999999999\r\n",
        "*\r\n", "*x\r\n", "*-2\r\n", "* 1\r\n"}) {
    EXPECT_THAT(failure_of(bytes), HasSubstr("protocol error")) << bytes;
    EXPECT_EQ(parse(bytewise(bytes)).failure, failure_of(bytes)) << bytes;
  }
}

TEST(parser, refuses_wrong_line_ends) {
  EXPECT_NE(failure_of("+OK\n"), "");
  EXPECT_NE(failure_of("$1\r\nxy\r\n"), "");
  EXPECT_NE(failure_of("$1\r\nx\n\r"), "");
  EXPECT_NE(failure_of("\n"), "");
}

TEST(parser, refuses_a_length_over_the_limit_before_the_data_comes) {
  limits const small{.max_bytes = 1'000};
  EXPECT_THAT(failure_of("$1001\r\n", small), HasSubstr("over 1000 bytes"));
  EXPECT_EQ(failure_of("$1000\r\n", small), "");
  EXPECT_THAT(failure_of("*1000\r\n", small), HasSubstr("over 1000 bytes"));
  EXPECT_NE(failure_of("*9223372036854775807\r\n"), "");
  EXPECT_NE(failure_of("$9223372036854775807\r\n"), "");
}

TEST(parser, counts_all_elements_of_a_reply_against_the_limit) {
  limits const small{.max_bytes = 4'000};
  auto const element = "$1000\r\n" + std::string(1'000, 'x') + "\r\n";
  EXPECT_EQ(failure_of("*3\r\n" + element + element + element, small), "");
  EXPECT_NE(failure_of("*4\r\n" + element + element + element + "$1000\r\n", small), "");
  EXPECT_NE(failure_of("*2\r\n*50\r\n" + element, small), "") << "elements count though they are small";
}

TEST(parser, counts_each_reply_anew) {
  limits const small{.max_bytes = 1'000};
  std::string many;
  for (int i = 0; i < 10; ++i) many += "$900\r\n" + std::string(900, 'x') + "\r\n";
  EXPECT_EQ(parse({many}, small).replies.size(), 10u);
}

TEST(parser, refuses_arrays_nested_too_deep) {
  std::string nested;
  for (int i = 0; i < 8; ++i) nested += "*1\r\n";
  EXPECT_EQ(parse({nested + ":1\r\n"}).replies.size(), 1u);
  EXPECT_THAT(failure_of(nested + "*1\r\n"), HasSubstr("8 deep"));
}

TEST(parser, refuses_an_endless_line) {
  std::string const line(64 << 10, 'x');
  EXPECT_EQ(parse({"+" + line + "\r\n"}).replies.size(), 1u);
  for (auto const& endless :
       {"+" + line + "xx", "+" + line + "x\r\n", "$" + line + "xx", "-" + line + "xx"}) {
    EXPECT_THAT(failure_of(endless), HasSubstr("a line of over"));
  }
}

TEST(parser, stays_broken_until_it_is_reset) {
  parser under_test;
  reply next;
  feed(under_test, "*1\r\n:1x\r\n");
  EXPECT_EQ(under_test.next(next), parser::outcome::broken);
  feed(under_test, ":1\r\n");
  EXPECT_EQ(under_test.next(next), parser::outcome::broken);
  under_test.reset();
  EXPECT_EQ(under_test.next(next), parser::outcome::incomplete);
  feed(under_test, ":1\r\n");
  EXPECT_EQ(under_test.next(next), parser::outcome::reply);
  EXPECT_EQ(next, integer(1));
  EXPECT_EQ(under_test.why(), "");
}

TEST(parser, forgets_half_a_reply_when_it_is_reset) {
  parser under_test;
  reply next;
  feed(under_test, "*2\r\n:1\r\n$5\r\nab");
  EXPECT_EQ(under_test.next(next), parser::outcome::incomplete);
  under_test.reset();
  feed(under_test, "+OK\r\n");
  EXPECT_EQ(under_test.next(next), parser::outcome::reply);
  EXPECT_EQ(next, text_reply("OK"));
}

TEST(parser, needs_no_more_memory_than_a_few_times_the_limit) {
  parser under_test{{.max_bytes = 1 << 20}};
  reply next;
  feed(under_test, "$1048576\r\n");
  for (int i = 0; i < 256; ++i) {
    feed(under_test, std::string(4'096, 'x'));
    ASSERT_EQ(under_test.next(next), parser::outcome::incomplete);
    ASSERT_LT(under_test.capacity(), 2u << 20);
  }
  feed(under_test, "\r\n");
  EXPECT_EQ(under_test.next(next), parser::outcome::reply);
}

TEST(parser, gives_the_memory_of_a_large_reply_back) {
  parser under_test;
  reply next;
  feed(under_test, "$4000000\r\n" + std::string(4'000'000, 'x') + "\r\n+half");
  EXPECT_EQ(under_test.next(next), parser::outcome::reply);
  EXPECT_EQ(under_test.next(next), parser::outcome::incomplete);
  EXPECT_GT(under_test.capacity(), 4'000'000u);
  feed(under_test, " and half\r\n");
  EXPECT_LT(under_test.capacity(), 200'000u);
  EXPECT_EQ(under_test.next(next), parser::outcome::reply);
  EXPECT_EQ(next, text_reply("half and half"));
}

TEST(parser, keeps_a_small_buffer_through_endless_traffic) {
  parser under_test;
  reply next;
  for (int i = 0; i < 10'000; ++i) {
    feed(under_test, ":1\r\n$5\r\nhello\r\n*1\r\n");
    feed(under_test, ":2\r\n+");
    while (under_test.next(next) == parser::outcome::reply) {
    }
    feed(under_test, "OK\r\n");
    ASSERT_EQ(under_test.next(next), parser::outcome::reply);
  }
  EXPECT_LE(under_test.capacity(), 4'096u);
}

std::string encoded(reply const& value) {
  switch (value.type) {
    case kind::nil:
      return "$-1\r\n";
    case kind::integer:
      return ":" + std::to_string(value.integer) + "\r\n";
    case kind::error:
      return "-" + value.text + "\r\n";
    case kind::text:
      return "$" + std::to_string(value.text.size()) + "\r\n" + value.text + "\r\n";
    case kind::array:
      break;
  }
  auto all = "*" + std::to_string(value.elements.size()) + "\r\n";
  for (auto const& element : value.elements) all += encoded(element);
  return all;
}

rc::Gen<reply> any_reply(int depth) {
  auto const leaf =
      rc::gen::oneOf(rc::gen::just(reply{}), rc::gen::map(rc::gen::arbitrary<std::int64_t>(), integer),
                     rc::gen::map(rc::gen::arbitrary<std::string>(), text_reply),
                     rc::gen::map(rc::gen::container<std::string>(rc::gen::inRange('a', 'z')), error_reply));
  if (depth == 0) return leaf;
  auto const nested =
      rc::gen::map(rc::gen::scale(0.3, rc::gen::container<std::vector<reply>>(any_reply(depth - 1))), array);
  return rc::gen::oneOf(leaf, nested);
}

RC_GTEST_PROP(parser, reads_back_any_replies_however_they_are_split, ()) {
  auto const replies = *rc::gen::container<std::vector<reply>>(any_reply(3));
  std::string all;
  for (auto const& value : replies) all += encoded(value);
  std::vector<std::string_view> pieces;
  for (std::string_view remaining = all; !remaining.empty();) {
    auto const size = std::min(remaining.size(), *rc::gen::inRange<std::size_t>(1, 40));
    pieces.push_back(remaining.substr(0, size));
    remaining.remove_prefix(size);
  }
  auto const parsed = parse(pieces);
  RC_ASSERT(parsed.failure == "");
  RC_ASSERT(parsed.replies == replies);
}

RC_GTEST_PROP(parser, judges_garbage_the_same_however_it_is_split, ()) {
  auto const garbage = *rc::gen::container<std::string>(rc::gen::elementOf("*$:+-0123\r\n\r\nx"s));
  auto const whole = parse({garbage});
  auto const split = parse(bytewise(garbage));
  RC_ASSERT(whole.replies == split.replies);
  RC_ASSERT(whole.failure.empty() == split.failure.empty());
}

}  // namespace
