/// The judge, on histories with one fault each.
#include "judge/judge.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "history/lines.hpp"
#include "judging.hpp"

namespace {

using namespace holdfast;
using namespace holdfast::test;

class judge : public judged_history {
 protected:
  /// Of clients a and b on one machine.
  written_history& begin() { return history_.header("a").header("b"); }
  /// Why it can't be judged.
  [[nodiscard]] std::string refusal() const {
    try {
      return verdict();
    } catch (judging::unreadable const& problem) {
      return problem.what();
    }
  }
  /// Where it says so.
  [[nodiscard]] std::string line(int number) const { return ", line " + std::to_string(number) + ": "; }
};

TEST_F(judge, finds_nothing_where_a_lock_goes_from_one_to_the_next) {
  begin().asked(1, "a", 1, "mutex", "x").granted(2, "a", 1, "mutex", "x", 1).renewed(3000, "a", 1);
  history_.asked(3001, "b", 1, "mutex", "x").of_lease("released", 5000, "a", 1);
  history_.granted(5001, "b", 1, "mutex", "x", 2).of_lease("released", 5002, "b", 1);
  history_.closed(5003, "a").closed(5003, "b");
  EXPECT_EQ(verdict(), "fine");
}

TEST_F(judge, finds_two_holders) {
  begin().asked(1, "a", 1, "mutex", "x").granted(2, "a", 1, "mutex", "x", 1);
  history_.asked(3, "b", 1, "mutex", "x").granted(4, "b", 1, "mutex", "x", 2);
  history_.of_lease("released", 5, "a", 1).of_lease("released", 6, "b", 1);
  EXPECT_EQ(verdict(), "S1");
}

TEST_F(judge, finds_a_second_holder_of_which_neither_was_released) {
  begin().asked(1, "a", 1, "mutex", "x").granted(2, "a", 1, "mutex", "x", 1);
  history_.asked(3, "b", 1, "fair", "x").granted(4, "b", 1, "fair", "x", 2);
  EXPECT_EQ(verdict(), "S1") << "a mutex and a fair_mutex of one name exclude each other";
}

TEST_F(judge, counts_the_two_holders_of_a_failover_apart) {
  begin().asked(1, "a", 1, "mutex", "x").granted(2, "a", 1, "mutex", "x", 1).trouble(3, "b");
  history_.asked(4, "b", 1, "mutex", "x").granted(5, "b", 1, "mutex", "x", 2).lost(6, "a", 1, "taken_over");
  history_.of_lease("released", 7, "b", 1);
  EXPECT_EQ(verdict(), "fine | S1");
}

TEST_F(judge, counts_the_two_holders_of_a_release_by_force_apart) {
  begin().asked(1, "a", 1, "mutex", "x").granted(2, "a", 1, "mutex", "x", 1);
  history_.asked(3, "b", 1, "mutex", "x").granted(4, "b", 1, "mutex", "x", 2).lost(5, "a", 1, "forced");
  EXPECT_EQ(verdict(), "fine | S1");
}

TEST_F(judge, does_not_count_a_failover_before_the_last_renewal) {
  begin()
      .asked(1, "a", 1, "mutex", "x")
      .granted(2, "a", 1, "mutex", "x", 1)
      .trouble(3, "b")
      .renewed(4, "a", 1);
  history_.asked(5, "b", 1, "mutex", "x").granted(6, "b", 1, "mutex", "x", 2).lost(7, "a", 1, "taken_over");
  EXPECT_EQ(verdict(), "S1");
}

TEST_F(judge, finds_a_reader_beside_a_writer_and_lets_readers_be_beside_one_another) {
  begin().asked(1, "a", 1, "read", "x").asked(2, "b", 1, "read", "x").asked(3, "b", 2, "fair", "x");
  history_.granted(4, "a", 1, "read", "x", 1).granted(5, "b", 1, "read", "x", 1);
  EXPECT_EQ(verdict(), "fine");
  history_.of_lease("released", 6, "b", 1).granted(7, "b", 2, "fair", "x", 2).of_lease("released", 8, "a", 1);
  EXPECT_EQ(verdict(), "S1");
}

TEST_F(judge, lets_an_upgraded_lease_be_beside_the_one_that_it_replaces) {
  begin().asked(1, "a", 1, "upgrade", "x").granted(2, "a", 1, "upgrade", "x", 1);
  history_.asked(3, "a", 2, "write", "x").granted(4, "a", 2, "write", "x", 2, R"(,"instead":1)");
  history_.of_lease("released", 5, "a", 1).of_lease("released", 6, "a", 2);
  EXPECT_EQ(verdict(), "fine");
}

TEST_F(judge, finds_a_permit_over_the_limit) {
  begin().numbered("setting", 1, "a", "permits", "x", 2).numbered("set", 2, "a", "permits", "x", 2);
  history_.asked(3, "a", 1, "permits", "x", R"(,"n":2)").granted(4, "a", 1, "permits", "x", 1, R"(,"n":2)");
  EXPECT_EQ(verdict(), "fine");
  history_.asked(5, "b", 1, "permits", "x").granted(6, "b", 1, "permits", "x", 2);
  EXPECT_EQ(verdict(), "S1");
}

TEST_F(judge, finds_a_lease_that_is_believed_past_its_deadline) {
  begin().asked(1, "a", 1, "mutex", "x").granted(2, "a", 1, "mutex", "x", 1).asked(3, "b", 1, "mutex", "x");
  history_.alive(500, 9500, "b").alive(500, 9500, "a").granted(9600, "b", 1, "mutex", "x", 2);
  EXPECT_EQ(verdict(), "fine") << "its deadline was at 9002";
  history_.renewed(9700, "a", 1);
  EXPECT_EQ(verdict(), "S1");
}

TEST_F(judge, finds_a_deadline_that_the_ttl_does_not_allow) {
  begin().asked(1, "a", 1, "mutex", "x").granted(2, "a", 1, "mutex", "x", 1, {}, 10'001);
  EXPECT_EQ(verdict(), "S1");
}

TEST_F(judge, finds_a_loss_that_was_told_late_by_a_client_that_ran) {
  begin().asked(1, "a", 1, "mutex", "x").granted(2, "a", 1, "mutex", "x", 1).alive(500, 12'000, "a");
  history_.lost(12'001, "a", 1, "unreachable");
  EXPECT_EQ(verdict(), "S2");
}

TEST_F(judge, finds_a_holder_that_was_never_told) {
  begin().asked(1, "a", 1, "mutex", "x").granted(2, "a", 1, "mutex", "x", 1).alive(500, 12'000, "a");
  EXPECT_EQ(verdict(), "S2") << "its deadline was at 9002, and its client runs";
  history_.of_lease("released", 12'001, "a", 1).closed(12'002, "a");
  EXPECT_EQ(verdict(), "S2") << "and then it gives back what it hadn't any more";
}

TEST_F(judge, does_not_expect_a_holder_to_be_told_that_has_paused_its_lease) {
  begin().asked(1, "a", 1, "mutex", "x").granted(2, "a", 1, "mutex", "x", 1).of_lease("paused", 400, "a", 1);
  history_.alive(500, 12'000, "a");
  EXPECT_EQ(verdict(), "fine");
}

TEST_F(judge, does_not_take_a_renewal_for_the_end_of_a_pause) {
  begin().asked(1, "a", 1, "fair", "x").granted(2, "a", 1, "fair", "x", 1).of_lease("paused", 3, "a", 1);
  history_.asked(4, "b", 1, "read", "x").renewed(5, "a", 1).granted(6, "b", 1, "read", "x", 2);
  history_.of_lease("released", 7, "a", 1).of_lease("released", 8, "b", 1);
  EXPECT_EQ(verdict(), "fine") << "the answer to its conversion into a reader came later than the renewal's";
}

TEST_F(judge, excuses_a_client_that_stood_still_for_as_long_as_the_loss_comes_late) {
  begin().asked(1, "a", 1, "mutex", "x").granted(2, "a", 1, "mutex", "x", 1).alive(500, 9000, "a");
  history_.lost(10'400, "a", 1, "unreachable");
  EXPECT_EQ(verdict(), "fine") << "it may have stood still from 9000 on";
}

TEST_F(judge, excuses_a_client_that_stood_still) {
  begin().asked(1, "a", 1, "mutex", "x").granted(2, "a", 1, "mutex", "x", 1).alive(500, 2000, "a");
  history_.lost(12'001, "a", 1, "unreachable");
  EXPECT_EQ(verdict(), "fine");
}

TEST_F(judge, finds_a_token_that_repeats) {
  begin().asked(1, "a", 1, "mutex", "x").granted(2, "a", 1, "mutex", "x", 5).of_lease("released", 3, "a", 1);
  history_.asked(4, "b", 1, "mutex", "x").granted(5, "b", 1, "mutex", "x", 5).of_lease("released", 6, "b", 1);
  EXPECT_EQ(verdict(), "S3");
}

TEST_F(judge, finds_a_reader_with_a_token_older_than_that_of_the_last_writer) {
  begin().asked(1, "a", 1, "fair", "x").granted(2, "a", 1, "fair", "x", 5).of_lease("released", 3, "a", 1);
  history_.asked(4, "b", 1, "read", "x").granted(5, "b", 1, "read", "x", 4);
  EXPECT_EQ(verdict(), "S3");
}

TEST_F(judge, expects_no_order_of_the_token_of_a_lease_that_was_over_when_it_was_told) {
  begin().asked(1, "a", 1, "fair", "x").granted(2, "a", 1, "fair", "x", 5).of_lease("paused", 3, "a", 1);
  history_.asked(9'010, "b", 1, "fair", "x").granted(9'011, "b", 1, "fair", "x", 6);
  history_.of_lease("released", 9'012, "b", 1)
      .of_lease("released", 9'013, "a", 1)
      .asked(9'014, "a", 2, "read", "x");
  history_.granted(9'020, "a", 2, "read", "x", 5, {}, -10);
  EXPECT_EQ(verdict(), "fine") << "it stood still while its lease became that of a reader";
  history_.asked(9'021, "b", 2, "read", "x").granted(9'022, "b", 2, "read", "x", 5);
  EXPECT_EQ(verdict(), "S3") << "this one is valid";
}

TEST_F(judge, counts_a_reader_with_an_older_token_apart_where_a_failover_has_lost_the_last_writer) {
  begin().asked(1, "a", 1, "fair", "x").granted(2, "a", 1, "fair", "x", 5).of_lease("released", 3, "a", 1);
  history_.trouble(4, "a").asked(5, "b", 1, "read", "x").granted(6, "b", 1, "read", "x", 4);
  EXPECT_EQ(verdict(), "fine | S3");
}

TEST_F(judge, knows_such_a_reader_behind_others_that_have_newer_tokens_by_now) {
  begin().asked(1, "a", 1, "fair", "x").granted(2, "a", 1, "fair", "x", 5).of_lease("released", 3, "a", 1);
  history_.trouble(4, "a").asked(9000, "b", 1, "read", "x").asked(9001, "a", 2, "read", "x");
  history_.granted(9002, "a", 2, "read", "x", 6).granted(9300, "b", 1, "read", "x", 4);
  EXPECT_EQ(verdict(), "fine | S3") << "the last writer was before the failover";
}

TEST_F(judge, finds_a_waiter_that_was_overtaken_in_a_fair_lock) {
  begin().asked(1, "a", 1, "fair", "x").granted(2, "a", 1, "fair", "x", 1);
  history_.asked(3, "a", 2, "fair", "x").of_wait("queued", 4, "a", 2).asked(5, "b", 1, "fair", "x");
  history_.of_lease("released", 6, "a", 1).granted(7, "b", 1, "fair", "x", 2).of_lease("released", 8, "b", 1);
  history_.granted(9, "a", 2, "fair", "x", 3).of_lease("released", 10, "a", 2).alive(1010, 1010, "a");
  EXPECT_EQ(verdict(), "L3");
}

TEST_F(judge, lets_a_waiter_be_overtaken_whose_process_was_killed_a_moment_ago) {
  begin().asked(1, "a", 1, "fair", "x").of_wait("queued", 2, "a", 1);
  history_.asked(3, "b", 1, "fair", "x").granted(4, "b", 1, "fair", "x", 1).of_lease("released", 5, "b", 1);
  EXPECT_EQ(verdict(), "fine");
  history_.alive(1005, 1005, "a");
  EXPECT_EQ(verdict(), "L3") << "it lives";
}

TEST_F(judge, lets_a_waiter_be_overtaken_whose_inbox_was_closed_for_a_moment) {
  begin().asked(1, "a", 1, "fair", "x").of_wait("queued", 2, "a", 1);
  history_.asked(3, "b", 1, "fair", "x").granted(4, "b", 1, "fair", "x", 1).of_lease("released", 5, "b", 1);
  history_.of_wait("queued", 6, "a", 1).granted(7, "a", 1, "fair", "x", 2).of_lease("released", 8, "a", 1);
  history_.alive(1005, 1005, "a");
  EXPECT_EQ(verdict(), "fine");
}

TEST_F(judge, lets_a_waiter_be_overtaken_whose_inbox_was_lost_as_it_notices_later) {
  begin().asked(1, "a", 1, "fair", "x").of_wait("queued", 2, "a", 1);
  history_.asked(3, "b", 1, "fair", "x").granted(4, "b", 1, "fair", "x", 1).of_lease("released", 5, "b", 1);
  history_.granted(7, "a", 1, "fair", "x", 2).of_lease("released", 8, "a", 1).unheard(400, "a");
  history_.alive(1005, 1005, "a");
  EXPECT_EQ(verdict(), "fine");
}

TEST_F(judge, lets_a_waiter_be_overtaken_whose_place_was_not_certain) {
  begin().asked(1, "a", 1, "fair", "x").granted(2, "a", 1, "fair", "x", 1);
  history_.asked(3, "a", 2, "fair", "x").asked(4, "b", 1, "fair", "x").of_wait("queued", 5, "a", 2);
  history_.of_lease("released", 6, "a", 1).granted(7, "b", 1, "fair", "x", 2).of_lease("released", 8, "b", 1);
  EXPECT_EQ(verdict(), "fine");
}

TEST_F(judge, expects_no_order_where_a_mutex_uses_the_name_too) {
  begin().asked(1, "a", 1, "mutex", "x").granted(2, "a", 1, "mutex", "x", 1);
  history_.asked(3, "a", 2, "fair", "x").of_wait("queued", 4, "a", 2).asked(5, "b", 1, "fair", "x");
  history_.of_lease("released", 6, "a", 1).granted(7, "b", 1, "fair", "x", 2).of_lease("released", 8, "b", 1);
  EXPECT_EQ(verdict(), "fine");
}

TEST_F(judge, finds_a_free_lock_that_nobody_took) {
  begin().asked(1, "a", 1, "mutex", "x").granted(2, "a", 1, "mutex", "x", 1).asked(3, "b", 1, "mutex", "x");
  history_.of_lease("released", 100, "a", 1).alive(500, 6000, "a").alive(500, 6000, "b");
  EXPECT_EQ(verdict(), "L1") << "and still waits";
  history_.granted(6001, "b", 1, "mutex", "x", 2).of_lease("released", 6002, "b", 1);
  EXPECT_EQ(verdict(), "L1") << "it was free for 5.9 s";
}

TEST_F(judge, says_for_how_long_a_lock_was_free_in_the_summary_as_in_the_finding) {
  begin().asked(1, "a", 1, "mutex", "x").granted(2, "a", 1, "mutex", "x", 1).asked(3, "b", 1, "mutex", "x");
  history_.of_lease("released", 100, "a", 1).alive(500, 6000, "a").alive(500, 6000, "b");
  history_.granted(6100, "b", 1, "mutex", "x", 2).of_lease("released", 6101, "b", 1);
  judging::judge all{{history_.written()}, {}};
  all.run();
  auto const* const found = all.result().violations.shortest(judging::promise::wake_up);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->text, "\"x\" was free for 6 s while a caller waited for it");
  EXPECT_EQ(judging::time_text(all.result().longest_free), "6 s");
}

TEST_F(judge, does_not_expect_a_waiter_to_take_a_lock_until_its_server_is_back) {
  begin().asked(1, "a", 1, "mutex", "x").granted(2, "a", 1, "mutex", "x", 1).asked(3, "b", 1, "mutex", "x");
  history_.of_lease("released", 100, "a", 1)
      .away(500, "b")
      .alive(1500, 4500, "b")
      .alive(510, 4510, "a")
      .granted(5000, "b", 1, "mutex", "x", 2);
  EXPECT_EQ(verdict(), "fine") << "it may have been back from 1500 on alone";
}

TEST_F(judge, does_not_take_a_lock_for_free_whose_holder_was_killed) {
  begin().asked(1, "a", 1, "mutex", "x").granted(2, "a", 1, "mutex", "x", 1).asked(3, "b", 1, "mutex", "x");
  history_.alive(500, 10'000, "b")
      .granted(10'100, "b", 1, "mutex", "x", 2)
      .of_lease("released", 10'101, "b", 1);
  EXPECT_EQ(verdict(), "fine");
}

TEST_F(judge, does_not_take_a_lock_for_free_that_a_killed_waiter_may_have) {
  begin().asked(1, "a", 1, "mutex", "x").asked(3, "b", 1, "mutex", "x");
  history_.alive(500, 10'000, "b")
      .granted(10'100, "b", 1, "mutex", "x", 2)
      .of_lease("released", 10'101, "b", 1);
  EXPECT_EQ(verdict(), "fine");
}

TEST_F(judge, finds_a_wait_that_never_ended) {
  begin().asked(1, "a", 1, "mutex", "x").closed(2, "a");
  EXPECT_EQ(verdict(), "L1");
}

TEST_F(judge, finds_a_latch_that_was_passed_too_early) {
  begin().numbered("setting", 1, "a", "latch", "x", 2).numbered("set", 2, "a", "latch", "x", 2);
  history_.asked(3, "b", 1, "latch", "x").numbered("counted", 4, "a", "latch", "x", 1);
  auto const before = history_.text();
  history_.numbered("counted", 5, "a", "latch", "x", 1).taken(6, "b", 1, "latch", "x");
  EXPECT_EQ(verdict(), "fine");
  history_.text() = before;
  history_.taken(6, "b", 1, "latch", "x");
  EXPECT_EQ(verdict(), "count");
}

TEST_F(judge, finds_a_permit_without_lease_over_the_limit) {
  begin().numbered("setting", 1, "a", "semaphore", "x", 1).numbered("set", 2, "a", "semaphore", "x", 1);
  history_.asked(3, "a", 1, "semaphore", "x").taken(4, "a", 1, "semaphore", "x");
  history_.numbered("added", 5, "a", "semaphore", "x", 1);
  history_.asked(6, "b", 1, "semaphore", "x").taken(7, "b", 1, "semaphore", "x");
  EXPECT_EQ(verdict(), "fine");
  history_.asked(8, "b", 2, "semaphore", "x").taken(9, "b", 2, "semaphore", "x");
  EXPECT_EQ(verdict(), "count");
}

TEST_F(judge, finds_a_barrier_that_opened_without_a_party) {
  begin().asked(1, "a", 1, "barrier", "x", R"(,"of":2)");
  auto const before = history_.text();
  history_.asked(2, "b", 1, "barrier", "x", R"(,"of":2)");
  history_.taken(3, "a", 1, "barrier", "x", 1).taken(4, "b", 1, "barrier", "x", 1);
  EXPECT_EQ(verdict(), "fine");
  history_.text() = before;
  history_.taken(3, "a", 1, "barrier", "x", 1);
  EXPECT_EQ(verdict(), "count");
}

TEST_F(judge, counts_a_generation_that_a_failover_has_opened_twice_apart) {
  begin();
  for (auto wait = 1; wait <= 3; ++wait) history_.asked(wait, "a", wait, "barrier", "x", R"(,"of":2)");
  history_.taken(5, "a", 1, "barrier", "x", 7).taken(6, "a", 2, "barrier", "x", 7).trouble(7, "b");
  history_.taken(8, "a", 3, "barrier", "x", 7).asked(9, "b", 1, "barrier", "x", R"(,"of":2)");
  history_.asked(10, "b", 2, "barrier", "x", R"(,"of":2)").taken(11, "b", 1, "barrier", "x", 8);
  EXPECT_EQ(verdict(), "fine | count");
}

TEST_F(judge, shows_the_shortest_excerpt) {
  begin();
  for (auto const& [name, overlap] : {std::pair{"x", 500}, std::pair{"y", 5}}) {
    auto const at = std::string_view{name} == "x" ? 1 : 1001;
    auto const w = at;
    history_.asked(at, "a", w, "mutex", name).granted(at + 1, "a", w, "mutex", name, 1);
    history_.asked(at + 2, "b", w, "mutex", name).granted(at + 3, "b", w, "mutex", name, 2);
    history_.of_lease("released", at + 3 + overlap, "a", w).of_lease("released", at + 4 + overlap, "b", w);
  }
  judging::judge all{{history_.written()}, {}};
  all.run();
  auto const* const shortest = all.result().violations.shortest(judging::promise::exclusion);
  ASSERT_NE(shortest, nullptr);
  EXPECT_EQ(shortest->text, "two leases of \"y\" that exclude each other are valid for 5 ms");
  std::vector<std::string> texts;
  texts.reserve(shortest->excerpt.size());
  for (auto const& moment : shortest->excerpt) texts.push_back(moment.text);
  EXPECT_EQ(texts, (std::vector<std::string>{"asked (mutex)", "granted (mutex), token 1, valid for 9 s",
                                             "asked (mutex)", "granted (mutex), token 2, valid for 9 s",
                                             "released"}));
}

TEST_F(judge, puts_the_lines_of_several_files_and_clients_in_order) {
  written_history other{folder_ / "other"};
  other.header("b").asked(3, "b", 1, "mutex", "x").granted(5, "b", 1, "mutex", "x", 2);
  history_.header("a").asked(1, "a", 1, "mutex", "x").granted(2, "a", 1, "mutex", "x", 1);
  history_.of_lease("released", 4, "a", 1);
  EXPECT_EQ(verdict_on({other.written(), history_.written()}), "fine");
  EXPECT_EQ(verdict_on({other.written(), history_.written()}, {.kept_back = 2}), "fine");
}

TEST_F(judge, refuses_what_is_no_history_and_names_the_line) {
  std::string const good = begin().asked(1, "a", 1, "mutex", "x").text();
  struct row {
    std::function<void(written_history&)> spoil;
    std::string expected;
  };
  std::vector<row> const rows{
      {[](auto& h) { h.text() = ""; }, "the file is empty"},
      {[](auto& h) { h.text() = "hello\n"; }, line(1) + "this is no history"},
      {[](auto& h) { h.text() = "{}\n"; }, line(1) + "this is no history"},
      {[](auto& h) { h.text().pop_back(); }, line(3) + "the line is cut off"},
      {[](auto& h) { h.text().resize(h.text().size() - 9), h.text() += '\n'; },
       line(3) + "the line is no part"},
      {[](auto& h) { h.text().erase(0, h.text().find('\n') + 1); },
       line(2) + "the beginning of the client a"},
      {[](auto& h) { h.text().clear(), h.asked(1, "a", 1, "mutex", "x"); },
       line(1) + "this is no history, or its"},
      {[](auto& h) { h.text().clear(), h.header("a", 0, "b", 2); }, line(1) + "the history has version 2"},
      {[](auto& h) { h.header("a"); }, line(4) + "the client a begins a second time"},
      {[](auto& h) { h.of_wait("left", 1, "a", 1); }, line(4) + "it is out of order"},
      {[](auto& h) { h.of_wait("left", 2, "a", 2); }, line(4) + "nobody asked"},
      {[](auto& h) { h.of_lease("released", 2, "a", 1); }, line(4) + "there is no such lease"},
      {[](auto& h) { h.of_lease("vanished", 2, "a", 1); }, line(4) + "there is no event \"vanished\""},
      {[](auto& h) { h.asked(2, "a", 2, "spoon", "x"); }, line(4) + "there is no kind \"spoon\""},
      {[](auto& h) { h.asked(2, "a", 1, "mutex", "x"); }, line(4) + "this wait has begun before"},
      {[](auto& h) { h.closed(2, "a").closed(3, "a"); }, line(5) + "its client has ended before"},
      {[](auto& h) { h.add(R"({"e":"left","t":5,"c":"b","w":99999999999999999999})"); },
       line(4) + "the line is no part"},
      {[](auto& h) { h.add(R"({"e":"left","t":9000000000000000000,"c":"b","w":1})"); },
       line(4) + "\"t\" is out of range"},
      {[](auto& h) { h.of_lease("renewed", 5, "b", 1, R"(,"until":-1)"); },
       line(4) + "\"until\" is out of range"},
      {[](auto& h) { h.asked(5, "b", 7, "permits", "x", R"(,"n":2305843009213693952)"); },
       line(4) + "\"n\" is out of range"},
      {[](auto& h) {
         h.add(R"({"e":"asked","t":5000000,"c":"b","w":7,"ttl":1,"kind":"mixed","names":["x"],)"
               R"("as":["1/9223372036854775807"]})");
       },
       line(4) + "\"as\" has to be"}};
  for (auto const& [spoil, expected] : rows) {
    history_.text() = good;
    spoil(history_);
    EXPECT_NE(refusal().find(expected), std::string::npos) << refusal() << "\ninstead of " << expected;
  }
}

TEST_F(judge, refuses_a_folder_and_a_line_without_an_end) {
  EXPECT_THAT(
      [this] { (void)verdict_on({folder_.path().string()}); },
      testing::ThrowsMessage<judging::unreadable>(testing::HasSubstr("can't be read: Is a directory")));
  begin().add(std::string(33U << 20U, 'x'));
  EXPECT_NE(refusal().find(line(3) + "the line is longer than any line of a history"), std::string::npos);
}

TEST_F(judge, reads_any_name_as_it_was_written) {
  for (std::string const name : {"orders:42", "\"\\\n\x01\x7f", "Überstunden 🔒", "\xff\xc3(\xed\xa0\x80"}) {
    history::lines lines;
    lines.begin(history::event::asked, {});
    lines.add("name", name);
    lines.end();
    judging::object read;
    auto line = lines.text();
    line.pop_back();
    EXPECT_EQ(read.read(line), "") << line;
    auto const* const found = read.find("name", judging::object::type::text);
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found->text, name);
  }
}

}  // namespace
