// The metrics of holdfast::prometheus.

#include <gmock/gmock.h>
#include <prometheus/exposer.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <holdfast/mutex.hpp>
#include <holdfast/prometheus.hpp>
#include <string>

#include "support/failure_of.hpp"
#include "support/long_timeouts.hpp"
#include "support/redis_server.hpp"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class metrics_of_locks : public testing::Test {
 protected:
  [[nodiscard]] std::string text() const {
    return prometheus::TextSerializer{}.Serialize(registry_->Collect());
  }
  [[nodiscard]] std::string text_after(std::initializer_list<lock_event> events,
                                       prometheus_options options = {}) const {
    auto const hears = prometheus_metrics(registry_, std::move(options));
    for (auto const& event : events) hears->on_event(event);
    return text();
  }
  [[nodiscard]] static lock_event of(event_kind what, std::string_view name = "orders",
                                     std::chrono::nanoseconds duration = {}) {
    return {.what = what, .name = name, .kind = "mutex", .duration = duration};
  }

  std::shared_ptr<prometheus::Registry> registry_ = std::make_shared<prometheus::Registry>();
};

TEST_F(metrics_of_locks, count_waits_and_leases_that_go_on) {
  using enum event_kind;
  auto const shown =
      text_after({of(asked), of(asked), of(acquired, "orders", 3ms), of(asked), of(waiting), of(timed_out)});
  EXPECT_THAT(
      shown,
      AllOf(HasSubstr(R"(holdfast_waiting{kind="mutex",lock="orders"} 1)"),
            HasSubstr(R"(holdfast_held{kind="mutex",lock="orders"} 1)"),
            HasSubstr(R"(holdfast_contended_total{kind="mutex",lock="orders"} 1)"),
            HasSubstr(R"(holdfast_acquisitions_total{kind="mutex",lock="orders",outcome="acquired"} 1)"),
            HasSubstr(R"(holdfast_acquisitions_total{kind="mutex",lock="orders",outcome="timed_out"} 1)"),
            HasSubstr(R"(holdfast_wait_seconds_bucket{kind="mutex",lock="orders",le="0.0025"} 0)"),
            HasSubstr(R"(holdfast_wait_seconds_bucket{kind="mutex",lock="orders",le="0.005"} 1)")));
}

TEST_F(metrics_of_locks, say_why_a_wait_or_a_lease_has_ended) {
  auto lost = of(event_kind::lost, "orders", 2s);
  lost.why = "key_gone";
  auto failed = of(event_kind::failed);
  failed.why = "unreachable";
  EXPECT_THAT(
      text_after({of(event_kind::asked),
                  of(event_kind::granted),
                  lost,
                  of(event_kind::asked),
                  failed,
                  {.what = event_kind::missed, .count = 7},
                  {.what = event_kind::disconnected}}),
      AllOf(HasSubstr(R"(holdfast_lost_total{cause="key_gone",kind="mutex",lock="orders"} 1)"),
            HasSubstr(R"(holdfast_leases_ended_total{end="lost",kind="mutex",lock="orders"} 1)"),
            HasSubstr(R"(holdfast_acquisitions_total{kind="mutex",lock="orders",outcome="unreachable"} 1)"),
            HasSubstr(R"(holdfast_held{kind="mutex",lock="orders"} 0)"),
            HasSubstr(R"(holdfast_hold_seconds_sum{kind="mutex",lock="orders"} 2)"),
            HasSubstr("holdfast_events_missed_total 7"),
            HasSubstr(R"(holdfast_connections_total{event="disconnected"} 1)")));
}

TEST_F(metrics_of_locks, of_ten_thousand_names_are_bounded) {
  auto const hears = prometheus_metrics(registry_, {.most_locks = 20});
  for (auto i = 0; i != 10'000; ++i) {
    auto const name = "item:" + std::to_string(i);
    for (auto const what : {event_kind::asked, event_kind::acquired, event_kind::released})
      hears->on_event(of(what, name));
  }
  auto const shown = text();
  EXPECT_THAT(
      shown, AllOf(HasSubstr(R"(lock="item:19")"), Not(HasSubstr(R"(lock="item:20")")),
                   HasSubstr(R"(holdfast_leases_ended_total{end="released",kind="mutex",lock="other"} 9980)"),
                   HasSubstr(R"(holdfast_held{kind="mutex",lock="other"} 0)")));
  EXPECT_LT(std::count(shown.begin(), shown.end(), '\n'), 21 * 50);
}

TEST_F(metrics_of_locks, are_put_together_as_the_user_says) {
  EXPECT_THAT(
      text_after({of(event_kind::asked, "account:1"), of(event_kind::asked, "account:2")},
                 {.lock = [](lock_event const& event) { return std::string{event.name.substr(0, 7)}; }}),
      HasSubstr(R"(holdfast_waiting{kind="mutex",lock="account"} 2)"));
}

TEST_F(metrics_of_locks, are_text_whatever_the_name_is) {
  EXPECT_THAT(text_after({of(event_kind::asked, "a\xff\n\"b")}), HasSubstr(R"(lock="a\\xff\\x0a\"b")"));
}

TEST_F(metrics_of_locks, have_options_that_make_sense) {
  auto const refused = [this](prometheus_options options) {
    return code_of([&] { (void)prometheus_metrics(registry_, std::move(options)); }) ==
           std::errc::invalid_argument;
  };
  EXPECT_TRUE(refused({.most_locks = 0}));
  EXPECT_TRUE(refused({.wait_buckets = {1, 1}}));
  EXPECT_TRUE(refused({.hold_buckets = {2, 1}}));
  EXPECT_EQ(code_of([] { (void)prometheus_metrics(nullptr); }), std::errc::invalid_argument);
}

TEST_F(metrics_of_locks, come_from_a_client) {
  redis_server server;
  {
    client redis{server.url(), with_long_timeouts({.observer = prometheus_metrics(registry_)})};
    mutex lock{redis, "orders"};
    auto const held = lock.acquire();
    EXPECT_FALSE(lock.try_acquire());
  }
  EXPECT_THAT(
      text(),
      AllOf(HasSubstr(R"(holdfast_acquisitions_total{kind="mutex",lock="orders",outcome="acquired"} 1)"),
            HasSubstr(R"(holdfast_acquisitions_total{kind="mutex",lock="orders",outcome="busy"} 1)"),
            HasSubstr(R"(holdfast_held{kind="mutex",lock="orders"} 0)"),
            HasSubstr(R"(holdfast_waiting{kind="mutex",lock="orders"} 0)")));
}

TEST_F(metrics_of_locks, are_served_and_a_port_that_is_taken_is_named) {
  auto const first = open_exposer("127.0.0.1:0", registry_);
  auto const address = "127.0.0.1:" + std::to_string(first->GetListeningPorts().front());
  auto const taken = failure_of([&] { (void)open_exposer(address, registry_); });
  EXPECT_EQ(taken.code, std::errc::address_in_use);
  EXPECT_TRUE(taken.mentions(address) && taken.mentions("choose another port")) << taken;
}

TEST_F(metrics_of_locks, are_not_served_at_what_is_no_address) {
  for (auto const* const address : {"", "9464:", "127.0.0.1", "127.0.0.1:x", "203.0.113.1:9464"}) {
    auto const wrong = failure_of([&] { (void)open_exposer(address, registry_); });
    EXPECT_EQ(wrong.code, std::errc::invalid_argument) << address;
    EXPECT_TRUE(wrong.mentions("host:port")) << wrong;
  }
}

}  // namespace
}  // namespace holdfast::test
