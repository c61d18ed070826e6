// The scripts of a latch on the plain wire. Each request is sent twice.

#include "wire/plain/latch.hpp"
#include <list>

#include "contract/contract.hpp"
#include "script/names.hpp"
#include "scripts/latch.hpp"

namespace holdfast::contract::latch_test {

namespace lua = holdfast::scripts::latch;
using testing::AllOf;
using testing::ElementsAre;
using testing::Gt;
using testing::IsEmpty;
using testing::Le;

class latch_scripts : public testing::Test {
 protected:
  using reply_matcher = testing::Matcher<raw_reply const&>;

  /// Runs the call twice, as after a connection that broke before the reply came.
  void run(call const& script_call, reply_matcher const& reply, words const& messages = {}) {
    SCOPED_TRACE(script_call.source->name);
    EXPECT_THAT(raw_.command(eval(script_call)), reply);
    EXPECT_EQ(messages_.take(), messages);
    auto const before = state();
    SCOPED_TRACE("sent twice");
    EXPECT_THAT(raw_.command(eval(script_call)), reply);
    EXPECT_THAT(messages_.take(), IsEmpty());
    EXPECT_EQ(state(), before);
  }

  /// The latch, and who has counted.
  words state() {
    words all{raw_.get(name_).value_or("")};
    for (auto const& member : raw_.command({"ZRANGE", counted_, "0", "-1"}).elements)
      all.push_back(member.text);
    return all;
  }

  call set(std::int64_t count, std::int64_t open_ms = 0) {
    return lua::set{.latch = {name_},
                    .counted = {counted_},
                    .done = {new_mark()},
                    .answered = {},
                    .count = count,
                    .open_ms = open_ms,
                    .told_ms = day,
                    .done_ms = day}();
  }
  call count_down(std::string_view participant, std::int64_t n = 1) {
    return lua::count_down{.latch = {name_},
                           .counted = {counted_},
                           .done = {new_mark()},
                           .answered = {},
                           .participant = participant,
                           .n = n,
                           .publish = "PUBLISH",
                           .channel = channel_,
                           .done_ms = day}();
  }
  call open() {
    return lua::open{.latch = {name_},
                     .counted = {counted_},
                     .done = {new_mark()},
                     .answered = {},
                     .publish = "PUBLISH",
                     .channel = channel_,
                     .done_ms = day}();
  }
  [[nodiscard]] call look() const { return recipes::plain::latch.acquire(name_, {.owner = caller}); }

  [[nodiscard]] std::string const& new_mark() {
    return marks_.emplace_back(names::done_prefix(name_) + std::to_string(marks_.size()));
  }
  static reply_matcher is_open() { return is_list({0, 1}); }
  static reply_matcher is_closed(std::int64_t left, testing::Matcher<std::int64_t> const& pttl = no_ttl) {
    return is_busy(pttl, -1, 0, "", -1, left);
  }

  std::string const name_ = "orders";
  std::string const counted_ = names::counted(name_);
  std::string const channel_ = names::inbox_of_all(name_);
  test::redis_server& server_ = empty_server();
  raw_redis raw_ = server_.raw();
  subscription messages_{server_};

