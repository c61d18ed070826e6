#include "acquire.hpp"

#include "duration.hpp"
#include "exit_codes.hpp"
#include "output.hpp"

#include <holdfast/error.hpp>

#include <fmt/format.h>

#include <string.h>

#include <exception>
#include <memory>
#include <mutex>
#include <stop_token>
#include <utility>

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;

/// How long a wait that a signal ended may take to leave the queue in Redis.
constexpr auto leave_limit = 3s;

/// Filled in by the client's thread.
class first_answer {
 public:
  void set(std::optional<lease> held, std::exception_ptr error) {
    {
      std::scoped_lock const hold{guard_};
      held_ = std::move(held);
      error_ = std::move(error);
      there_ = true;
    }
    signals::wake();
  }
  [[nodiscard]] bool is_there() {
    std::scoped_lock const hold{guard_};
    return there_;
  }
  /// Once it is there.
  [[nodiscard]] std::optional<lease> take() {
    std::scoped_lock const hold{guard_};
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
    return std::exchange(held_, std::nullopt);
  }

 private:
  std::mutex guard_;
  bool there_ = false;
  std::optional<lease> held_;
  std::exception_ptr error_;
};

acquisition interrupted(first_answer& result, bool const answered, int const by, std::string const& name) {
  try {
    // It may have been granted at the same moment.
    if (answered) {
      if (auto held = result.take()) static_cast<void>(held->release());
    }
  } catch (error const&) {
    // Cancelled, or failed by itself: the signal is what the caller is told.
  }
  output::tell(fmt::format("{}: gave up waiting after {}", name, ::sigabbrev_np(by)));
  return {.held = {}, .code = by_signal + by, .busy = {}};
}

acquisition busy_after(run_lock& lock, run_options const& how, std::string const& server) {
  auto const why = lock.why_busy();
  auto const wait = how.wait.value_or(0ms);
  return {.held = {},
          .code = busy,
          .busy = fmt::format("{} on {} is busy{}; {}", title_of(how), server, why.empty() ? "" : ": " + why,
                              wait == 0ms ? "not waited for it" : "waited " + to_string(wait))};
}

}  // namespace

acquisition acquire(run_lock& lock, run_options const& how, signals const& desk, std::string const& server) {
  auto const name = title_of(how);
  auto const result = std::make_shared<first_answer>();
  std::stop_source stop;
  output::tell(fmt::format("waiting for {} on {}", name, server));
  lock.acquire(
      how.wait,
      [result](std::optional<lease> held, std::exception_ptr error) {
        result->set(std::move(held), std::move(error));
      },
      stop.get_token());

  int by = 0;
  bool out_of_patience = false;
  while (!result->is_there() && !out_of_patience) {
    int const signal = desk.wait();
    if (signal == SIGTSTP) desk.stop_here();
    if (signals::is_ending(signal) && by == 0) {
      by = signal;
      stop.request_stop();
      desk.wake_in(leave_limit);
    } else if (by != 0 && (signal == 0 || signals::is_ending(signal))) {
      out_of_patience = !result->is_there();
    }
  }
  if (by != 0) return interrupted(*result, !out_of_patience, by, name);
  auto held = result->take();
  if (!held) return busy_after(lock, how, server);
  return {.held = std::move(held)};
}

}  // namespace holdfast::cli
