/// What the tests of Holdfast beside Redisson share: both on one server, and signs of who waits there.
#pragma once

#include "interop.hpp"
#include "support/registry.hpp"
#include "support/unhurried.hpp"

#include <holdfast/client.hpp>

#include <chrono>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace holdfast::test {

/// What a slow machine may take. Well below the 30 s of a lease, so that whoever waits within it was woken.
inline constexpr auto patience = 20s;
/// What ours are ready to wait, so that a last look at its end comes too late to pass for a message.
inline constexpr auto long_enough = 60s;

/// Something that waits while the test goes on.
template <class Wait>
[[nodiscard]] auto meanwhile(Wait wait) {
  return std::async(std::launch::async, std::move(wait));
}

template <class Result>
[[nodiscard]] bool is_over(std::future<Result> const& waiting) {
  return waiting.wait_for(0s) == std::future_status::ready;
}

/// What came of it, long before whoever waits would have looked by itself. Throws when nothing did.
template <class Result>
Result soon(std::future<Result>& waiting, std::chrono::seconds at_most = patience) {
  if (waiting.wait_for(at_most) != std::future_status::ready) throw std::runtime_error{"it waits still"};
  return waiting.get();
}

/// Skipped where Redisson's peers aren't there.
class beside_redisson : public interop {
 protected:
  void SetUp() override {
    if (!peer::is_prepared(folder_of(version()))) GTEST_SKIP() << not_prepared;
  }
  [[nodiscard]] virtual redisson_version version() const = 0;

  /// A process of ours that holds or waits, to be killed. `what` is a title of the registry.
  [[nodiscard]] worker our_process(std::string_view what, std::string const& name,
                                   std::chrono::milliseconds ttl) const {
    return worker::session(url_, std::string{what}, name, ttl);
  }

  /// So many processes listen on the channel, and sleep.
  [[nodiscard]] bool listen(std::string const& channel, std::int64_t processes = 1) {
    return eventually(patience, [&] { return subscribers(channel) == processes; }) && all_is_quiet();
  }

  /// Whoever waits looks once more when it listens: here nobody does so any more, and only a message or the
  /// end of a time wakes it. The silence is shorter than that between two that are heard once in a second
  /// each: a renewal, and a recheck, may go on.
  [[nodiscard]] bool all_is_quiet() {
    auto const inbox = "holdfast_inbox:" + listening_.uuid();  // opened half a second late
    auto const opened = [&] { return listening_.stats().waiting_now == 0 || subscribers(inbox) == 1; };
    return eventually(patience, opened) && eventually(patience, [&] {
             auto const before = commands_run();
             return always(300ms, [&] { return commands_run() == before; });
           });
  }

  /// Other than by which we look.
  [[nodiscard]] std::uint64_t commands_run() {
    std::uint64_t all = 0;
    for (auto const& [command, calls] : raw_.command_counts()) {
      if (command != "info") all += calls;
    }
    return all;
  }

  std::string url_ = server_.url() + "?wire=redisson";
  client redis_{url_, unhurried()};
  /// Wakes by messages: what it would see by itself comes too late.
  client listening_{url_, unhurried({.recheck = 30s})};
};

/// Run with each version.
class beside_each_redisson : public beside_redisson, public testing::WithParamInterface<redisson_version> {
 protected:
  [[nodiscard]] redisson_version version() const override { return GetParam(); }
};

}  // namespace holdfast::test
