/// The simulated server says what a real one says.

#include <gtest/gtest.h>

#include <random>

#include "simulation/dataset.hpp"
#include "support/raw_redis.hpp"
#include "support/redis_server.hpp"

namespace holdfast::simulation {
namespace {

using test::raw_reply;

std::string words_of(raw_reply const& reply) {
  switch (reply.what) {
    case raw_reply::kind::nil:
      return "nil";
    case raw_reply::kind::integer:
      return std::to_string(reply.integer);
    case raw_reply::kind::text:
      return '"' + reply.text + '"';
    case raw_reply::kind::error:
      return "error " + reply.text.substr(0, reply.text.find(' '));
    case raw_reply::kind::array:
      break;
  }
  std::string all = "[";
  for (auto const& one : reply.elements) all += words_of(one) + ' ';
  return all + ']';
}

std::string words_of(resp::reply const& reply) {
  if (reply.is_nil()) return "nil";
  if (reply.is_integer()) return std::to_string(reply.integer);
  if (reply.is_text()) return '"' + reply.text + '"';
  if (reply.is_error()) return "error " + std::string{reply.error_code()};
  std::string all = "[";
  for (auto const& one : reply.elements) all += words_of(one) + ' ';
  return all + ']';
}

/// Any command that our scripts use, with few keys, so that all types meet.
command any_command(std::mt19937& random) {
  auto const one_of = [&](std::vector<std::string> const& all) { return all[random() % all.size()]; };
  auto const key = [&] { return one_of({"a", "b", "c"}); };
  auto const member = [&] { return one_of({"x", "y", "z"}); };
  auto const number = [&] { return std::to_string(static_cast<int>(random() % 9) - 3); };
  auto const score = [&] { return one_of({"-inf", "+inf", "1", "(2", "3.5", "1699999999123456"}); };
  auto const plain = [&] { return one_of({"1", "2.5", "-7", "1699999999123456"}); };
  switch (random() % 36) {
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
      return {"HINCRBY", key(), "f", number()};
    case 18:
      return {"ZADD", key(), plain(), member()};
    case 19:
      return {"ZADD", key(), "NX", plain(), member()};
    case 20:
      return {"ZADD", key(), "XX", plain(), member()};
    case 21:
      return {"ZREM", key(), member()};
    case 22:
      return {"ZSCORE", key(), member()};
    case 23:
      return {"ZRANK", key(), member()};
    case 24:
      return {"ZCARD", key()};
    case 25:
      return {"ZCOUNT", key(), score(), score()};
    case 26:
      return {"ZRANGE", key(), number(), number(), "WITHSCORES"};
    case 27:
      return {"ZRANGEBYSCORE", key(), score(), score(), "LIMIT", "0", "2"};
    case 28:
      return {"ZPOPMIN", key()};
    case 29:
      return {"ZREMRANGEBYRANK", key(), number(), number()};
    case 30:
      return {"ZINCRBY", key(), plain(), member()};
    case 31:
      return {"RPUSH", key(), member(), member()};
    case 32:
      return {"LPOP", key()};
    case 33:
      return {"LINDEX", key(), number()};
    case 34:
      return {"LRANGE", key(), number(), number()};
    default:
      return {"LREM", key(), number().substr(0, 1) == "-" ? "1" : "0", member()};
  }
}

TEST(dataset, answers_as_a_real_server) {
  auto const real = test::redis_server::with({});
  auto raw = real.raw();
  dataset simulated{[](std::string const&, std::string const&) { return 0; }};
  auto const seed = std::random_device{}();
  std::mt19937 random{seed};
  for (auto i = 0; i < 20'000; ++i) {
    auto const words = any_command(random);
    std::string text;
    for (auto const& word : words) text += word + ' ';
    ASSERT_EQ(words_of(simulated.execute(words, boot_clock::now())), words_of(raw.command(words)))
        << "command " << i << ": " << text << "; seed " << seed;
  }
}

}  // namespace
}  // namespace holdfast::simulation
