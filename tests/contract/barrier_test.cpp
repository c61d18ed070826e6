// The scripts of a barrier, step by step. Each request is sent twice.

#include "wire/plain/barrier.hpp"
#include "contract/contract.hpp"
#include "script/names.hpp"
#include "scripts/barrier.hpp"

namespace holdfast::contract::barrier_test {

using testing::AllOf;
using testing::ElementsAre;
using testing::Gt;
using testing::IsEmpty;
using testing::Le;

constexpr std::string_view anna_next = "aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa:13";

class barrier_scripts : public testing::Test {
 protected:
  using reply_matcher = testing::Matcher<raw_reply const&>;

  /// Runs the call twice, as after a connection that broke before the reply came. Only the first call
  /// publishes, and only it changes who has arrived.
  raw_reply run(call const& script_call, reply_matcher const& reply, int messages = 0) {
    SCOPED_TRACE(script_call.source->name);
    auto const first = raw_.command(eval(script_call));
    EXPECT_THAT(first, reply);
    EXPECT_EQ(messages_.take(), words(static_cast<std::size_t>(messages), channel_ + " 0"));
    auto const before = state();
    SCOPED_TRACE("sent twice");
    EXPECT_THAT(raw_.command(eval(script_call)), script_call.source->name == "barrier.leave" ? is(0) : reply);
    EXPECT_THAT(messages_.take(), IsEmpty());
    EXPECT_EQ(state(), before);
    return first;
  }
  /// The barrier, and who has arrived.
  words state() {
    words all{raw_.get(name_).value_or("")};
    for (auto const& member : raw_.command({"ZRANGE", arrived_, "0", "-1"}).elements)
      all.push_back(member.text);
    return all;
  }

  [[nodiscard]] call arrive(std::string_view owner, std::string const& seat, std::string_view ticket = {},
                            bool join = true, int parties = 3) const {
    return recipes::plain::barrier.acquire(seat, {.owner = owner,
                                                  .ttl = std::chrono::milliseconds{full_ttl},
                                                  .size = parties,
                                                  .join = join,
                                                  .ticket = ticket});
  }
  [[nodiscard]] call leave(std::string_view owner, std::string const& seat,
                           engine::departure why = engine::departure::left) const {
    return recipes::plain::barrier.abandon({.name = seat, .owner = owner}, {.why = why});
  }
  /// Of a caller of the seat's client.
  [[nodiscard]] static call time_up(std::string const& seat, std::int64_t after = 0) {
    auto const& owner = seat == seat_of(2, "web-2 pid 2") ? rival : caller;
    auto const uuid = owner.substr(0, owner.rfind(':'));
    return recipes::plain::time_up(seat, uuid, after, engine::publishing::counted);
  }
  static std::string seat_of(int number, std::string_view who = "web-1 pid 7") {
    return recipes::plain::seat_name("orders", static_cast<std::uint64_t>(number), who);
  }
  [[nodiscard]] static reply_matcher opened(std::int64_t generation) { return is_list({generation, 1}); }
  [[nodiscard]] static reply_matcher waits(testing::Matcher<std::int64_t> const& generation) {
    return is_busy(AllOf(Gt(0), Le(full_ttl / 3)), 0, generation, "", -1, 0);
  }
  [[nodiscard]] static reply_matcher is_broken(std::int64_t generation, std::string const& cause) {
    return is_error("BROKEN " + std::to_string(generation) + " " + cause);
  }
  /// Begins with that generation.
  void begin(std::int64_t generation = 7, int parties = 3) {
    auto const number = std::to_string(generation);
    raw_.command({"SET", name_, "holdfast_barrier " + std::to_string(parties) + " " + number + " " + number});
  }
  void end_time_of(std::string const& member) { raw_.command({"ZADD", arrived_, "1000", member}); }

