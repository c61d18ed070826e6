// The spans of holdfast::opentelemetry, as a real SDK records them.

#include <gmock/gmock.h>
#include <opentelemetry/exporters/memory/in_memory_span_data.h>
#include <opentelemetry/exporters/memory/in_memory_span_exporter.h>
#include <opentelemetry/sdk/trace/simple_processor.h>
#include <opentelemetry/sdk/trace/tracer_provider.h>
#include <opentelemetry/trace/scope.h>

#include <holdfast/mutex.hpp>
#include <holdfast/opentelemetry.hpp>
#include <holdfast/testing.hpp>
#include <optional>
#include <string>

#include "base/clock.hpp"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using testing::IsEmpty;
namespace api = opentelemetry::trace;
namespace sdk = opentelemetry::sdk;

class spans_of_locks : public testing::Test {
 protected:
  spans_of_locks() {
    auto exporter = std::make_unique<opentelemetry::exporter::memory::InMemorySpanExporter>();
    recorded_ = exporter->GetData();
    provider_ = std::make_shared<sdk::trace::TracerProvider>(
        std::make_unique<sdk::trace::SimpleSpanProcessor>(std::move(exporter)));
    tracer_ = provider_->GetTracer("the program");
  }

  [[nodiscard]] auto work() { return tracer_->StartSpan("work"); }
  [[nodiscard]] auto spans() { return recorded_->GetSpans(); }
  static std::string text(sdk::trace::SpanData const& span, char const* attribute) {
    auto const found = span.GetAttributes().find(attribute);
    if (found == span.GetAttributes().end()) return "none";
    return opentelemetry::nostd::get<std::string>(found->second);
  }

  memory::deployment deployment_;
  std::shared_ptr<opentelemetry::exporter::memory::InMemorySpanData> recorded_;
  std::shared_ptr<sdk::trace::TracerProvider> provider_;
  opentelemetry::nostd::shared_ptr<api::Tracer> tracer_;
};

TEST_F(spans_of_locks, belong_to_the_work_that_asked) {
  auto const parent = work();
  {
    client redis{deployment_.url(),
                 {.label = "reports", .observer = std::make_shared<opentelemetry_spans>(tracer_)}};
    api::Scope const active{parent};
    auto const held = mutex{redis, "orders"}.acquire();
  }
  auto const recorded = spans();
  ASSERT_EQ(recorded.size(), 2U);
  for (auto const& span : recorded) {
    EXPECT_TRUE(span->GetTraceId() == parent->GetContext().trace_id());
    EXPECT_TRUE(span->GetParentSpanId() == parent->GetContext().span_id());
    EXPECT_EQ(text(*span, "lock.name"), "orders");
    EXPECT_EQ(text(*span, "lock.kind"), "mutex");
    EXPECT_EQ(text(*span, "lock.label"), "reports");
    EXPECT_EQ(text(*span, "error.type"), "none");
    EXPECT_EQ(span->GetAttributes().count("lock.token"), 1U);
  }
  EXPECT_EQ(recorded[0]->GetName(), "lock.wait");
  EXPECT_EQ(text(*recorded[0], "lock.outcome"), "acquired");
  EXPECT_EQ(recorded[1]->GetName(), "lock.hold");
  EXPECT_EQ(text(*recorded[1], "lock.outcome"), "released");
}

TEST_F(spans_of_locks, last_as_long_as_what_they_tell_of) {
  opentelemetry_spans spans_of{tracer_};
  auto const parent = work();
  std::string trace;
  {
    api::Scope const active{parent};
    trace = spans_of.trace();
  }
  auto const at = boot_clock::now().time_since_epoch() - 10s;
  spans_of.on_event({.what = event_kind::lost,
                     .name = "orders",
                     .kind = "mutex",
                     .at = at,
                     .duration = 3s,
                     .why = "key_gone",
                     .trace = trace});
  auto const recorded = spans();
  ASSERT_EQ(recorded.size(), 1U);
  EXPECT_EQ(recorded[0]->GetDuration(), 3s);
  auto const began = std::chrono::system_clock::now() -
                     std::chrono::system_clock::time_point{recorded[0]->GetStartTime().time_since_epoch()};
  EXPECT_GE(began, 13s);
  EXPECT_LT(began, 100s);
  EXPECT_EQ(recorded[0]->GetStatus(), api::StatusCode::kError);
  EXPECT_EQ(text(*recorded[0], "error.type"), "key_gone");
}

TEST_F(spans_of_locks, are_none_of_work_without_a_span) {
  client redis{deployment_.url(), {.observer = std::make_shared<opentelemetry_spans>(tracer_)}};
  mutex{redis, "orders"}.acquire().release();
  EXPECT_THAT(spans(), IsEmpty());
}

TEST_F(spans_of_locks, are_known_to_whom_the_lock_blocks) {
  client redis{deployment_.url(), {.observer = std::make_shared<opentelemetry_spans>(tracer_)}};
  mutex orders{redis, "orders"};
  auto const parent = work();
  std::optional<lease> held;
  {
    api::Scope const active{parent};
    held = orders.acquire();
  }
  ASSERT_FALSE(orders.try_acquire());
  ASSERT_TRUE(orders.last_busy());
  char id[32];
  parent->GetContext().trace_id().ToLowerBase16(id);
  EXPECT_THAT(orders.last_busy()->holder.trace, testing::HasSubstr(std::string(id, 32)));
}

}  // namespace
}  // namespace holdfast::test
