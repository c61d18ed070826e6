// The scripts of a lock's condition, step by step. Each request is sent twice.

#include "wire/plain/condition.hpp"
#include <list>

#include "contract/contract.hpp"
#include "script/names.hpp"
#include "scripts/condition.hpp"

namespace holdfast::contract::condition_test {

using testing::AllOf;
using testing::ElementsAre;
using testing::Gt;
using testing::IsEmpty;
using testing::Le;

constexpr std::int64_t credit = 10'000;
constexpr std::int64_t grant = 2'000;

class condition_scripts : public testing::Test {
 protected:
  using reply_matcher = testing::Matcher<raw_reply const&>;

  /// Runs the call twice, as after a connection that broke before the reply came.
  void run(call const& script_call, reply_matcher const& reply, words const& messages = {},
           std::optional<reply_matcher> const& again = {}) {
    SCOPED_TRACE(script_call.source->name);
    EXPECT_THAT(raw_.command(eval(script_call)), reply);
    EXPECT_EQ(messages_.take(), messages);
    auto const before = state();
    SCOPED_TRACE("sent twice");
    EXPECT_THAT(raw_.command(eval(script_call)), again.value_or(reply));
    EXPECT_THAT(messages_.take(), IsEmpty());
    EXPECT_EQ(state(), before);
  }
  /// Who waits, "|", and who counts as alive; the first first.
  words state() {
    auto all = members_of(waiting_);
    all.emplace_back("|");
    for (auto& member : members_of(counting_)) all.push_back(std::move(member));
    return all;
  }
  words members_of(std::string const& key) {
    words all;
    for (auto const& member : raw_.command({"ZRANGE", key, "0", "-1"}).elements) all.push_back(member.text);
    return all;
  }

  [[nodiscard]] static engine::release_policy policy() {
    return {.starvation = std::chrono::hours{1}, .credit = std::chrono::milliseconds{credit}};
  }
  [[nodiscard]] call begin(std::string_view owner) const {
    return recipes::plain::begin_to_wait({.name = name_, .owner = owner}, policy());
  }
  [[nodiscard]] call ask(std::string_view owner, bool listening = true) const {
    return recipes::plain::condition.acquire(
        seat_, {.owner = owner, .join = true, .listening = listening, .policy = policy()});
  }
  [[nodiscard]] call leave(std::string_view owner, recipes::plain::leaving why) const {
    return recipes::plain::leave({.name = name_, .owner = owner}, why, engine::publishing::counted);
  }
  [[nodiscard]] call notify(std::int64_t most) {
    auto const queue = names::queue(name_);
    return scripts::condition::notify{.lock = {name_},
                                      .queue = {queue},
                                      .waiting = {waiting_},
                                      .counting = {counting_},
                                      .done = {new_mark()},
                                      .answered = {},
                                      .most = most,
                                      .grant_ms = grant,
                                      .publish = "PUBLISH",
                                      .done_ms = day}();
  }
  [[nodiscard]] std::string const& new_mark() {
    return marks_.emplace_back(names::done_prefix(name_) + std::to_string(marks_.size()));
  }

  /// Those owners wait, in this order, with an open inbox if `listening`.
  void wait(std::vector<std::string_view> const& owners, bool listening = true) {
    for (auto const owner : owners) {
      raw_.command({"SET", name_, std::string{owner}, "PX", "30000"});
      EXPECT_THAT(raw_.command(eval(begin(owner))), is(1));
      EXPECT_THAT(raw_.command(eval(ask(owner, listening))), waits());
    }
    messages_.take();
  }
  void end_time_of(std::string_view owner) { raw_.command({"ZADD", counting_, "1000", std::string{owner}}); }
  [[nodiscard]] std::string ready(std::string_view owner) const {
    return names::inbox(owner.substr(0, 36), name_) + " ready " + std::string{owner.substr(37)} + " " + name_;
  }
  [[nodiscard]] static reply_matcher waits() { return is_busy(AllOf(Gt(0), Le(credit)), 0, 0, "", -1, 0); }
  [[nodiscard]] static reply_matcher notified() { return is_list({1, 1}); }
  [[nodiscard]] static reply_matcher not_waiting() { return is_list({0, 1}); }

