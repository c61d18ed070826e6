/// The server in memory replies as a real one does.

#include <gtest/gtest.h>

#include <random>
#include <stdexcept>

#include "memory/dataset.hpp"
#include "resp/make_reply.hpp"
#include "simulation/describe.hpp"
#include "simulation/server.hpp"
#include "support/raw_redis.hpp"
#include "support/redis_server.hpp"

namespace holdfast::simulation {
namespace {

using test::raw_reply;

resp::reply converted(raw_reply const& raw) {
  switch (raw.type) {
    case raw_reply::kind::nil:
      return {};
    case raw_reply::kind::integer:
      return resp::make_integer(raw.integer);
    case raw_reply::kind::text:
      return resp::make_text(raw.text);
    case raw_reply::kind::error:
      return resp::make_error(raw.text);
    case raw_reply::kind::array:
      break;
  }
  std::vector<resp::reply> elements;
  for (auto const& element : raw.elements) elements.push_back(converted(element));
  return resp::make_array(std::move(elements));
}

/// Of an error only the code: the messages may differ.
std::string comparable(resp::reply reply) {
  if (reply.is_error()) reply.text.resize(reply.error_code().size());
  return describe(reply);
}

/// Any command that our scripts use, with few keys, so that all types meet.
std::vector<std::string> any_command(std::mt19937& random) {
  auto const pick = [&](std::vector<std::string> const& all) { return all[random() % all.size()]; };
  auto const key = [&] { return pick({"a", "b", "c"}); };
  auto const member = [&] { return pick({"x", "y", "z"}); };
  auto const number = [&] { return std::to_string(static_cast<int>(random() % 9) - 3); };
  auto const ttl = [&] { return pick({"600000", "700000", "0", "-1"}); };
  auto const bound = [&] { return pick({"-inf", "+inf", "1", "(2", "3.5", "1699999999123456"}); };
  auto const score = [&] { return pick({"1", "2.5", "-7", "1699999999123456"}); };
  switch (random() % 43) {
    case 0:
      return {"SET", key(), number()};
    case 1:
      return {"SET", key(), number(), "NX", "PX", "600000"};
    case 2:
      return {"GET", key()};
    case 3:
      return {"DEL", key(), key()};
    case 4:
      return {"EXISTS", key(), key()};
    case 5:
      return {"TYPE", key()};
    case 6:
      return {"SET", key(), number(), "XX", "KEEPTTL"};
    case 7:
      return {"GETRANGE", key(), number(), number()};
    case 8:
      return {"HSET", key(), "f", number()};
    case 9:
      return {"HSETNX", key(), "f", number()};
    case 10:
      return {"HGET", key(), "f"};
    case 11:
      return {"HDEL", key(), "f"};
    case 12:
      return {"HEXISTS", key(), "f"};
    case 13:
      return {"HLEN", key()};
    case 14:
      return {"HGETALL", key()};
    case 15:
      return {"HKEYS", key()};
    case 16:
      return {"HSTRLEN", key(), "f"};
    case 17:
      return {"INCRBY", key(), number()};
    case 18:
      return {"ZADD", key(), score(), member()};
    case 19:
      return {"ZADD", key(), "NX", score(), member()};
    case 20:
      return {"ZADD", key(), "XX", score(), member()};
    case 21:
      return {"ZREM", key(), member()};
    case 22:
      return {"ZSCORE", key(), member()};
    case 23:
      return {"ZRANK", key(), member()};
    case 24:
      return {"ZCARD", key()};
    case 25:
      return {"ZCOUNT", key(), bound(), bound()};
    case 26:
      return {"ZRANGE", key(), number(), number(), "WITHSCORES"};
    case 27:
      return {"ZRANGEBYSCORE", key(), bound(), bound(), "LIMIT", "0", "2"};
    case 28:
      return {"ZPOPMIN", key()};
    case 29:
      return {"ZREMRANGEBYRANK", key(), number(), number()};
    case 30:
      return {"ZINCRBY", key(), score(), member()};
    case 31:
      return {"RPUSH", key(), member(), member()};
    case 32:
      return {"LPOP", key()};
    case 33:
      return {"LINDEX", key(), number()};
    case 34:
      return {"LRANGE", key(), number(), number()};
    case 35:
      return {"DECRBY", key(), number()};
    case 36:
      return {"PEXPIRE", key(), ttl()};
    case 39:
      return {"APPEND", key(), member()};
    case 40:
      return {"LPUSH", key(), member(), member()};
    case 41:
      return {"LLEN", key()};
    case 38:
      return {"LPOS", key(), member()};
    case 37:
      return {"HSCAN", key(), "0", "COUNT", "3"};
    default:
      return {"LREM", key(), number().substr(0, 1) == "-" ? "1" : "0", member()};
  }
}

TEST(dataset, answers_as_a_real_server) {
  auto const real = test::redis_server::with({});
  auto raw = real.raw();
  dataset simulated{[](std::string_view, std::string_view) { return 0; }};
  auto const seed = std::random_device{}();
  std::mt19937 random{seed};
  for (auto i = 0; i < 20'000; ++i) {
    auto const words = any_command(random);
    std::string text;
    for (auto const& word : words) text += word + ' ';
    std::vector<std::string_view> const views{words.begin(), words.end()};
    ASSERT_EQ(comparable(simulated.execute(views, boot_clock::now())),
              comparable(converted(raw.command(words))))
        << "command " << i << ": " << text << "; seed " << seed;
  }
}

TEST(dataset, throws_when_a_script_calls_an_unknown_command) {
  world simulated{1};
  server redis{simulated, "m0"};
  EXPECT_THROW((void)redis.execute({"EVAL", "return redis.call('LOLWUT')", "0"}), std::logic_error);
  EXPECT_THROW((void)redis.execute({"EVAL", "return redis.pcall('LOLWUT')", "0"}), std::logic_error);
  EXPECT_TRUE(redis.execute({"EVAL", "return redis.call('PING')", "0"}).is_text("PONG"));
}

}  // namespace
}  // namespace holdfast::simulation