 private:
  std::list<std::string> marks_;
};

TEST_F(latch_scripts, count_each_participant_once_and_tell_all_at_the_last) {
  run(look(), is_open());
  run(count_down("a"), is(0));
  run(set(3), is(1));
  run(set(5), is(0));
  EXPECT_EQ(raw_.pttl(name_), no_ttl);
  run(look(), is_closed(3));
  run(count_down("b"), is(1));
  EXPECT_THAT(state(), ElementsAre("holdfast_latch 2 3 0", "b"));
  run(count_down("b"), is(0));
  run(count_down("a"), is(1));
  EXPECT_THAT(state(), ElementsAre("holdfast_latch 1 3 0", "b", "a"));
  run(look(), is_closed(1));
  run(count_down("c"), is(1), {channel_ + " 0"});
  EXPECT_THAT(state(), ElementsAre(""));
  run(count_down("c"), is(0));
  run(look(), is_open());
}

TEST_F(latch_scripts, count_several_at_once_and_not_below_zero) {
  run(set(5), is(1));
  run(count_down("a", 3), is(1));
  EXPECT_THAT(state(), ElementsAre("holdfast_latch 2 5 0", "a"));
  run(count_down("b", 7), is(1), {channel_ + " 0"});
  EXPECT_THAT(state(), ElementsAre(""));
}

TEST_F(latch_scripts, count_no_late_copy_when_it_is_set_again) {
  run(set(2), is(1));
  auto const first = count_down("a");
  run(first, is(1));
  run(count_down("b"), is(1), {channel_ + " 0"});
  run(set(2), is(1));
  run(first, is(1));
  EXPECT_THAT(state(), ElementsAre("holdfast_latch 2 2 0"));
}

TEST_F(latch_scripts, forget_who_counted_when_it_is_opened_or_set_to_nothing) {
  run(set(0), is(1));
  EXPECT_THAT(state(), ElementsAre(""));
  run(set(2), is(1));
  run(count_down("a"), is(1));
  run(open(), is(1), {channel_ + " 0"});
  EXPECT_THAT(state(), ElementsAre(""));
  run(open(), is(0));
  run(set(2), is(1));
  run(count_down("a"), is(1));
  EXPECT_THAT(state(), ElementsAre("holdfast_latch 1 2 0", "a"));
}

TEST_F(latch_scripts, say_when_its_time_is_over_and_never_that_it_is_open) {
  run(set(3, minute), is(1));
  auto const life = AllOf(Gt(day), Le(day + minute));
  EXPECT_THAT(raw_.pttl(name_), life);
  run(count_down("a"), is(1));
  EXPECT_THAT(raw_.pttl(name_), life);
  EXPECT_THAT(raw_.pttl(counted_), life);
  run(look(), is_closed(2, AllOf(Gt(0), Le(minute))));

  raw_.command({"SET", name_, "holdfast_latch 2 3 1000", "PX", "60000"});
  for (auto const& script_call : {look(), count_down("b")}) {
    auto const reply = raw_.command(eval(script_call));
    EXPECT_TRUE(reply.is_error()) << script_call.source->name;
    EXPECT_THAT(reply.text, testing::StartsWith("EXPIRED 2 3 "));
  }
  EXPECT_THAT(state(), ElementsAre("holdfast_latch 2 3 1000", "a"));
  run(set(4), is(1));
  EXPECT_THAT(state(), ElementsAre("holdfast_latch 4 4 0"));
  raw_.command({"SET", name_, "holdfast_latch 2 3 1000", "PX", "60000"});
  run(open(), is(1), {channel_ + " 0"});
  run(look(), is_open());
}

TEST_F(latch_scripts, say_what_they_found_instead_of_a_latch) {
  for (auto const& [command, found] :
       std::vector<std::pair<words, std::string>>{{{"LPUSH", name_, "1"}, "a list"},
                                                  {{"SET", name_, std::string{caller}}, "a lock"},
                                                  {{"SET", name_, "holdfast_readers"}, "a lock"},
                                                  {{"SET", name_, "holdfast_barrier 3 1 1"}, "a barrier"},
                                                  {{"SET", name_, "7"}, "a number"},
                                                  {{"SET", name_, "open"}, "text of something else"}}) {
    raw_.command({"FLUSHALL"});
    raw_.command(command);
    for (auto const& script_call : {look(), set(1), count_down("a"), open()}) {
      EXPECT_THAT(raw_.command(eval(script_call)), is_error("MISFIT " + found + ", not a latch"))
          << script_call.source->name;
      EXPECT_THAT(raw_.keys(), ElementsAre(name_)) << script_call.source->name;
    }
  }
  EXPECT_THAT(messages_.take(), IsEmpty());
}

}  // namespace holdfast::contract::latch_test
