// The script by which `holdfast serve` feels many locks at once.
#include "contract/contract.hpp"

#include "script/names.hpp"
#include "scripts/inspect.hpp"

#include <gmock/gmock.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::contract::pulse_test {

namespace lua = scripts::inspect;

class pulse_script : public testing::Test {
 protected:
  raw_reply pulse(std::string_view scope = "ttl") {
    return raw_.command(eval(lua::pulse{.names = {{lock_key}, {queue_key}}, .scope = scope}()));
  }
  /// The text for the lock after these commands, one after the other.
  std::string after(words const& command) {
    raw_.command(command);
    auto const reply = pulse();
    return reply.elements.size() == 2 ? reply.elements[0].text : reply.text;
  }

  raw_redis raw_ = empty_server().raw();
};

TEST_F(pulse_script, says_that_a_lock_is_free) {
  EXPECT_THAT(pulse(), is_array({is_text("  0"), is(-2)}));
  EXPECT_THAT(pulse(""), is_array({is_text("  0"), is(-3)}));
  EXPECT_EQ(after({"SET", counter_key, "7"}), " 7 0");
}

TEST_F(pulse_script, differs_with_holder_token_numbers_and_waiters) {
  std::vector<std::string> const beats{
      after({"SET", lock_key, std::string{caller}, "PX", "20000"}),
      after({"SET", lock_key, std::string{rival}, "PX", "20000"}),
      after({"ZADD", queue_key, "1", std::string{anna}}),
      after({"SET", lock_key, "holdfast_readers", "PX", "20000"}),
      after({"INCR", counter_key}),
      after({"ZADD", names::readers(lock_name), "1", std::string{ben}}),
      after({"SET", lock_key, "holdfast_barrier 3 1"}),
      after({"ZADD", names::arrived(lock_name), "1", std::string{ben}}),
      after({"DEL", lock_key}),
      after({"ZADD", lock_key, "1", "permit"}),
      after({"ZADD", names::permit_queue(lock_name), "1", std::string{ben}}),
      after({"DEL", lock_key}),
      after({"HSET", lock_key, "owner", "1"}),
      after({"HSET", lock_key, "another", "1"}),
  };
  for (std::size_t i = 1; i != beats.size(); ++i) EXPECT_NE(beats[i], beats[i - 1]) << i;
}

TEST_F(pulse_script, differs_when_the_holder_has_published_that_it_leads) {
  std::vector<std::string> const beats{
      after({"SET", lock_key, std::string{caller}, "PX", "20000"}),
      after({"HSET", names::leader(lock_name), "owner", std::string{rival}, "term", "6", "value", "old"}),
      after({"HSET", names::leader(lock_name), "owner", std::string{caller}, "term", "7", "value", "new"}),
  };
  EXPECT_EQ(beats[1], beats[0]) << "what a former leader has left";
  EXPECT_NE(beats[2], beats[1]);
}

TEST_F(pulse_script, tells_who_leads_also_a_user_that_may_only_lock) {
  raw_.command({"ACL", "SETUSER", "default", "-hget"});
  std::vector<std::string> const beats{
      after({"SET", lock_key, std::string{caller}, "PX", "20000"}),
      after({"HSET", names::leader(lock_name), "value", "old", "term", "6", "owner", std::string{rival}}),
      after({"HSET", names::leader(lock_name), "owner", std::string{caller}}),
  };
  raw_.command({"ACL", "SETUSER", "default", "-hgetall"});
  auto const neither = after({"PERSIST", lock_key});
  raw_.command({"ACL", "SETUSER", "default", "+@all"});
  EXPECT_EQ(beats[1], beats[0]) << "what a former leader has left";
  EXPECT_NE(beats[2], beats[1]);
  EXPECT_EQ(neither, beats[0]);
  raw_.del(names::leader(lock_name));
  EXPECT_EQ(after({"SET", names::leader(lock_name), "of another type"}), beats[0]);
}

TEST_F(pulse_script, tells_who_has_a_lock_of_redissons) {
  auto const before = after({"HSET", lock_key, std::string{anna}, "1"});
  raw_.del(lock_key);
  EXPECT_NE(after({"HSET", lock_key, std::string{ben}, "1"}), before);
}

TEST_F(pulse_script, tells_one_reader_from_another) {
  raw_.command({"SET", lock_key, "holdfast_readers", "PX", "20000"});
  auto const readers = names::readers(lock_name);
  auto const first = after({"ZADD", readers, "9000000000000", std::string{anna}});
  raw_.command({"ZADD", readers, "9000000000001", std::string{ben}});
  EXPECT_NE(after({"ZREM", readers, std::string{anna}}), first);
  raw_.command({"ZADD", readers, "9000000000002", std::string{anna}});
  auto const both = after({"ZADD", readers, "9000000000003", std::string{anna}});
  EXPECT_EQ(after({"ZADD", readers, "9000000000004", std::string{ben}}), both) << "renewed";
}

