/// Shared by the tests of Holdfast beside Redisson: both on one server, and checks for waiters.
#pragma once

#include "interop.hpp"
#include "support/long_timeouts.hpp"
#include "support/subjects.hpp"

#include <holdfast/client.hpp>

#include <chrono>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace holdfast::test {

/// The time allowed to a slow machine. Well below the 30 s of a lease: a waiter that returns within it was
/// woken.
inline constexpr auto time_limit = 20s;
/// The time limit of Holdfast's own waiters. Long, so that the last check at its end can't pass for a
/// message.
inline constexpr auto acquire_timeout = 60s;

/// Runs a waiter while the test goes on.
template <class Wait>
[[nodiscard]] auto run_async(Wait wait) {
  return std::async(std::launch::async, std::move(wait));
}

template <class Result>
[[nodiscard]] bool is_done(std::future<Result> const& waiting) {
  return waiting.wait_for(0s) == std::future_status::ready;
}

/// The result of a waiter, long before it would have checked again by itself. Throws if there is none.
template <class Result>
Result await_result(std::future<Result>& waiting, std::chrono::seconds at_most = time_limit) {
  if (waiting.wait_for(at_most) != std::future_status::ready) throw std::runtime_error{"it waits still"};
  return waiting.get();
}

/// Skipped if the peers with Redisson are not built.
class beside_redisson : public interop {
 protected:
  void SetUp() override {
    if (!peer::is_prepared(folder_of(version()))) GTEST_SKIP() << not_prepared;
  }
  [[nodiscard]] virtual redisson_version version() const = 0;

  /// A Holdfast process that holds or waits, for tests that kill it. `subject_title` is the title of a
  /// subject.
  [[nodiscard]] worker holdfast_process(std::string_view subject_title, std::string const& name,
                                        std::chrono::milliseconds ttl) const {
    return worker::session(url_, std::string{subject_title}, name, ttl);
  }

  /// Whether exactly `processes` processes listen on the channel, and sleep.
  [[nodiscard]] bool are_listening(std::string const& channel, std::int64_t processes = 1) {
    return eventually(time_limit, [&] { return subscribers(channel) == processes; }) && is_idle();
  }

  /// A waiter checks once more after it has subscribed. True when no waiter does so any more: only a message
  /// or the end of a time wakes it. The silence is shorter than the pause between two commands that come once
  /// a second each, so a renewal and a recheck may go on.
  [[nodiscard]] bool is_idle() {
    auto const inbox = "holdfast_inbox:" + listening_.uuid();  // opened half a second late
    auto const opened = [&] { return listening_.stats().waiting_now == 0 || subscribers(inbox) == 1; };
    return eventually(time_limit, opened) && eventually(time_limit, [&] {
             auto const before = commands_run();
             return always(300ms, [&] { return commands_run() == before; });
           });
  }

  /// Without the commands of this check itself.
  [[nodiscard]] std::uint64_t commands_run() {
    std::uint64_t all = 0;
    for (auto const& [command, calls] : raw_.command_counts()) {
      if (command != "info") all += calls;
    }
    return all;
  }

  std::string url_ = server_.url() + "?wire=redisson";
  client redis_{url_, with_long_timeouts()};
  /// Wakes by messages only: its next check by itself comes too late.
  client listening_{url_, with_long_timeouts({.recheck = 30s})};
};

/// Run with each version.
class beside_each_redisson : public beside_redisson, public testing::WithParamInterface<redisson_version> {
 protected:
  [[nodiscard]] redisson_version version() const override { return GetParam(); }
};

}  // namespace holdfast::test
