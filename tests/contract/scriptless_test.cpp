// Locks without scripts, step by step on a server: what they leave there, and what they reply, is what the
// scripts would, as far as it can be kept.
#include "contract/contract.hpp"
#include "contract/converted.hpp"
#include "resp/command.hpp"
#include "script/form.hpp"
#include "script/names.hpp"
#include "script/runner.hpp"
#include "scripts/exclusive.hpp"
#include "support/flaky_proxy.hpp"
#include "support/server_dialect.hpp"

#include <functional>

namespace holdfast::contract::scriptless_test {

using scripting::dialect;
using testing::AllOf;
using testing::ElementsAre;
using testing::Ge;
using testing::Gt;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Le;

/// On the server's own compare-and-delete; where it has none, on that of a proxy.
class without_scripts : public testing::Test {
 protected:
  without_scripts() {
    raw_.command({"FLUSHALL"});
    for (auto const& [native, command] :
         {std::pair{dialect::redis, "DELEX"}, std::pair{dialect::valkey, "DELIFEQ"}}) {
      auto const info = raw_.command({"COMMAND", "INFO", command});
      auto const there = !info.elements.empty() && !info.elements[0].elements.empty();
      if (there) capable_.native = native;
    }
    if (capable_.native == dialect::none) {
      capable_.native = facts_->speaks = dialect::valkey;
      proxy_.decide(test::speaking(facts_));
    }
    capable_.scripts = false;
    capable_.connected_us = clock();
  }

  [[nodiscard]] std::int64_t clock() {
    auto const time = raw_.command({"TIME"});
    return std::stoll(time.elements.at(0).text) * 1'000'000 + std::stoll(time.elements.at(1).text);
  }

  /// Called between two exchanges of one request, with the first word of the next.
  std::function<void(std::string const&)> between_;

  resp::reply say(call const& script_call, bool resent = false) {
    auto const request = scripting::to_run(script_call, {}, {});
    scripting::spoken_call const spoken{request.bytes};
    scripting::form_context const context{
        .server = capable_, .wake = scripts::exclusive::abandon::source, .resent = resent};
    auto const* const words_of_it = scripting::scriptless_form(script_call.source->name);
    EXPECT_NE(words_of_it, nullptr);
    auto now = words_of_it->begin(spoken, context);
    for (;;) {
      auto replies = exchange_with_server(now);
      auto found = words_of_it->read(spoken, context, now, replies);
      if (found.type != net::meaning::kind::more) return found.reply;
      now = std::move(found.next);
      if (between_) between_(std::string{resp::arguments_of(now.bytes).front()});
    }
  }

  [[nodiscard]] std::vector<std::string> queue() {
    std::vector<std::string> all;
    for (auto const& each : raw_.command({"ZRANGE", names::queue(lock_name), "0", "-1"}).elements)
      all.push_back(each.text);
    return all;
  }
  void hold(std::string_view owner) {
    raw_.command({"SET", std::string{lock_name}, std::string{owner}, "PX", "20000"});
  }
  void wait_in_line(std::string_view owner, std::string const& ticket = "1") {
    raw_.command({"ZADD", names::queue(lock_name), ticket, std::string{owner}});
  }
  [[nodiscard]] std::optional<std::string> holder() { return raw_.get(std::string{lock_name}); }

  test::redis_server& server_ = empty_server();
  raw_redis raw_ = server_.raw();

 private:
  std::vector<resp::reply> exchange_with_server(net::exchange const& now) {
    std::vector<resp::reply> replies;
    for (std::string_view left{now.bytes}; !left.empty();) {
      words said;
      for (auto const word : resp::take_command(left)) said.emplace_back(word);
      replies.push_back(converted(client_.command(said)));
    }
    EXPECT_EQ(replies.size(), now.replies);
    return replies;
  }

