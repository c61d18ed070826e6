/// Spans of waits and of held locks, for OpenTelemetry.
///
///     holdfast::client redis{url, {.observer = std::make_shared<holdfast::opentelemetry_spans>()}};
///
/// A component of its own, on the API of opentelemetry-cpp (tried with 1.28), which Debian 12 doesn't have:
/// `find_package(holdfast COMPONENTS opentelemetry)`, target holdfast::opentelemetry. Header-only, so it fits
/// the version and the ABI of OpenTelemetry that the program has.
///
/// *Spans.* Work that has an active, valid span when it asks for a lock gets as children of that span
/// - `lock.wait`: from asking until the lease came, or until it was given up;
/// - `lock.hold`: from the lease until it was released, kept or lost.
/// Other work gets none. Attributes: `lock.name`, `lock.kind` (as in a history), `lock.outcome` (the word of
/// the event_kind), `lock.token` with a lease, `lock.label` if the client has one. What failed or was lost
/// has the status Error and `error.type`: lock_event::why. The names of spans are these two, so that backends
/// can group by them.
///
/// Those whom the lock blocks learn the trace of its holder: process_info::trace.
#pragma once

#include <holdfast/observer.hpp>

#include <opentelemetry/context/runtime_context.h>
#include <opentelemetry/trace/context.h>
#include <opentelemetry/trace/propagation/http_trace_context.h>
#include <opentelemetry/trace/provider.h>
#include <opentelemetry/trace/span.h>
#include <opentelemetry/trace/tracer.h>

#include <chrono>
#include <cstddef>
#include <ctime>
#include <string>
#include <string_view>
#include <utility>

namespace holdfast {

/// The observer that makes the spans. One may serve several clients. Thread-safe.
class opentelemetry_spans final : public observer {
  using tracer_ptr = opentelemetry::nostd::shared_ptr<opentelemetry::trace::Tracer>;

 public:
  /// Spans of a tracer "holdfast" of the global provider, which has been set before.
  opentelemetry_spans()
      : tracer_{opentelemetry::trace::Provider::GetTracerProvider()->GetTracer("holdfast")} {}
  /// Spans of that tracer.
  explicit opentelemetry_spans(tracer_ptr tracer) noexcept : tracer_{std::move(tracer)} {}

  [[nodiscard]] std::string_view name() const noexcept override { return "OpenTelemetry"; }

  /// The active span of the calling thread, as a W3C traceparent; empty without a valid one.
  [[nodiscard]] std::string trace() override {
    namespace api = opentelemetry::trace;
    auto const span = api::GetSpan(opentelemetry::context::RuntimeContext::GetCurrent())->GetContext();
    if (!span.IsValid()) return {};
    std::string text(traceparent_size, '-');
    text[0] = text[1] = '0';
    span.trace_id().ToLowerBase16(part<32>(text, 3));
    span.span_id().ToLowerBase16(part<16>(text, 36));
    span.trace_flags().ToLowerBase16(part<2>(text, 53));
    return text;
  }

  void on_event(lock_event const& event) override {
    using enum event_kind;
    switch (event.what) {
      case acquired:
      case handed_over:
      case granted:
      case taken:
      case busy:
      case timed_out:
      case failed:
        return add("lock.wait", event);
      case released:
      case kept:
      case lost:
        return add("lock.hold", event);
      default:
        return;
    }
  }

 private:
  static constexpr std::size_t traceparent_size = 55;  // 00-<32 digits>-<16 digits>-<2 digits>

  template <std::size_t Size>
  static opentelemetry::nostd::span<char, Size> part(std::string& text, std::size_t at) {
    return opentelemetry::nostd::span<char, Size>{text.data() + at, Size};
  }

  static opentelemetry::nostd::string_view view(std::string_view text) { return {text.data(), text.size()}; }

  /// Of what trace() has said.
  static opentelemetry::trace::SpanContext parent_of(lock_event const& event) {
    using format = opentelemetry::trace::propagation::HttpTraceContext;
    return {format::TraceIdFromHex(view(event.trace.substr(3, 32))),
            format::SpanIdFromHex(view(event.trace.substr(36, 16))),
            format::TraceFlagsFromHex(view(event.trace.substr(53, 2))), false};
  }

  /// How long ago it happened: an event is told a little later.
  static std::chrono::nanoseconds age(lock_event const& event) {
    std::timespec now{};
    ::clock_gettime(CLOCK_BOOTTIME, &now);
    auto const age = std::chrono::seconds{now.tv_sec} + std::chrono::nanoseconds{now.tv_nsec} - event.at;
    return age < std::chrono::nanoseconds::zero() ? std::chrono::nanoseconds::zero() : age;
  }

  /// A span is made when it is over, with the time of its beginning.
  void add(char const* what, lock_event const& event) {
    namespace api = opentelemetry::trace;
    if (event.trace.size() != traceparent_size) return;
    auto const ago = age(event);
    auto const end = std::chrono::steady_clock::now() - ago;
    api::StartSpanOptions begin;
    begin.parent = parent_of(event);
    begin.start_system_time =
        opentelemetry::common::SystemTimestamp{std::chrono::system_clock::now() - ago - event.duration};
    begin.start_steady_time = opentelemetry::common::SteadyTimestamp{end - event.duration};
    auto const span = tracer_->StartSpan(what,
                                         {{"lock.name", view(event.name)},
                                          {"lock.kind", view(event.kind)},
                                          {"lock.outcome", view(to_string(event.what))}},
                                         begin);
    if (event.token != 0) span->SetAttribute("lock.token", event.token);
    if (!event.label.empty()) span->SetAttribute("lock.label", view(event.label));
    if (event.what == event_kind::failed || event.what == event_kind::lost) {
      span->SetAttribute("error.type", view(event.why));
      span->SetStatus(api::StatusCode::kError, view(event.why));
    }
    api::EndSpanOptions over;
    over.end_steady_time = opentelemetry::common::SteadyTimestamp{end};
    span->End(over);
  }

  tracer_ptr tracer_;
};

}  // namespace holdfast