TEST_F(pulse_script, tells_how_many_permits_there_are_and_are_out) {
  raw_.command({"ZADD", lock_key, "-2", "holdfast_permits:4", "9000000000000", std::string{ben}});
  auto const two = after({"PEXPIRE", lock_key, "20000"});
  auto const one = after({"ZADD", lock_key, "-1", "holdfast_permits:4"});
  EXPECT_NE(one, two);
  raw_.command({"ZREM", lock_key, "holdfast_permits:4"});
  EXPECT_NE(after({"ZADD", lock_key, "-1", "holdfast_permits:5"}), one);
}

TEST_F(pulse_script, differs_when_the_time_of_a_holder_of_several_is_over) {
  auto const alive = "9000000000000";
  raw_.command({"SET", lock_key, "holdfast_readers", "PX", "20000"});
  auto const reading = after({"ZADD", names::readers(lock_name), alive, std::string{ben}});
  EXPECT_NE(after({"ZADD", names::readers(lock_name), "1", std::string{ben}}), reading);
  raw_.del(lock_key);
  auto const out = after({"ZADD", lock_key, alive, std::string{ben}});
  EXPECT_NE(after({"ZADD", lock_key, "1", std::string{ben}}), out);
}

TEST_F(pulse_script, takes_no_holder_for_a_free_lock) {
  for (std::string const holder : {" x", "", " "})
    EXPECT_THAT(after({"SET", lock_key, holder}), testing::Not(testing::StartsWith(" "))) << holder;
  raw_.del(lock_key);
  EXPECT_EQ(after({"ZADD", names::permit_queue(lock_name), "1", std::string{ben}}), "  1") << "who waits";
}

TEST_F(pulse_script, is_the_same_when_the_ttl_alone_differs) {
  auto const first = after({"SET", lock_key, std::string{caller}, "PX", "20000"});
  EXPECT_EQ(after({"PEXPIRE", lock_key, "40000"}), first);
  EXPECT_THAT(pulse(), is_array({is_text(first),
                                 is_number(testing::AllOf(testing::Gt(20'000), testing::Le(40'000)))}));
}

TEST_F(pulse_script, changes_nothing) {
  raw_.command({"HSET", lock_key, "owner", "1"});
  EXPECT_TRUE(changes_nothing(raw_, [this] { (void)pulse(); }));
}

/// A script before which the server's clock goes on by so much each time that it is looked at.
words by_clock(words command, std::string_view step_us) {
  command[1] =
      "local server, at = redis, 0 local redis = setmetatable({call = function(name, ...) "
      "if name ~= 'TIME' then return server.call(name, ...) end "
      "at = at + " +
      std::string{step_us} + " return {1700000000, at} end}, {__index = server}) " + command[1];
  return command;
}

class pulse_of_many : public pulse_script {
 protected:
  pulse_of_many() {
    for (int i = 0; i != 45; ++i) {
      names_.push_back("{pulse}" + std::to_string(i));
      raw_.command({"SET", names_.back(), std::string{caller}, "PX", "20000"});
    }
    for (auto const& name : names_) queues_.push_back(names::queue(name));
  }

  std::vector<std::string> texts(std::string_view step_us) {
    std::vector<key> keys;
    for (std::size_t i = 0; i != names_.size(); ++i) {
      keys.push_back({names_[i]});
      keys.push_back({queues_[i]});
    }
    std::vector<std::string> all;
    auto const reply = raw_.command(by_clock(eval(lua::pulse{.names = keys, .scope = ""}()), step_us));
    for (std::size_t i = 0; i < reply.elements.size(); i += 2) all.push_back(reply.elements[i].text);
    return all;
  }

  std::vector<std::string> names_;
  std::vector<std::string> queues_;
};

TEST_F(pulse_of_many, finds_who_waits_or_leads) {
  raw_.command({"ZADD", queues_[19], "1", std::string{anna}});
  raw_.command({"ZADD", queues_[44], "1", std::string{anna}});
  raw_.command({"HSET", names::leader(names_[20]), "owner", std::string{caller}});
  auto const seen = texts("0");
  ASSERT_EQ(seen.size(), names_.size());
  for (std::size_t i = 0; i != names_.size(); ++i) {
    auto const* const waits = i == 19 || i == 44 ? " 1" : " 0";
    auto const* const leads = i == 20 ? " leads" : " ";
    EXPECT_EQ(seen[i], std::string{caller} + leads + waits) << i;
  }
  raw_.command({"ACL", "SETUSER", "default", "-exists"});
  auto const without_the_right = texts("0");
  raw_.command({"ACL", "SETUSER", "default", "+@all"});
  EXPECT_EQ(without_the_right, seen);
}

TEST_F(pulse_of_many, answers_of_as_many_as_take_under_a_millisecond) {
  EXPECT_EQ(texts("200").size(), 45U);
  EXPECT_EQ(texts("400").size(), 40U);
  EXPECT_EQ(texts("5000").size(), 20U);
}

}  // namespace holdfast::contract::pulse_test
