/// Clients in memory, one of which says the traces of its work.
#pragma once

#include <gtest/gtest.h>

#include <holdfast/client.hpp>
#include <holdfast/inspect.hpp>
#include <holdfast/observer.hpp>
#include <holdfast/testing.hpp>
#include <memory>
#include <string>
#include <string_view>

namespace holdfast {

inline constexpr auto a_trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

struct tracer final : observer {
  [[nodiscard]] std::string_view name() const noexcept override { return "tracer"; }
  void on_event(lock_event const& /*event*/) override {}
  [[nodiscard]] std::string trace() override { return traced; }

  std::string traced{a_trace};
};

class tracing_in_memory : public testing::Test {
 protected:
  [[nodiscard]] std::string seen(std::string const& name = "orders") {
    return inspect(other, name).holder.trace;
  }
  [[nodiscard]] std::string record() const { return "holdfast_client:" + redis.uuid(); }

  memory::manual_clock time;
  memory::deployment servers;
  std::shared_ptr<tracer> hears = std::make_shared<tracer>();
  client redis = servers.connect({.observer = hears});
  client other = servers.connect();
};

}  // namespace holdfast
