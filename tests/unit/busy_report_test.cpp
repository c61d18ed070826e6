#include "engine/busy_report.hpp"

#include "unit/engine_parts.hpp"
#include "wire/plain/permits.hpp"

namespace holdfast::engine {
namespace {

using namespace std::chrono_literals;

constexpr auto a_trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
constexpr auto a_uuid = "0f0e0d0c-0b0a-4908-8706-050403020100";

class a_busy_report : public engine_parts {
 public:
  ~a_busy_report() override { queue_->waiters.clear(); }

 protected:
  a_busy_report() : queue_{pin()} {
    queue_->waiters.push_back(first_);
    queue_->waiters.push_back(second_);
  }

  void hear_of(std::string owner, busy reply = {.pttl = 5s, .ahead = 2, .held_for = 3s}) {
    reply.holder = std::move(owner);
    open_contender(*queue_, 1);
    queue_->contender->last = {std::move(reply), boot_clock::now()};
  }
  [[nodiscard]] std::optional<busy_info> seen_by(waiter const& caller) const {
    return obstacle_of(caller, client_, nullptr, boot_clock::now());
  }

  [[nodiscard]] bool wants(busy_info const& info, bool up = true) {
    return report_.wants_record(info.holder, up, boot_clock::now());
  }

  lock_queue_ptr queue_;
  recorded_waiter first_{queue_};
  recorded_waiter second_{queue_};
  busy_report report_{client_};
};

TEST_F(a_busy_report, is_empty_before_the_first_reply) { EXPECT_FALSE(seen_by(first_)); }

TEST_F(a_busy_report, is_as_old_as_what_was_heard_last) {
  hear_of("somebody");
  auto const noted_at = boot_clock::now();
  report_.note(first_, noted_at);
  clock_.advance(1s);
  auto const now = boot_clock::now();
  second_.came_at = now;
  queue_->contender->last.heard_at = now;
  EXPECT_EQ(busy_report::latest_at(*queue_, now), now);
  queue_->contender->last.heard_at = {};
  EXPECT_EQ(busy_report::latest_at(*queue_, now), noted_at) << "this contender has heard nothing yet";
  queue_->contender.reset();
  EXPECT_EQ(busy_report::latest_at(*queue_, now), noted_at);
}

TEST_F(a_busy_report, names_the_holder_in_this_process) {
  auto const lease = make_lease(queue_, 7);
  queue_->holder = lease.get();
  queue_->held_here_since = boot_clock::now();
  clock_.advance(2s);
  auto const info = seen_by(second_);
  queue_->holder = nullptr;
  ASSERT_TRUE(info);
  EXPECT_EQ(info->holder.owner, client_.owner_id(7));
  EXPECT_EQ(info->held_for, 2s);
  EXPECT_EQ(info->ahead, 1) << "the caller before it";
}

TEST_F(a_busy_report, goes_on_from_what_the_server_said) {
  hear_of(std::string{a_uuid} + ":9");
  clock_.advance(1s);
  auto const info = seen_by(second_);
  ASSERT_TRUE(info);
  EXPECT_EQ(info->held_for, 4s);
  EXPECT_EQ(info->ttl_left, 4s);
  EXPECT_EQ(info->ahead, 3);
  clock_.advance(10s);
  EXPECT_EQ(seen_by(first_)->ttl_left, 0s);
}

TEST_F(a_busy_report, does_not_say_how_long_a_holder_of_another_library_has_had_the_lock) {
  hear_of("somebody");
  EXPECT_FALSE(seen_by(first_)->held_for);
}

TEST_F(a_busy_report, does_not_know_its_position_where_the_server_did_not_say) {
  hear_of("somebody", {.pttl = -1ms, .ahead = -1});
  auto const info = seen_by(second_);
  EXPECT_EQ(info->ahead, -1);
  EXPECT_FALSE(info->ttl_left);
}

TEST_F(a_busy_report, tells_of_a_key_that_never_expires) {
  hear_of("somebody", {.pttl = without_ttl, .ahead = 0});
  EXPECT_TRUE(seen_by(first_)->never_expires);
  queue_->contender->last.reply.pttl = -2ms;
  EXPECT_FALSE(seen_by(first_)->never_expires) << "it is gone already, or unknown";
}

TEST_F(a_busy_report, does_not_say_when_permits_without_a_lease_end) {
  hear_of("somebody", {.pttl = std::chrono::days{36'499}, .ahead = 0});
  EXPECT_FALSE(seen_by(first_)->ttl_left);
  EXPECT_FALSE(seen_by(first_)->never_expires) << "nobody wrote it by mistake";
}

TEST_F(a_busy_report, has_the_record_of_the_holders_client_once_that_was_read) {
  hear_of(std::string{a_uuid} + ":9");
  report_.note(first_, boot_clock::now());
  auto info = report_.latest(*queue_, boot_clock::now());
  ASSERT_TRUE(info);
  EXPECT_TRUE(info->holder.host.empty());
  EXPECT_FALSE(report_.describe_if_own(info->holder));
  EXPECT_TRUE(wants(*info));
  report_.remember(a_uuid, {.process = {.host = "web-3"}}, boot_clock::now());
  info = report_.latest(*queue_, boot_clock::now());
  EXPECT_EQ(info->holder.host, "web-3");
  EXPECT_EQ(info->holder.owner, std::string{a_uuid} + ":9");
  clock_.advance(19s);
  EXPECT_FALSE(wants(*info));
  clock_.advance(1s);
  EXPECT_TRUE(wants(*info)) << "its client may say traces by now";
}

TEST_F(a_busy_report, does_not_want_a_record_again_at_once_that_is_missing) {
  hear_of(std::string{a_uuid} + ":9");
  report_.note(first_, boot_clock::now());
  auto const info = report_.latest(*queue_, boot_clock::now());
  report_.remember(a_uuid, {}, boot_clock::now());
  EXPECT_FALSE(wants(*info));
  clock_.advance(500ms);
  EXPECT_TRUE(wants(*info));
}

TEST_F(a_busy_report, does_not_want_a_trace_of_a_server_that_does_not_answer) {
  hear_of(std::string{a_uuid} + ":9");
  report_.note(first_, boot_clock::now());
  report_.remember(a_uuid, {.process = {.host = "web-3"}, .traces = "-"}, boot_clock::now());
  auto const info = report_.latest(*queue_, boot_clock::now());
  clock_.advance(1s);
  EXPECT_FALSE(wants(*info, false)) << "it isn't up";
  EXPECT_TRUE(wants(*info));
  clock_.advance(5s);
  EXPECT_FALSE(wants(*info)) << "nothing came of it";
  report_.remember(a_uuid, {}, boot_clock::now());
  EXPECT_FALSE(wants(*info)) << "it is gone";
  EXPECT_EQ(report_.latest(*queue_, boot_clock::now())->holder.host, "web-3");
}

TEST_F(a_busy_report, has_no_trace_of_a_number_that_may_be_of_another_lease_by_now) {
  held_traces traces{loop_, nullptr};
  busy_report report{client_, &traces};
  hear_of(client_.owner_id(7));
  report.note(first_, boot_clock::now());
  auto const heir = make_lease(queue_, 7);
  traces.begun(*heir, a_trace, boot_clock::now());
  EXPECT_EQ(report.latest(*queue_, boot_clock::now())->holder.trace, "");
}

TEST_F(a_busy_report, has_the_trace_that_the_record_says_of_that_lease) {
  hear_of(std::string{a_uuid} + ":9");
  report_.note(first_, boot_clock::now());
  report_.remember(a_uuid, {.process = {.host = "web-3"}, .traces = std::string{"9="} + a_trace},
                   boot_clock::now());
  EXPECT_EQ(report_.latest(*queue_, boot_clock::now())->holder.trace, a_trace);
  queue_->contender->last.reply.holder = std::string{a_uuid} + ":10";
  report_.note(first_, boot_clock::now());
  auto const next = report_.latest(*queue_, boot_clock::now());
  EXPECT_EQ(next->holder.host, "web-3");
  EXPECT_EQ(next->holder.trace, "") << "it is another lease";
}

TEST_F(a_busy_report, wants_a_record_again_that_may_say_the_trace_by_now) {
  hear_of(std::string{a_uuid} + ":9");
  report_.note(first_, boot_clock::now());
  report_.remember(a_uuid, {.process = {.host = "web-3"}, .traces = "-"}, boot_clock::now());
  auto const info = report_.latest(*queue_, boot_clock::now());
  clock_.advance(499ms);
  EXPECT_FALSE(wants(*info));
  clock_.advance(1ms);
  EXPECT_TRUE(wants(*info));
}

TEST_F(a_busy_report, has_the_trace_of_a_holder_in_this_process) {
  held_traces traces{loop_, nullptr};
  busy_report const report{client_, &traces};
  auto const lease = make_lease(queue_, 7);
  traces.begun(*lease, a_trace, boot_clock::now());
  queue_->holder = lease.get();
  auto const info = report.latest(*queue_, boot_clock::now());
  queue_->holder = nullptr;
  ASSERT_TRUE(info);
  EXPECT_EQ(info->holder.trace, a_trace);
}

TEST_F(a_busy_report, has_the_trace_of_permits_in_this_process) {
  held_traces traces{loop_, nullptr};
  busy_report report{client_, &traces};
  auto const permits = pin(recipes::plain::permits, "permits");
  recorded_waiter caller{permits};
  permits->waiters.push_back(caller);
  open_contender(*permits, 1);
  permits->contender->last = {{.pttl = 5s, .holder = client_.owner_id(7)}, boot_clock::now()};
  report.note(caller, boot_clock::now());
  permits->waiters.clear();
  auto const lease = make_lease(permits, 7);
  traces.begun(*lease, a_trace, boot_clock::now());
  auto const info = report.latest(*permits, boot_clock::now());
  ASSERT_TRUE(info);
  EXPECT_EQ(info->holder.trace, a_trace);
}

TEST_F(a_busy_report, describes_a_holder_of_this_client_without_asking) {
  process_info holder{.owner = client_.owner_id(7), .trace = a_trace};
  EXPECT_TRUE(report_.describe_if_own(holder));
  EXPECT_FALSE(holder.host.empty());
  EXPECT_EQ(holder.owner, client_.owner_id(7));
  EXPECT_EQ(holder.trace, a_trace);
}

}  // namespace
}  // namespace holdfast::engine