  std::string const name_{lock_name};
  std::string const waiting_ = names::condition(name_);
  std::string const counting_ = names::condition_until(name_);
  std::string const seat_ = recipes::plain::seat_of_waiter(name_, 7);
  test::redis_server& server_ = empty_server();
  raw_redis raw_ = server_.raw();
  /// The inboxes of those that are alive.
  subscription messages_{server_, {caller, anna, ben}};

 private:
  std::list<std::string> marks_;
};

using recipes::plain::leaving;

TEST_F(condition_scripts, make_the_holder_a_waiter_and_give_the_lock_back) {
  raw_.command({"SET", name_, std::string{caller}, "PX", "30000"});
  run(begin(caller), is(1));
  EXPECT_FALSE(raw_.exists(name_));
  EXPECT_THAT(state(), ElementsAre(caller, "|", caller));
  EXPECT_THAT(raw_.pttl(waiting_), left_of(minute));
  EXPECT_THAT(raw_.pttl(counting_), left_of(minute));
  run(ask(caller), waits());
  EXPECT_THAT(state(), ElementsAre(caller, "|", caller));
}

TEST_F(condition_scripts, wake_who_waits_for_the_lock_or_grant_it) {
  raw_.command({"SET", name_, std::string{caller}, "PX", "30000"});
  EXPECT_THAT(raw_.command(eval(acquire(join_request(anna)))),
              testing::Field(&raw_reply::type, raw_reply::kind::array));
  run(begin(caller), is(1), {woken(anna)});
  EXPECT_FALSE(raw_.exists(name_));
  raw_.command({"SET", name_, std::string{ben}, "PX", "30000"});
  EXPECT_THAT(raw_.command(eval(acquire(join_request(anna, "1000")))),
              testing::Field(&raw_reply::type, raw_reply::kind::array));
  EXPECT_THAT(raw_.command(eval(begin(ben))), is(1));
  EXPECT_EQ(raw_.get(name_), std::string{anna});
  EXPECT_THAT(state(), ElementsAre(caller, ben, "|", caller, ben));
}

TEST_F(condition_scripts, let_nobody_wait_that_does_not_hold_the_lock) {
  run(begin(caller), is(0));
  raw_.command({"SET", name_, std::string{rival}, "PX", "30000"});
  run(begin(caller), is(-1));
  EXPECT_EQ(raw_.get(name_), std::string{rival});
  EXPECT_THAT(state(), ElementsAre("|"));
  run(ask(caller), not_waiting());
}

TEST_F(condition_scripts, notify_the_one_that_waits_longest) {
  wait({caller, anna, ben});
  run(notify(1), is(1), {ready(caller)});
  EXPECT_THAT(state(), ElementsAre(anna, ben, "|", caller, anna, ben));
  run(notify(1), is(1), {ready(anna)});
  run(ask(ben), waits());
  run(ask(anna), notified(), {}, not_waiting());
  run(ask(caller), notified(), {}, not_waiting());
  EXPECT_THAT(state(), ElementsAre(ben, "|", ben));
}

TEST_F(condition_scripts, notify_all_at_once) {
  wait({caller, anna, ben});
  run(notify(1'000'000), is(3), {ready(caller), ready(anna), ready(ben)});
  run(notify(1'000'000), is(0));
  EXPECT_THAT(members_of(waiting_), IsEmpty());
}

TEST_F(condition_scripts, pass_over_a_process_that_is_gone) {
  wait({rival, anna});
  run(notify(1), is(1), {ready(anna)});
  EXPECT_THAT(state(), ElementsAre("|", anna));
  run(ask(rival), not_waiting());
}

TEST_F(condition_scripts, count_on_one_that_has_no_inbox_yet) {
  wait({rival, anna}, false);
  run(notify(1), is(1));
  EXPECT_THAT(state(), ElementsAre(anna, "|", rival, anna));
  run(ask(rival, false), notified(), {}, not_waiting());
}

TEST_F(condition_scripts, leave_no_key_without_an_end_where_one_was_evicted) {
  wait({anna, ben});
  raw_.del(counting_);
  run(notify(1), is(1), {ready(anna)});
  EXPECT_THAT(raw_.command({"PTTL", counting_}).integer, AllOf(Gt(0), Le(60000)));
  raw_.del(counting_);
  EXPECT_THAT(raw_.command(eval(ask(ben))), waits());
  EXPECT_THAT(raw_.command({"PTTL", counting_}).integer, AllOf(Gt(0), Le(60000)));
}

TEST_F(condition_scripts, pass_over_one_that_was_not_heard_of_for_long) {
  wait({caller, anna, ben});
  end_time_of(caller);
  end_time_of(anna);
  run(notify(1), is(1), {ready(ben)});
  EXPECT_THAT(state(), ElementsAre("|", ben));
}

TEST_F(condition_scripts, pass_on_what_was_not_heard) {
  wait({caller, anna, ben});
  run(notify(1), is(1), {ready(caller)});
  end_time_of(caller);
  run(ask(ben), waits(), {ready(anna)});
  EXPECT_THAT(state(), ElementsAre(ben, "|", anna, ben));
  run(ask(caller), not_waiting());
  end_time_of(anna);
  run(ask(ben), notified(), {ready(ben)}, not_waiting());
}

TEST_F(condition_scripts, tell_one_that_leaves_whether_it_was_notified) {
  wait({caller, anna, ben});
  run(leave(caller, leaving::will_ask), is(0));
  EXPECT_THAT(state(), ElementsAre(caller, anna, ben, "|", caller, anna, ben));
  run(leave(caller, leaving::asks), is(0), {}, is(1));
  EXPECT_THAT(state(), ElementsAre(anna, ben, "|", anna, ben));
  run(notify(1), is(1), {ready(anna)});
  run(leave(anna, leaving::will_ask), is(1));
  EXPECT_THAT(state(), ElementsAre(ben, "|", anna, ben));
  run(leave(anna, leaving::asks), is(1));
  EXPECT_THAT(state(), ElementsAre(ben, "|", ben));
}

TEST_F(condition_scripts, pass_on_what_one_that_leaves_does_not_want_to_know) {
  wait({caller, anna});
  run(notify(1), is(1), {ready(caller)});
  run(leave(caller, leaving::passes_on), is(1), {ready(anna)});
  EXPECT_THAT(state(), ElementsAre("|", anna));
  run(leave(anna, leaving::passes_on), is(1));
  EXPECT_THAT(state(), ElementsAre("|"));
}

TEST_F(condition_scripts, pass_on_what_one_that_leaves_was_told_too_late) {
  wait({caller, anna});
  run(notify(1), is(1), {ready(caller)});
  run(ask(caller), notified(), {}, not_waiting());
  EXPECT_THAT(raw_.command(eval(leave(caller, leaving::may_be_told))), is(1));
  EXPECT_THAT(state(), ElementsAre("|", anna));
}

TEST_F(condition_scripts, pass_on_nothing_when_one_leaves_that_was_not_notified) {
  for (auto const why : {leaving::passes_on, leaving::may_be_told}) {
    wait({caller, anna});
    EXPECT_THAT(raw_.command(eval(leave(caller, why))), is(0));
    EXPECT_THAT(state(), ElementsAre(anna, "|", anna));
    raw_.del(waiting_);
    raw_.del(counting_);
  }
}

TEST_F(condition_scripts, keep_the_order_of_those_that_begin_in_the_same_microsecond) {
  raw_.command({"ZADD", waiting_, "4000000000000001", std::string{anna}});
  raw_.command({"ZADD", counting_, "8000000000000", std::string{anna}});
  wait({caller, ben});
  EXPECT_THAT(members_of(waiting_), ElementsAre(anna, caller, ben));
}

TEST_F(condition_scripts, change_nothing_where_a_side_key_is_something_else) {
  auto const wrong = testing::Field(&raw_reply::type, raw_reply::kind::error);
  raw_.command({"SET", name_, std::string{caller}, "PX", "30000"});
  for (auto const& key : {waiting_, counting_}) {
    raw_.command({"SET", key, "x"});
    for (auto const& script : {begin(caller), ask(caller), leave(caller, leaving::asks), notify(1)})
      EXPECT_THAT(raw_.command(eval(script)), wrong) << script.source->name;
    EXPECT_EQ(raw_.get(name_), std::string{caller});
    raw_.command({"DEL", key});
  }
  raw_.command({"SET", names::queue(name_), "x"});
  EXPECT_THAT(raw_.command(eval(begin(caller))), is(1));
  EXPECT_FALSE(raw_.exists(name_)) << "the lock is free, and nobody was told";
}

}  // namespace holdfast::contract::condition_test