  std::string const name_ = "orders";
  std::string const arrived_ = names::arrived(name_);
  std::string const channel_ = names::inbox_of_all(name_);
  std::string const a_ = seat_of(1, "web-1 pid 1");
  std::string const b_ = seat_of(2, "web-2 pid 2");
  std::string const c_ = seat_of(3, "web-3 pid 3");
  test::redis_server& server_ = empty_server();
  raw_redis raw_ = server_.raw();
  subscription messages_{server_};
};

std::string by(std::string_view owner, std::string const& who) { return std::string{owner} + " " + who; }

TEST_F(barrier_scripts, open_when_all_have_arrived_and_tell_everybody_once) {
  auto const first = run(arrive(caller, a_), waits(Gt(0)));
  auto const generation = first.elements.at(2).integer;
  EXPECT_GT(generation, 1'700'000'000'000'000) << "it begins with the server's clock";
  EXPECT_THAT(raw_.pttl(name_), left_of(day));
  EXPECT_THAT(raw_.pttl(arrived_), left_of(day));
  run(arrive(rival, b_), waits(generation));
  EXPECT_THAT(state(), ElementsAre(testing::StartsWith("holdfast_barrier 3 "), by(caller, "web-1 pid 1"),
                                   by(rival, "web-2 pid 2")));
  run(arrive(anna, c_), opened(generation), 1);
  EXPECT_THAT(state(), ElementsAre("holdfast_barrier 3 " + std::to_string(generation + 1) + " " +
                                   std::to_string(generation)));
  run(arrive(caller, a_, std::to_string(generation)), opened(generation));
  run(arrive(rival, b_), opened(generation));
}

TEST_F(barrier_scripts, begin_the_next_generation_from_the_same_seats) {
  begin(7, 2);
  run(arrive(caller, a_, {}, true, 2), waits(7));
  run(arrive(rival, b_, {}, true, 2), opened(7), 1);
  run(arrive(sibling, a_, {}, true, 2), waits(8));
  EXPECT_THAT(raw_.command(eval(arrive(caller, a_, {}, true, 2))),
              is_broken(0, "left " + by(caller, "web-1 pid 1")))
      << "a late copy of the arrival before";
  EXPECT_THAT(state(), ElementsAre("holdfast_barrier 2 8 7", by(sibling, "web-1 pid 1")));
  run(arrive(anna, c_, {}, true, 2), opened(8), 1);
  run(arrive(rival, b_, "7", true, 2), opened(7));
}

TEST_F(barrier_scripts, break_a_generation_when_somebody_leaves) {
  begin();
  run(arrive(caller, a_), waits(7));
  run(arrive(rival, b_), waits(7));
  run(leave(rival, b_, engine::departure::timed_out), is(1), 1);
  EXPECT_THAT(state(), ElementsAre("holdfast_barrier 3 8 7\n7 timed_out " + by(rival, "web-2 pid 2")));
  run(arrive(caller, a_, "7"), is_broken(7, "timed_out " + by(rival, "web-2 pid 2")));
  run(arrive(rival, b_), is_broken(7, "timed_out " + by(rival, "web-2 pid 2")));
  EXPECT_THAT(state(), testing::SizeIs(1)) << "nobody is counted for the next one";
}

TEST_F(barrier_scripts, do_not_count_an_arrival_that_comes_after_its_end) {
  begin();
  run(leave(caller, a_), is(0));
  EXPECT_THAT(raw_.command(eval(arrive(caller, a_))), is_broken(0, "left " + by(caller, "web-1 pid 1")));
  EXPECT_THAT(state(), testing::SizeIs(1));
  run(arrive(sibling, a_), waits(7));
}

TEST_F(barrier_scripts, break_nothing_by_leaving_a_generation_that_is_over) {
  begin(7, 2);
  run(arrive(caller, a_, {}, true, 2), waits(7));
  run(arrive(rival, b_, {}, true, 2), opened(7), 1);
  run(arrive(anna, c_, {}, true, 2), waits(8));
  run(leave(caller, a_), is(0));
  EXPECT_THAT(state(), ElementsAre("holdfast_barrier 2 8 7", by(anna, "web-3 pid 3")));
}

TEST_F(barrier_scripts, say_whether_a_generation_has_opened_when_the_time_is_up) {
  begin(7, 2);
  run(time_up(a_), is(0));
  run(arrive(caller, a_, {}, true, 2), waits(7));
  run(time_up(a_, 7), is(0));  // an arrival of before
  run(arrive(rival, b_, {}, true, 2), opened(7), 1);
  run(arrive(anna, c_, {}, true, 2), waits(8));
  run(time_up(a_), is(7));
  run(time_up(a_, 7), is(0));
  run(leave(caller, a_), is(0));
  EXPECT_THAT(state(), ElementsAre("holdfast_barrier 2 8 7", by(anna, "web-3 pid 3")));
}

TEST_F(barrier_scripts, break_a_generation_when_the_time_is_up) {
  begin();
  run(arrive(caller, a_), waits(7));
  run(arrive(rival, b_), waits(7));
  run(time_up(a_), is(0), 1);
  EXPECT_THAT(state(), ElementsAre("holdfast_barrier 3 8 7\n7 timed_out " + by(caller, "web-1 pid 1")));
  run(time_up(b_), is(0));
  run(arrive(caller, a_), is_broken(7, "timed_out " + by(caller, "web-1 pid 1")));
  raw_.command({"DEL", name_});
  run(time_up(a_), is(0));
}

TEST_F(barrier_scripts, break_a_generation_of_which_one_has_died) {
  begin();
  run(arrive(caller, a_), waits(7));
  run(arrive(rival, b_), waits(7));
  end_time_of(by(rival, "web-2 pid 2"));
  run(arrive(anna, c_), waits(8), 1);
  run(arrive(caller, a_, "7"), is_broken(7, "died " + by(rival, "web-2 pid 2")));
  run(arrive(rival, b_, "7"), is_broken(7, "died " + by(rival, "web-2 pid 2")));
  EXPECT_THAT(state(),
              ElementsAre(testing::StartsWith("holdfast_barrier 3 8 7\n7 died"), by(anna, "web-3 pid 3")));
}

TEST_F(barrier_scripts, say_when_the_next_one_may_be_dead) {
  begin();
  run(arrive(caller, a_), waits(7));
  auto const time = raw_.command({"TIME"});
  auto const now_ms = std::stoll(time.elements.at(0).text) * 1000;
  raw_.command({"ZADD", arrived_, std::to_string(now_ms + 5000), by(caller, "web-1 pid 1")});
  run(arrive(rival, b_), is_busy(AllOf(Gt(2000), Le(5000)), 0, 7, "", -1, 0));
}

TEST_F(barrier_scripts, arrive_only_as_the_last_where_nobody_wants_to_wait) {
  begin(7, 2);
  run(arrive(caller, a_, {}, false, 2), is_busy(-1, -1, 0, "", -1, 0));
  EXPECT_THAT(state(), testing::SizeIs(1));
  run(arrive(rival, b_, {}, true, 2), waits(7));
  run(arrive(caller, a_, {}, false, 2), opened(7), 1);
}

TEST_F(barrier_scripts, refuse_another_number_of_parties_while_somebody_waits) {
  begin();
  run(arrive(caller, a_, {}, true, 5), waits(7));
  EXPECT_THAT(state(), ElementsAre("holdfast_barrier 5 7 7", by(caller, "web-1 pid 1")));
  run(arrive(rival, b_, {}, true, 2), is_error("PARTIES 5 2"));
  EXPECT_THAT(state(), testing::SizeIs(2));
}

TEST_F(barrier_scripts, open_at_once_for_one_party) {
  auto const first = raw_.command(eval(arrive(caller, a_, {}, true, 1)));
  auto const generation = first.elements.at(0).integer;
  EXPECT_EQ(messages_.take().size(), 1u);
  run(arrive(caller, a_, {}, true, 1), opened(generation));
  run(arrive(sibling, a_, {}, true, 1), opened(generation + 1), 1);
}

TEST_F(barrier_scripts, break_what_the_server_has_lost) {
  begin();
  run(arrive(caller, a_), waits(7));
  raw_.command({"FLUSHALL"});
  auto const lost = raw_.command(eval(arrive(caller, a_, "7")));
  EXPECT_THAT(lost, is_broken(7, "lost " + by(caller, "web-1 pid 1")));
  EXPECT_THAT(state(), ElementsAre(""));

  begin(7, 2);
  run(arrive(rival, b_, {}, true, 2), waits(7));
  raw_.command({"DEL", name_});  // the mark is still there
  run(arrive(anna, c_, {}, true, 2), waits(Gt(7)), 1);
  EXPECT_THAT(state(), testing::Contains(by(anna, "web-3 pid 3")));
  EXPECT_THAT(state(), testing::SizeIs(2)) << "those of before don't count";
  run(arrive(rival, b_, "7", true, 2), is_broken(7, "lost " + by(rival, "web-2 pid 2")));
  run(leave(anna, c_), is(1), 1);

  begin(7, 3);  // who has arrived is lost alone: those that wait arrive again
  run(arrive(caller, c_), waits(7));
  run(arrive(ben, a_), waits(7));
  raw_.command({"DEL", arrived_});
  run(arrive(caller, c_, "7"), waits(7));
  run(arrive(ben, a_, "7"), waits(7));
  run(arrive(anna_next, seat_of(4)), opened(7), 1);
}

TEST_F(barrier_scripts, count_a_seat_once_in_a_server_that_has_fallen_back) {
  begin();
  run(arrive(caller, a_), waits(7));
  run(arrive(rival, b_), waits(7));
  // Another server knew the last arrival, and the next arrival comes from the same seat.
  run(arrive(sibling, a_), waits(8), 1);
  run(arrive(rival, b_, "7"), is_broken(7, "lost " + by(sibling, "web-1 pid 1")));
}

TEST_F(barrier_scripts, remember_the_last_broken_generations) {
  begin(100);
  for (int i = 0; i < 40; ++i) {
    auto const seat = seat_of(10 + i);
    raw_.command(eval(arrive(caller, seat)));
    raw_.command(eval(leave(caller, seat)));
  }
  messages_.take();
  run(arrive(caller, seat_of(10)), is_broken(100, "lost " + by(caller, "web-1 pid 7")));
  run(arrive(caller, seat_of(18)), is_broken(108, "left " + by(caller, "web-1 pid 7")));
  run(arrive(caller, seat_of(49)), is_broken(139, "left " + by(caller, "web-1 pid 7")));
  EXPECT_THAT(raw_.get(name_).value_or(""), testing::StartsWith("holdfast_barrier 3 140 108\n108 left"));
}

TEST_F(barrier_scripts, break_by_force) {
  auto const force = scripts::barrier::force{.barrier = {name_},
                                             .arrived = {arrived_},
                                             .participant = "somebody ops-1 pid 9",
                                             .publish = "PUBLISH",
                                             .channel = channel_}();
  begin();
  EXPECT_THAT(raw_.command(eval(force)), is(0));
  run(arrive(caller, a_), waits(7));
  EXPECT_THAT(raw_.command(eval(force)), is(1));
  EXPECT_EQ(messages_.take(), words{channel_ + " 0"});
  run(arrive(caller, a_, "7"), is_broken(7, "forced somebody ops-1 pid 9"));
}

TEST_F(barrier_scripts, say_what_they_found_instead_of_a_barrier) {
  for (auto const& [command, found] :
       std::vector<std::pair<words, std::string>>{{{"LPUSH", name_, "1"}, "a list"},
                                                  {{"SET", name_, std::string{caller}}, "a lock"},
                                                  {{"SET", name_, "holdfast_latch 1 2 0"}, "a latch"},
                                                  {{"SET", name_, "x"}, "text of something else"}}) {
    raw_.command({"FLUSHALL"});
    raw_.command(command);
    for (auto const& script_call : {arrive(caller, a_), leave(caller, a_)}) {
      EXPECT_THAT(raw_.command(eval(script_call)), is_error("MISFIT " + found + ", not a barrier"));
      EXPECT_THAT(raw_.keys(), ElementsAre(name_));
    }
  }
}

}  // namespace holdfast::contract::barrier_test
