#include "inspect/last_run.hpp"

#include <gmock/gmock.h>

#include <string>
#include <utility>
#include <vector>

#include "resp/make_reply.hpp"

namespace {

using holdfast::kept_until;
using holdfast::lock_kind;
using holdfast::lock_state;
using holdfast::run_info;
using holdfast::inspection::read_run;
namespace resp = holdfast::resp;
using namespace std::chrono_literals;

std::string const owner = "11111111-1111-4111-8111-111111111111:7";

resp::reply fields(std::vector<std::string> const& words) {
  std::vector<resp::reply> texts;
  for (auto const& word : words) texts.push_back(resp::make_text(word));
  return resp::make_array(std::move(texts));
}

run_info::time_point at(std::chrono::microseconds time) { return run_info::time_point{time}; }

TEST(last_run, is_read_from_its_record) {
  auto const run =
      read_run(fields({"owner", owner, "began", "1000000", "until", "5000000", "took_ms", "250", "exit", "3",
                       "host", "web-3", "pid", "812", "label", "hourly report", "token", "77"}));
  ASSERT_TRUE(run);
  EXPECT_EQ(run->token, 77);
  EXPECT_EQ(run->process.to_string(), "web-3 pid 812 'hourly report'");
  EXPECT_EQ(run->process.owner, owner);
  EXPECT_EQ(run->began, at(1s));
  EXPECT_EQ(run->took, 250ms);
  EXPECT_EQ(run->exit_code, 3);
  EXPECT_EQ(run->counts_until, at(5s));
}

TEST(last_run, has_no_end_while_none_is_noted) {
  auto const run =
      read_run(fields({"owner", owner, "began", "1000000", "until", "0", "took_ms", "", "exit", ""}));
  ASSERT_TRUE(run);
  EXPECT_FALSE(run->finished());
  EXPECT_EQ(run->exit_code, std::nullopt);
  EXPECT_EQ(run->counts_until, std::nullopt);
}

TEST(last_run, is_none_that_does_not_say_who_ran_or_when) {
  EXPECT_FALSE(read_run(fields({})));
  EXPECT_FALSE(read_run(fields({"began", "1000000"})));
  EXPECT_FALSE(read_run(fields({"owner", owner})));
  EXPECT_FALSE(read_run(fields({"owner", owner, "began", "yesterday"})));
  EXPECT_FALSE(read_run(resp::make_error("NOPERM")));
}

/// A free lock, whose last run ended a second ago and counts for another minute.
lock_state after_a_run() {
  return {.seen = at(100s),
          .last_run = run_info{.process = {.owner = owner},
                               .began = at(98s),
                               .took = 1s,
                               .exit_code = 0,
                               .counts_until = at(160s)}};
}

TEST(kept_until_of_a_lock, is_until_when_the_last_run_counts) {
  auto state = after_a_run();
  EXPECT_EQ(kept_until(state), at(160s));
  state.last_run->took.reset();  // its host died
  EXPECT_EQ(kept_until(state), at(160s));
  state.last_run->counts_until = at(100s);
  EXPECT_EQ(kept_until(state), std::nullopt);
  state.last_run->counts_until.reset();
  EXPECT_EQ(kept_until(state), std::nullopt);
  state.last_run.reset();
  EXPECT_EQ(kept_until(state), std::nullopt);
}

TEST(kept_until_of_a_lock, is_its_expiry_once_its_holder_has_finished) {
  auto state = after_a_run();
  state.kind = lock_kind::exclusive;
  state.holder.owner = owner;
  state.ttl_left = 30s;
  EXPECT_EQ(kept_until(state), at(130s));
  state.last_run->took.reset();
  EXPECT_EQ(kept_until(state), std::nullopt);  // it runs
  state = after_a_run();
  state.kind = lock_kind::exclusive;
  state.holder.owner = "somebody else";
  state.ttl_left = 30s;
  EXPECT_EQ(kept_until(state), std::nullopt);
}

}  // namespace
