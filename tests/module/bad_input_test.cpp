// Calls that no client of ours sends. Each is answered, and the server goes on. Run it with a server that
// finds faults of memory, too: ./check module does.

#include "module/module_test.hpp"

#include <array>
#include <random>

namespace holdfast::module_test {
namespace {

class bad_input : public testing::Test {
 protected:
  raw_reply command(words const& command_words) { return raw_.command(command_words); }

  test::redis_server const server_{arguments()};
  raw_redis raw_ = server_.raw();
  raw_redis subscriber_ = server_.raw();
};

words const command_names{"TAKE",
                          "GIVE",
                          "EXCLUSIVE.ACQUIRE",
                          "EXCLUSIVE.RELEASE",
                          "EXCLUSIVE.PASS",
                          "EXCLUSIVE.ABANDON",
                          "EXCLUSIVE.RENEW",
                          "EXCLUSIVE.RELEASE_UNWANTED",
                          "FAIR.ACQUIRE",
                          "FAIR.PASS",
                          "TAKE_SHARED",
                          "GIVE_SHARED",
                          "SHARED.ACQUIRE",
                          "SHARED.RELEASE",
                          "SHARED.RENEW",
                          "TAKE_PERMITS",
                          "GIVE_PERMITS",
                          "PERMITS.ACQUIRE",
                          "PERMITS.RELEASE",
                          "PERMITS.RENEW",
                          "REDISSON_LOCK.ACQUIRE",
                          "REDISSON_LOCK.RELEASE",
                          "REDISSON_LOCK.PASS",
                          "REDISSON_LOCK.ABANDON",
                          "REDISSON_LOCK.RENEW"};

TEST_F(bad_input, is_refused_when_there_are_too_few_or_too_many_words) {
  for (auto const& name : command_names) {
    if (name.find('.') == std::string::npos) continue;  // of another form
    words call{"HOLDFAST." + name};
    EXPECT_TRUE(command(call).is_error()) << name;
    for (auto const* const word : {"3", "a", "b", "c"}) {
      call.emplace_back(word);
      EXPECT_TRUE(command(call).is_error()) << name;
    }
    call.resize(40, "1");
    EXPECT_TRUE(command(call).is_error()) << name;
  }
  for (auto const& call : {words{"TAKE"},
                           {"TAKE", "a"},
                           {"TAKE", "a", "x"},
                           {"TAKE", "a", "x", "1", "1", "join", "", ""},
                           {"GIVE"},
                           {"GIVE", "a"},
                           {"GIVE", "a", "x", "0", "1", "PUBLISH", ""},
                           {"TAKE_SHARED", "a", "x"},
                           {"GIVE_SHARED", "a"},
                           {"GIVE_SHARED", "a", "x", "0", "1", "PUBLISH", ""},
                           {"TAKE_PERMITS", "a", "x", "1", "1"},
                           {"TAKE_PERMITS", "a", "x", "1", "1", "1", "join", "", "0", "1", "PUBLISH", ""},
                           {"GIVE_PERMITS", "a"}}) {
    auto prefixed = call;
    prefixed[0].insert(0, "HOLDFAST.");
    EXPECT_TRUE(command(prefixed).is_error()) << call.size() << " words of " << call[0];
  }
  EXPECT_TRUE(command({"HOLDFAST.VERSION", "x"}).is_error());
  EXPECT_TRUE(raw_.keys().empty());
}

TEST_F(bad_input, is_refused_when_two_keys_are_the_same) {
  for (auto const& keys : {words{"a", "a", "b"}, {"a", "b", "a"}, {"b", "a", "a"}, {"a", "a", "a"}}) {
    words call{
        "HOLDFAST.EXCLUSIVE.ACQUIRE", "3", keys[0], keys[1], keys[2], caller, "30000", "1", "join", ""};
    EXPECT_THAT(command(call), is_error("ERR all keys must be different"));
  }
  EXPECT_TRUE(raw_.keys().empty());
}

TEST_F(bad_input, is_refused_when_an_argument_is_no_number_or_too_large) {
  for (auto const* const number : {"", "x", "1.5", "-1", "0", "1e3", " 1", "9223372036854775807",
                                   "99999999999999999999999", "nan", "inf"}) {
    auto call = acquire(caller);
    call[6] = number;
    EXPECT_THAT(command(call), is_error("ERR ttl_ms must be")) << number;
    call = acquire(caller);
    call[7] = number;
    EXPECT_THAT(command(call), is_error("ERR tokens must be")) << number;
  }
  auto call = acquire(caller, "perhaps");
  EXPECT_THAT(command(call), is_error("ERR mode must be join or ask"));
  call = release(caller);
  call.back() = "DEL";
  EXPECT_THAT(command(call), is_error("ERR publish must be"));
  EXPECT_TRUE(raw_.keys().empty());
}

TEST_F(bad_input, of_megabytes_is_kept_or_refused) {
  std::string const large(8'000'000, 'x');
  EXPECT_THAT(command(acquire(large)), is_list_of(2));
  EXPECT_THAT(command(acquire(large + "y")), is_list_of(6));
  EXPECT_THAT(command(release(large, "0")), is(1));
  EXPECT_FALSE(raw_.exists("a"));
  EXPECT_THAT(command({"HOLDFAST.REDISSON_LOCK.ACQUIRE", "1", "r", large, "1", "1"}), is(1));
  auto call = acquire(caller);
  call[9] = large;
  EXPECT_THAT(command(call), is_error("ERR ticket"));
}

TEST_F(bad_input, from_counters_and_tickets_at_the_ends_of_numbers_overflows_nothing) {
  for (auto const* const counter :
       {"9223372036854775807", "-9223372036854775808", "1152921504606846976", "-5", ""}) {
    for (auto const* const score : {"inf", "-inf", "1e300", "0.5"}) {
      raw_.command({"FLUSHALL"});
      raw_.command({"SET", "{a}:holdfast_token", counter});
      raw_.command({"ZADD", "{a}:holdfast_queue", score, waiter});
      command(acquire(caller));
      command(acquire(rival));
      command(release(caller, "0"));
      command({"HOLDFAST.FAIR.ACQUIRE", "3", "a", "{a}:holdfast_token", "{a}:holdfast_queue", rival, "30000",
               "1", "join", "", "1152921504606846976", "2000", "PUBLISH"});
    }
  }
  EXPECT_THAT(command({"PING"}), testing::Field("text", &raw_reply::text, "PONG"));
}

/// A queue for which an upgrade lease waits, or a reader, of whom nobody hears.
words queued(std::string const& queue, std::string const& suffix) {
  return {"ZADD", queue, "1", waiter + suffix};
}

TEST_F(bad_input, of_an_owner_that_is_the_word_for_readers_is_answered) {
  command({"SET", "a", "holdfast_readers", "PX", "30000"});
  command({"ZADD", "{a}:holdfast_readers", "4102444800000", std::string{rival} + ":r"});
  command(queued("{a}:holdfast_queue", ":u"));
  EXPECT_THAT(command(release("holdfast_readers", "0")), is(1));
}

TEST_F(bad_input, that_makes_the_readers_key_that_of_the_lock_changes_no_key_twice) {
  for (auto const& keys : {words{"qreaders", "t", "qqueue"}, words{"t", "qreaders", "qqueue"}}) {
    command(queued("qqueue", ":r"));
    EXPECT_THAT(command({"HOLDFAST.EXCLUSIVE.ABANDON", "3", keys[0], keys[1], keys[2], caller, "0", "2000",
                         "PUBLISH"}),
                is(0));
    EXPECT_THAT(raw_.keys(), testing::ElementsAre("qqueue"));
  }
}

TEST_F(bad_input, of_readers_until_the_end_of_time_gives_their_lock_a_time) {
  command({"SET", "a", "holdfast_readers", "PX", "30000"});
  command({"ZADD", "{a}:holdfast_readers", "1e300", std::string{rival} + ":r"});
  EXPECT_THAT(command({"HOLDFAST.TAKE_SHARED", "a", std::string{caller} + ":r", "30000"}), is_list_of(2));
  EXPECT_GT(command({"PTTL", "a"}).integer, 0);
}

/// Words that mean something in some place, or nothing anywhere, or are hostile.
std::string any_word(std::mt19937& random) {
  static std::array const known{"a",
                                "b",
                                "{a}:holdfast_token",
                                "{a}:holdfast_queue",
                                "s",
                                "z",
                                "h",
                                "l",
                                "q",
                                caller,
                                rival,
                                waiter,
                                "join",
                                "ask",
                                "",
                                "PUBLISH",
                                "SPUBLISH",
                                "UNCOUNTED",
                                "at least",
                                "exactly",
                                "0",
                                "1",
                                "2",
                                "3",
                                "4",
                                "-1",
                                "30000",
                                "1152921504606846976",
                                "1152921504606846977",
                                "9223372036854775807",
                                "-9223372036854775808",
                                "1e308",
                                "nan",
                                "inf",
                                "KEEPTTL",
                                "PX",
                                "EXAT",
                                "mode",
                                "x y",
                                "%s%n",
                                "\r\n-ERR\r\n"};
  auto const choice = random() % 50;
  if (choice == 0) return std::string(random() % 5'000, static_cast<char>(random() % 256));
  if (choice == 1) return std::to_string(random());
  return known[random() % known.size()];
}

/// A call that is right but for some words.
words nearly_right(std::mt19937& random) {
  static std::vector<words> const right{
      acquire(caller),
      acquire(rival, "ask"),
      acquire(waiter),
      release(caller),
      release(rival, "0"),
      renew(caller),
      {"HOLDFAST.EXCLUSIVE.PASS", "3", "a", "b", "z", caller, "2000", "PUBLISH", rival, "30000", "1"},
      {"HOLDFAST.EXCLUSIVE.ABANDON", "3", "a", "b", "z", caller, "0", "2000", "PUBLISH"},
      {"HOLDFAST.EXCLUSIVE.RELEASE_UNWANTED", "4", "a", "z", "b", "q", caller, rival},
      {"HOLDFAST.FAIR.ACQUIRE", "3", "a", "b", "z", caller, "30000", "1", "join", "", "5", "2000", "PUBLISH"},
      {"HOLDFAST.FAIR.PASS", "3", "a", "b", "z", caller, "2000", "PUBLISH", rival, "30000", "1", "5"},
      {"HOLDFAST.TAKE_SHARED", "a", waiter + std::string{":r"}, "30000"},
      {"HOLDFAST.SHARED.ACQUIRE", "4", "a", "b", "z", "q", caller, "30000", "join", "", "0", "", "2000",
       "PUBLISH"},
      {"HOLDFAST.SHARED.ACQUIRE", "4", "a", "b", "z", "q", rival, "30000", "join", "", "0", "", "2000",
       "PUBLISH"},
      {"HOLDFAST.SHARED.RELEASE", "4", "a", "b", "z", "q", caller, "0", "2000", "PUBLISH"},
      {"HOLDFAST.GIVE_SHARED", "a", waiter + std::string{":r"}},
      {"HOLDFAST.SHARED.RENEW", "4", "a", "l", "q", "z", "30000", caller, rival},
      {"HOLDFAST.TAKE_PERMITS", "s", caller, "1", "30000", "3"},
      {"HOLDFAST.PERMITS.ACQUIRE", "4", "q", "b", "z", "s", caller, "2", "30000", "3", "join", "", "0",
       "2000", "PUBLISH"},
      {"HOLDFAST.PERMITS.ACQUIRE", "4", "q", "b", "z", "s", rival, "1", "30000", "3", "join", "", "0", "2000",
       "PUBLISH"},
      {"HOLDFAST.PERMITS.RELEASE", "4", "q", "b", "z", "s", caller, "2000", "PUBLISH"},
      {"HOLDFAST.GIVE_PERMITS", "s", caller},
      {"HOLDFAST.PERMITS.RENEW", "2", "q", "s", "30000", caller, rival},
      {"SET", "a", "holdfast_readers", "PX", "1000"},
      {"ZADD", "q", "-2", "holdfast_permits:3", "4102444800000", waiter},
      {"ZADD", "q", "8e15", std::string{waiter} + ":p"},
      {"HOLDFAST.REDISSON_LOCK.ACQUIRE", "1", "h", caller, "30000", "1"},
      {"HOLDFAST.REDISSON_LOCK.RELEASE", "1", "h", caller, "PUBLISH", "channel"},
      {"HOLDFAST.REDISSON_LOCK.PASS", "1", "h", caller, "PUBLISH", "channel", "0", rival, "30000", "1"},
      {"HOLDFAST.REDISSON_LOCK.ABANDON", "1", "h", caller, "UNCOUNTED", "channel"},
      {"HOLDFAST.REDISSON_LOCK.RENEW", "2", "h", "a", "30000", "at least", caller, rival},
      {"CAS", "a", caller, rival, "PX", "1000"},
      {"CAD", "a", caller},
      {"SET", "b", "4102444800000041"},
      {"SET", "a", caller, "PX", "1000"},
      {"ZADD", "z", "17", waiter},
      {"HSET", "h", "mode", "read"},
      {"RPUSH", "l", "x"},
      {"DEL", "a", "b", "z", "h"},
      {"DEL", "z", "q", "s"}};
  auto call = right[random() % right.size()];
  for (auto changes = random() % 4; changes > 0; --changes) {
    auto const place = 1 + random() % (call.size() - 1);
    switch (random() % 6) {
      case 0:
        call.insert(call.begin() + static_cast<std::ptrdiff_t>(place), any_word(random));
        break;
      case 1:
        if (call.size() > 2) call.erase(call.begin() + static_cast<std::ptrdiff_t>(place));
        break;
      default:
        call[place] = any_word(random);
    }
  }
  return call;
}

/// HOLDFAST_SEED repeats one; HOLDFAST_ROUNDS sets how many calls there are.
unsigned number_of(char const* name, unsigned usual) {
  auto const* const set = std::getenv(name);
  return set == nullptr ? usual : static_cast<unsigned>(std::stoul(set));
}

TEST_F(bad_input, at_random_is_always_answered) {
  auto const seed = number_of("HOLDFAST_SEED", std::random_device{}());
  SCOPED_TRACE("HOLDFAST_SEED=" + std::to_string(seed));
  std::mt19937 random{seed};
  subscriber_.command({"PSUBSCRIBE", "*inbox:1*"});
  std::vector<words> batch;
  auto const rounds = number_of("HOLDFAST_ROUNDS", 20'000);
  for (unsigned round = 0; round < rounds; ++round) {
    batch.push_back(nearly_right(random));
    if (batch.size() < 256) continue;
    ASSERT_NO_THROW(raw_.pipeline(batch)) << "HOLDFAST_SEED=" << seed << ": the server has ended";
    batch.clear();
  }
  ASSERT_NO_THROW(raw_.pipeline(batch)) << "HOLDFAST_SEED=" << seed << ": the server has ended";
  EXPECT_EQ(command({"PING"}).text, "PONG");
}

}  // namespace
}  // namespace holdfast::module_test