  scripting::capabilities capable_;
  std::shared_ptr<test::server_facts_shown> facts_ = std::make_shared<test::server_facts_shown>();
  test::flaky_proxy proxy_{server_.socket_path()};
  raw_redis client_{proxy_.url().substr(std::string_view{"redis+unix://"}.size())};
};

TEST_F(without_scripts, takes_a_free_lock_with_a_token_of_the_servers_clock) {
  auto const before = clock();
  wait_in_line(caller);
  auto const reply = say(acquire(join_request(caller)));
  ASSERT_EQ(reply.size(), 2U);
  EXPECT_THAT(reply[0].integer, AllOf(Ge(before), Le(clock())));
  EXPECT_EQ(reply[1].integer, 1);
  EXPECT_EQ(holder(), caller);
  EXPECT_THAT(raw_.pttl(std::string{lock_name}), left_of(full_ttl));
  EXPECT_EQ(raw_.get(names::token_counter(lock_name)), std::to_string(reply[0].integer));
  EXPECT_THAT(raw_.pttl(names::token_counter(lock_name)), left_of(day));
  EXPECT_THAT(queue(), IsEmpty());
}

TEST_F(without_scripts, takes_tokens_that_grow_in_turn_with_those_of_scripts) {
  std::int64_t newest = 0;
  for (auto round = 0; round != 6; ++round) {
    auto const by_script = round % 2 == 0;
    auto const token = by_script ? raw_.command(eval(acquire(try_request(rival, 65)))).elements.at(0).integer
                                 : say(acquire(try_request(caller)))[0].integer;
    EXPECT_GT(token, newest);
    newest = by_script ? std::stoll(*raw_.get(names::token_counter(lock_name))) : token;
    raw_.del(std::string{lock_name});
  }
}

TEST_F(without_scripts, gives_its_own_lock_a_full_ttl_and_a_newer_token) {
  auto const first = say(acquire(join_request(caller)))[0].integer;
  raw_.command({"PEXPIRE", std::string{lock_name}, "1000"});
  auto const again = say(acquire(join_request(caller)), true);
  EXPECT_GT(again[0].integer, first);
  EXPECT_THAT(raw_.pttl(std::string{lock_name}), left_of(full_ttl));
}

TEST_F(without_scripts, tells_of_a_busy_lock_and_queues_up_only_to_wait) {
  hold(rival);
  auto const tried = say(acquire(try_request(caller)));
  ASSERT_EQ(tried.size(), 6U);
  EXPECT_THAT(tried[0].integer, left_of(20'000));
  EXPECT_EQ(tried[1].integer, -1);
  EXPECT_EQ(tried[4].text, rival);
  EXPECT_THAT(queue(), IsEmpty());
  wait_in_line(anna);
  auto const waits = say(acquire(join_request(caller)));
  EXPECT_EQ(waits[1].integer, 1) << "behind anna";
  EXPECT_THAT(queue(), ElementsAre(anna, caller));
  EXPECT_THAT(raw_.pttl(names::queue(lock_name)), left_of(minute));
  auto const comes_back = say(acquire(join_request(caller, std::to_string(waits[2].integer))));
  EXPECT_EQ(comes_back[2].integer, waits[2].integer) << "in its old place";
}

TEST_F(without_scripts, takes_a_lock_that_comes_free_while_it_queues_up) {
  hold(rival);
  between_ = [this](std::string const& next) {
    if (next == "ZADD") raw_.del(std::string{lock_name});
  };
  EXPECT_EQ(say(acquire(join_request(caller))).size(), 2U);
  EXPECT_EQ(holder(), caller);
  EXPECT_THAT(queue(), IsEmpty());
}

/// By a script of another client, which finds it in the queue from its last request.
TEST_F(without_scripts, takes_a_lock_that_it_is_granted_while_it_queues_up) {
  hold(rival);
  between_ = [this](std::string const& next) {
    if (next == "ZADD") hold(caller);
  };
  EXPECT_EQ(say(acquire(join_request(caller))).size(), 2U);
  EXPECT_THAT(raw_.pttl(std::string{lock_name}), left_of(full_ttl));
  EXPECT_THAT(queue(), IsEmpty());
}

TEST_F(without_scripts, leaves_keys_that_are_no_lock_as_they_are) {
  raw_.command({"RPUSH", std::string{lock_name}, "1"});
  EXPECT_EQ(say(acquire(join_request(caller))).text, "WRONGTYPE list");
  for (auto const& side : {names::token_counter(lock_name), names::queue(lock_name)}) {
    raw_.command({"FLUSHALL"});
    raw_.command({"RPUSH", side, "1"});
    EXPECT_THAT(say(acquire(join_request(caller))).text, HasSubstr("WRONGTYPE"));
    EXPECT_FALSE(raw_.exists(std::string{lock_name})) << "given back";
  }
}

TEST_F(without_scripts, gives_back_its_own_lock_alone_and_tells_the_first_that_hears) {
  hold(rival);
  EXPECT_EQ(say(release(caller)).integer, -1);
  raw_.del(std::string{lock_name});
  EXPECT_EQ(say(release(caller)).integer, 0);
  hold(caller);
  wait_in_line(anna, "1");
  wait_in_line(ben, "2");
  subscription inbox{server_, {ben}};
  EXPECT_EQ(say(release(caller)).integer, 1);
  EXPECT_THAT(inbox.take(), ElementsAre(woken(ben)));
  EXPECT_FALSE(holder());
  EXPECT_THAT(queue(), IsEmpty()) << "nobody hears for anna";
}

TEST_F(without_scripts, tells_the_waiter_that_an_earlier_copy_of_a_release_did_not) {
  wait_in_line(ben);
  subscription inbox{server_, {ben}};
  EXPECT_EQ(say(release(caller), true).integer, 0);
  EXPECT_THAT(inbox.take(), ElementsAre(woken(ben)));
}

TEST_F(without_scripts, passes_a_wake_up_on_that_is_not_used) {
  wait_in_line(ben);
  subscription inbox{server_, {ben}};
  EXPECT_EQ(say(abandon(caller)).integer, 0);
  EXPECT_THAT(inbox.take(), ElementsAre(woken(ben)));
  wait_in_line(ben);
  hold(rival);
  EXPECT_EQ(say(abandon(caller)).integer, 0);
  EXPECT_THAT(inbox.take(), IsEmpty()) << "it is not free";
  EXPECT_EQ(holder(), rival);
}

}  // namespace holdfast::contract::scriptless_test
