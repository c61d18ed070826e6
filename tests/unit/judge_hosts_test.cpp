/// The judge, on histories of hosts whose clocks differ.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "judge/judge.hpp"
#include "judging.hpp"

namespace {

using namespace holdfast;
using namespace holdfast::test;

class judge_hosts : public judged_history {
 protected:
  /// Of client a on one host, and b on another one, whose clock is late by so much.
  written_history& begin(int late = 0) {
    history_.header("a");
    return other_.header("b", 0, "b2", 1, 1'000'000 - late);
  }
  /// Asks, is granted the lock a millisecond later, and gives it back one later.
  static void hold(written_history& by, int at, std::string_view client, int wait, std::string_view kind,
                   std::int64_t token) {
    by.asked(at, client, wait, kind, "x").granted(at + 1, client, wait, kind, "x", token);
    by.of_lease("released", at + 2, client, wait);
  }
  [[nodiscard]] std::vector<std::string> paths() const { return {history_.written(), other_.written()}; }
  [[nodiscard]] std::string verdict_within(judging::instant ms) const {
    return verdict_on(paths(), {.uncertainty = ms * 1'000'000, .hosts = judging::merge::hosts::several});
  }

  written_history other_{folder_ / "other"};
};

TEST_F(judge_hosts, are_compared_by_their_wall_clocks_as_far_as_these_are_certain) {
  begin(20);  // what is at 25 there is at 5 here
  other_.asked(23, "b", 1, "mutex", "x").granted(24, "b", 1, "mutex", "x", 2);
  history_.asked(1, "a", 1, "mutex", "x").granted(2, "a", 1, "mutex", "x", 1);
  history_.of_lease("released", 7, "a", 1);
  EXPECT_EQ(verdict_within(1), "S1");
  EXPECT_EQ(verdict_within(10), "fine");
  EXPECT_THROW((void)verdict_on(paths()), judging::unreadable);
}

TEST_F(judge_hosts, have_tokens_in_an_order_that_their_clocks_may_explain) {
  begin(10);  // what is at 15 there, behind all of the other one, is at 5 here
  hold(history_, 11, "a", 1, "mutex", 5);
  hold(other_, 15, "b", 1, "mutex", 6);
  EXPECT_EQ(verdict_within(10), "fine");
  EXPECT_EQ(verdict_within(5), "S3");
  EXPECT_EQ(verdict_within(0), "S3");
}

TEST_F(judge_hosts, do_not_excuse_a_token_behind_one_of_the_same_host) {
  begin();
  hold(history_, 1, "a", 1, "mutex", 5);
  hold(other_, 11, "b", 1, "mutex", 7);
  hold(history_, 21, "a", 2, "mutex", 4);
  EXPECT_EQ(verdict_within(50), "S3");
}

TEST_F(judge_hosts, may_not_both_have_a_token) {
  begin();
  hold(history_, 1, "a", 1, "mutex", 5);
  hold(other_, 11, "b", 1, "mutex", 5);
  EXPECT_EQ(verdict_within(50), "S3") << "in no order may it be";
}

TEST_F(judge_hosts, have_readers_whose_writer_may_have_come_first) {
  begin();
  hold(history_, 1, "a", 1, "fair", 5);
  hold(other_, 11, "b", 1, "read", 4);
  EXPECT_EQ(verdict_within(50), "fine");
  hold(other_, 111, "b", 2, "read", 4);
  EXPECT_EQ(verdict_within(50), "S3") << "it asked long after the writer";
}

TEST_F(judge_hosts, have_tokens_that_are_judged_where_a_name_is_busy) {
  auto const until_token = [this](std::int64_t token) {
    history_.text().clear();
    other_.text().clear();
    begin();
    for (auto at = 0; at < 3000; at += 4) hold(other_, at + 1, "b", at + 1, "mutex", 10'000 + at);
    hold(history_, 3001, "a", 1, "mutex", token);
    return verdict_within(1000);
  };
  EXPECT_EQ(until_token(12'004), "fine") << "a host had it less than a second before";
  EXPECT_EQ(until_token(11'972), "S3") << "the clocks don't explain it";
}

TEST_F(judge_hosts, may_be_late_with_a_permit) {
  begin();
  for (auto at = 0; at < 20'000; at += 4) hold(other_, at + 1, "b", at + 1, "permits", 10'000 + at);
  auto const before = history_.text();
  hold(history_, 20'001, "a", 1, "permits", 9'999);
  EXPECT_EQ(verdict_within(30'000), "fine") << "thousands have come in between, by the clocks";
  history_.text() = before;
  hold(history_, 20'001, "a", 1, "permits", 10'000 + 19'996);
  EXPECT_EQ(verdict_within(30'000), "S3") << "the other one has the same";
}

TEST_F(judge_hosts, may_serve_callers_in_an_order_that_their_clocks_hide) {
  begin();
  history_.asked(1, "a", 1, "fair", "x").granted(2, "a", 1, "fair", "x", 1);
  other_.asked(3, "b", 1, "fair", "x").of_wait("queued", 4, "b", 1);
  history_.asked(300, "a", 2, "fair", "x").of_lease("released", 400, "a", 1);
  history_.granted(410, "a", 2, "fair", "x", 3).of_lease("released", 411, "a", 2).alive(500, 2000, "a");
  other_.granted(421, "b", 1, "fair", "x", 2).of_lease("released", 422, "b", 1).alive(500, 2000, "b");
  EXPECT_EQ(verdict_within(50), "fine") << "b came first if its clock is early by 20 ms";
  EXPECT_EQ(verdict_within(10), "S3 L3");
}

TEST_F(judge_hosts, may_have_a_permit_one_behind_the_other) {
  begin();
  hold(history_, 1, "a", 1, "permits", 0);
  history_.numbered("setting", 5, "a", "permits", "x", 1).numbered("set", 6, "a", "permits", "x", 1);
  other_.asked(101, "b", 1, "permits", "x").granted(102, "b", 1, "permits", "x", 6);
  hold(history_, 111, "a", 2, "permits", 5);
  other_.of_lease("released", 400, "b", 1);
  EXPECT_EQ(verdict_within(50), "fine") << "a's lease may have been over before b's began";
  history_.asked(211, "a", 3, "permits", "x").granted(212, "a", 3, "permits", "x", 7);
  history_.of_lease("released", 300, "a", 3);
  EXPECT_EQ(verdict_within(50), "S1") << "not that one";
}

TEST_F(judge_hosts, may_tell_of_a_failover_that_seems_to_be_older_than_the_lease_that_it_lost) {
  begin();
  other_.trouble(90, "b").asked(150, "b", 1, "mutex", "x").granted(151, "b", 1, "mutex", "x", 2);
  history_.asked(100, "a", 1, "mutex", "x").granted(101, "a", 1, "mutex", "x", 1);
  history_.lost(900, "a", 1, "taken_over");
  EXPECT_EQ(verdict_within(20), "fine | S1") << "b's clock may be 20 ms late";
  EXPECT_EQ(verdict_within(5), "S1");
}

}  // namespace
