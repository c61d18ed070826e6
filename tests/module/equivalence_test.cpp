// Random requests to two servers, to one by script and to the other by command: replies, keys and messages
// are the same. The tables of tests/contract say what is right; this finds what they don't mention.

#include "module/module_test.hpp"
#include "scripts/all.hpp"

#include <chrono>
#include <cmath>
#include <map>
#include <random>

namespace holdfast::module_test {
namespace {

std::string_view text_of_script(std::string_view name) {
  for (auto const* const script : holdfast::scripts::all) {
    if (script->name == name) return script->text;
  }
  throw std::runtime_error{"no script " + std::string{name}};
}

/// When the keys that are compared began to be made. What one server was asked may come to the other one as
/// much later as has passed since then.
std::chrono::steady_clock::time_point begun{};

/// Times of two servers differ a little: those in microseconds or milliseconds count as equal.
bool nearly_equal(double a, double b) {
  if (a == b) return true;
  if (std::min(a, b) > 1e14) return std::abs(a - b) < 60e6;
  std::chrono::duration<double, std::milli> const lag = std::chrono::steady_clock::now() - begun;
  return std::min(a, b) > 9 && std::abs(a - b) < 5'000 + lag.count();
}

bool nearly_equal(std::string const& a, std::string const& b) {
  if (a == b) return true;
  char* end_of_a = nullptr;
  char* end_of_b = nullptr;
  auto const first = std::strtod(a.c_str(), &end_of_a);
  auto const second = std::strtod(b.c_str(), &end_of_b);
  return !a.empty() && !b.empty() && *end_of_a == '\0' && *end_of_b == '\0' && nearly_equal(first, second);
}

/// For how many microseconds the lock has been held, the last element of a busy reply; -1 if that is unknown.
bool held_alike(raw_reply const& a, raw_reply const& b) {
  return std::min(a.integer, b.integer) >= 0 && std::abs(a.integer - b.integer) < 60'000'000;
}

bool nearly_equal(raw_reply const& a, raw_reply const& b) {
  if (a.type != b.type || a.elements.size() != b.elements.size()) return false;
  if (a.is_error()) return a.text.substr(0, a.text.find(' ')) == b.text.substr(0, b.text.find(' '));
  if (!nearly_equal(a.text, b.text) || !nearly_equal(double(a.integer), double(b.integer))) return false;
  for (std::size_t i = 0; i < a.elements.size(); ++i) {
    if (!nearly_equal(a.elements[i], b.elements[i]) && !(i > 4 && held_alike(a.elements[i], b.elements[i])))
      return false;
  }
  return true;
}

std::string shown(raw_reply const& reply) {
  auto text = reply.text.empty() ? std::to_string(reply.integer) : reply.text;
  for (auto const& element : reply.elements) text += " [" + shown(element) + "]";
  return text;
}

class two_servers : public testing::Test {
 protected:
  two_servers() {
    for (auto* const listener : {&script_listener_, &command_listener_})
      listener->command({"PSUBSCRIBE", "*inbox:aaaaaaaa*"});
    begun = std::chrono::steady_clock::now();
  }

  void both(words const& command) {
    by_script_.command(command);
    by_command_.command(command);
  }

  /// False: the script has ended in the middle, at a side key that is something else, so what the two left
  /// behind may differ. The command goes on to its end.
  bool expect_same(std::string const& name, words const& tail) {
    words script{"EVAL", std::string{text_of_script(name)}};
    words command{"HOLDFAST." + name};
    script.insert(script.end(), tail.begin(), tail.end());
    command.insert(command.end(), tail.begin(), tail.end());
    auto const wanted = by_script_.command(script);
    auto found = by_command_.command(command);
    if (found.is_error() && found.text.starts_with("BYSCRIPT")) found = by_command_.command(script);
    if (wanted.is_error() && wanted.text.find("user_script") != std::string::npos) return false;
    EXPECT_TRUE(nearly_equal(wanted, found))
        << name << ": by script " << shown(wanted) << ", by command " << shown(found);
    for (auto const* const key : {"a", "b", "zqueue", "zreaders", "h", "p", "zpermits", "n"}) {
      for (auto const& look : {words{"TYPE", key},
                               {"GET", key},
                               {"PTTL", key},
                               {"HGETALL", key},
                               {"ZRANGE", key, "0", "-1", "WITHSCORES"}}) {
        auto const left = by_script_.command(look);
        auto const right = by_command_.command(look);
        EXPECT_TRUE(nearly_equal(left, right)) << name << " " << look[0] << " " << key << ": by script "
                                               << shown(left) << ", by command " << shown(right);
      }
    }
    EXPECT_EQ(by_script_.calls_of("publish"), by_command_.calls_of("publish")) << name;
    return true;
  }

  test::redis_server const scripts_;
  test::redis_server const commands_{arguments()};
  raw_redis by_script_ = scripts_.raw();
  raw_redis by_command_ = commands_.raw();
  raw_redis script_listener_ = scripts_.raw();
  raw_redis command_listener_ = commands_.raw();
};

TEST_F(two_servers, answer_random_requests_alike) {
  auto const* const given = std::getenv("HOLDFAST_SEED");
  auto const seed = given == nullptr ? std::random_device{}() : static_cast<unsigned>(std::stoul(given));
  SCOPED_TRACE("HOLDFAST_SEED=" + std::to_string(seed));
  std::mt19937 random{seed};
  words const owners{caller, rival, waiter, "x"};
  auto const owner = [&] { return owners[random() % owners.size()]; };
  auto const one_of = [&](words const& choices) { return choices[random() % choices.size()]; };
  for (auto round = 0; round < 60 && !HasFailure(); ++round) {
    both({"FLUSHALL"});
    begun = std::chrono::steady_clock::now();
    if (random() % 2 == 0) both({"SET", "b", one_of({"4102444800000041", "17", "many"})});
    if (random() % 20 == 0) both({"RPUSH", one_of({"a", "b", "zqueue", "h"}), "x"});
    if (random() % 10 == 0) both({"SET", "a", "of another program"});
    if (random() % 10 == 0) both({"HSET", "h", "mode", "read", "u", "1"});
    if (random() % 3 == 0) both({"ZADD", "zqueue", "1000", owner(), "4102444800000041", owner()});
    if (random() % 3 == 0) both({"ZADD", "zqueue", one_of({"900", "4102444800000042"}), owner() + ":r"});
    if (random() % 3 == 0) both({"ZADD", "zqueue", one_of({"901", "4102444800000043"}), owner() + ":r"});
    // Who reads doesn't wait: an owner id is that of one attempt.
    auto const reads = [&](std::string const& reader) {
      both({"ZREM", "zqueue", reader});
      return reader;
    };
    if (random() % 4 == 0) {
      // Both keys last until the end of the last reader.
      both({"SET", "a", "holdfast_readers", "PXAT", "4102444801000"});
      both({"ZADD", "zreaders", "4102444800000", reads(owner() + ":r"), "4102444801000",
            reads(owner() + ":r")});
      both({"PEXPIREAT", "zreaders", "4102444801000"});
    }
    if (random() % 5 == 0) both({"SET", "a", reads(owner() + ":r"), "PXAT", "4102444801000"});
    if (random() % 3 == 0) both({"SET", "n", one_of({"2", "3", "0", "some"})});
    if (random() % 3 == 0) {
      auto const holder = one_of({caller, waiter, "x"});
      both({"ZADD", "p", "-3", "holdfast_permits:4", "4102444800000", holder, "8000000000000003",
            holder + ":p"});
      both({"PEXPIRE", "p", "30000"});
    }
    if (random() % 5 == 0) both({"SET", "p", "holdfast_permit 4 " + owner(), "PXAT", "4102444801000"});
    if (random() % 10 == 0) both({"ZADD", "zpermits", "1000", owner()});
    if (random() % 3 == 0) both({"SET", "done:" + owner() + ":l", "1"});
    if (random() % 30 == 0) both({"RPUSH", one_of({"p", "zpermits", "n"}), "x"});
    auto comparable = true;
    for (auto step = 0; step < 12 && comparable && !HasFailure(); ++step) {
      auto const way = one_of({"PUBLISH", "PUBLISH", "UNCOUNTED"});
      auto const mode = one_of({"join", "ask"});
      auto const ticket = one_of({"", "", "1000"});
      auto const reader = owner() + one_of({":r", ":r", ":u"});
      switch (random() % 20) {
        case 0:
        case 1:
          comparable = expect_same("exclusive.acquire",
                                   {"3", "a", "b", "zqueue", owner(), "30000", "1", mode, ticket});
          break;
        case 2:
          comparable = expect_same("exclusive.release", {"3", "a", "b", "zqueue", owner(),
                                                         one_of({"0", "10000000"}), "20000", way});
          break;
        case 3:
          comparable = expect_same("exclusive.pass",
                                   {"3", "a", "b", "zqueue", owner(), "20000", way, owner(), "30000", "1"});
          break;
        case 4:
          comparable = expect_same("exclusive.abandon", {"3", "a", "b", "zqueue", owner(),
                                                         one_of({"0", "10000000"}), "20000", way});
          break;
        case 5:
          comparable = expect_same("exclusive.renew", {"2", "a", "h", "20000", owner(), owner()});
          break;
        case 6:
          comparable = expect_same("exclusive.release_unwanted", {"2", "a", "zqueue", owner()});
          break;
        case 7:
          comparable = expect_same("fair.acquire", {"3", "a", "b", "zqueue", owner(), "30000", "1", mode,
                                                    ticket, "5000000", "20000", way});
          break;
        case 8:
          comparable = expect_same("fair.pass", {"3", "a", "b", "zqueue", owner(), "20000", way, owner(),
                                                 "30000", "1", "5000000"});
          break;
        case 9:
          comparable = expect_same("redisson_lock.acquire", {"1", "h", owner(), "30000", "65"});
          break;
        case 10:
          comparable = expect_same("redisson_lock.release",
                                   {"1", "h", owner(), way, one_of({"", "channel", "inbox:aaaaaaaa"})});
          break;
        case 11:
          comparable = expect_same("redisson_lock.pass",
                                   {"1", "h", owner(), way, one_of({"", "channel", "inbox:aaaaaaaa"}),
                                    one_of({"0", "1"}), owner(), "30000", "1"});
          break;
        case 12:
          comparable = expect_same("redisson_lock.abandon", {"1", "h", owner(), way, "channel"});
          break;
        case 13:
          comparable = expect_same("shared.acquire", {"4", "a", "b", "zqueue", "zreaders", reader, "30000",
                                                      mode, ticket, "0", one_of({"", "yes"}), "20000", way});
          break;
        case 14:
          comparable =
              expect_same("shared.release", {"4", "a", "b", "zqueue", "zreaders", reader, "0", "20000", way});
          break;
        case 15:
          comparable = expect_same("shared.renew", {"4", "a", "h", "zreaders", "b", "20000", reader, reader});
          break;
        case 16: {
          // Who asks again asks for as many.
          auto const asking = owner();
          auto const lasts = random() % 3 == 0;
          comparable =
              expect_same("permits.acquire", {"4", "p", "b", "zpermits", "n", asking + (lasts ? ":l" : ""),
                                              asking == rival ? "2" : "1", lasts ? "3153600000000" : "30000",
                                              one_of({"0", "3"}), mode, ticket, "0", "20000", way});
          break;
        }
        case 17:
          comparable = expect_same("permits.release", {"4", "p", "b", "zpermits", "n",
                                                       owner() + one_of({"", "", ":l"}), "20000", way});
          break;
        case 18:
          comparable = expect_same("permits.renew", {"2", "p", "a", "20000", owner(), owner()});
          break;
        default:
          comparable =
              expect_same("redisson_lock.renew",
                          {"2", "h", "a", "20000", one_of({"at least", "exactly"}), owner(), owner()});
      }
    }
  }
}

TEST_F(two_servers, grant_the_upgrade_lease_that_no_reader_has) {
  auto const upgrade = std::string{waiter} + ":u";
  for (auto const* const had : {":r", ":u"}) {
    both({"FLUSHALL"});
    both({"SET", "b", "4102444800000041"});
    both({"SET", "a", "holdfast_readers", "PXAT", "4102444801000"});
    both({"ZADD", "zreaders", "4102444801000", rival + std::string{had}});
    both({"ZADD", "zqueue", "900", caller, "1000", upgrade});
    EXPECT_TRUE(expect_same("exclusive.abandon", {"3", "a", "b", "zqueue", caller, "0", "20000", "PUBLISH"}));
    EXPECT_EQ(by_command_.command({"ZSCORE", "zreaders", upgrade}).is_nil(), had == std::string{":u"});
  }
}

}  // namespace
}  // namespace holdfast::module_test
