#include "run/wait_for_lock.hpp"

#include "common/boot_time.hpp"
#include "common/duration.hpp"
#include "common/exit_codes.hpp"
#include "common/output.hpp"
#include "process/orphans.hpp"
#include "run/server_patience.hpp"
#include "run/wait_report.hpp"

#include <holdfast/error.hpp>

#include <fmt/format.h>

#include <string.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <memory>
#include <mutex>
#include <stop_token>
#include <utility>

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;

/// Time limit for leaving the queue in Redis after a signal has ended the wait.
constexpr auto leave_limit = 3s;

/// What has become of the request. The client's thread sets it.
class first_answer {
 public:
  void set(std::optional<lease> held, std::exception_ptr error) {
    {
      std::scoped_lock const hold{guard_};
      held_ = std::move(held);
      error_ = std::move(error);
      answered_ = true;
    }
    signals::wake();
  }
  [[nodiscard]] bool has_come() {
    std::scoped_lock const hold{guard_};
    return answered_;
  }
  /// Requires has_come().
  [[nodiscard]] std::optional<lease> take() {
    std::scoped_lock const hold{guard_};
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
    return std::exchange(held_, std::nullopt);
  }

 private:
  std::mutex guard_;
  bool answered_ = false;
  std::optional<lease> held_;
  std::exception_ptr error_;
};

wait_result interrupted(first_answer& result, bool const answered, int const ending_signal,
                        std::string const& name) {
  try {
    // It may have been granted at the same moment.
    if (answered) {
      if (auto held = result.take()) static_cast<void>(held->release());
    }
  } catch (error const&) {
    // Cancelled or failed: the caller is told the signal.
  }
  output::info(fmt::format("{}: gave up waiting after {}", name, ::sigabbrev_np(ending_signal)));
  return {.held = {}, .signal = ending_signal};
}

/// The server is silent, or loads its data. The request may be carried out later; its client gives back what
/// it is granted then, as long as it lives, and else the ttl ends it.
[[noreturn]] void fail_unanswered(std::string const& name, std::string const& server,
                                  std::chrono::milliseconds const limit) {
  throw error{errc::unreachable,
              fmt::format("{}: no answer within {} for {}: the server is silent, or loads its data", server,
                          to_string(limit), name)};
}

wait_result busy_after(run_lock& lock, run_options const& options, std::string const& server) {
  auto const reason = lock.in_the_way().text;
  auto const wait = options.wait.value_or(0ms);
  return {.held = {},
          .code = busy,
          .busy = fmt::format("{} on {} is busy{}; {}", title_of(options), server,
                              reason.empty() ? "" : ": " + reason,
                              wait == 0ms ? "didn't wait" : "waited " + to_string(wait))};
}

}  // namespace

wait_result wait_for_lock(run_lock& lock, run_options const& options, signals const& receiver,
                          std::string const& server) {
  auto const name = title_of(options);
  auto const result = std::make_shared<first_answer>();
  std::stop_source stop;
  output::info(fmt::format("waiting for {} on {}", name, server));
  lock.acquire(
      options.wait,
      [result](std::optional<lease> held, std::exception_ptr error) {
        result->set(std::move(held), std::move(error));
      },
      stop.get_token());

  wait_report report{lock, name, server};
  int ending_signal = 0;
  std::chrono::nanoseconds leave_by{};
  bool gave_up = false;
  auto const limit = limit_of_silence(options);
  auto answer_by = limit ? boot_time() + *limit : std::chrono::nanoseconds::max();
  while (!result->has_come() && !gave_up) {
    reap_orphans();  // of an earlier turn
    auto const write_again = output::write_kept();
    if (ending_signal == 0)
      receiver.wake_in(std::min({report.pause(), answer_by - boot_time(), write_again}));
    int const signal = receiver.wait();
    if (signal == SIGTSTP) signals::stop_here();
    if (signals::is_ending(signal) && ending_signal == 0) {
      ending_signal = signal;
      stop.request_stop();
      leave_by = boot_time() + leave_limit;
      receiver.wake_in(leave_limit);
    } else if (ending_signal != 0) {
      gave_up = !result->has_come() && (signals::is_ending(signal) || boot_time() >= leave_by);
    } else if (signal == 0 && !result->has_come()) {
      if (boot_time() >= answer_by) {
        if (!lock.in_the_way().answered && !result->has_come()) {
          stop.request_stop();
          fail_unanswered(name, server, *limit);
        }
        answer_by = std::chrono::nanoseconds::max();  // from the first answer on the client judges outages
      }
      report.look();
    }
  }
  if (ending_signal != 0) return interrupted(*result, !gave_up, ending_signal, name);
  auto held = result->take();
  if (!held) return busy_after(lock, options, server);
  return {.held = std::move(held)};
}

void report_failed_wait(wait_result const& ended) {
  if (!ended.busy.empty()) output::error(ended.busy);
  if (ended.signal != 0) throw ended_by_signal{ended.signal};
}

}  // namespace holdfast::cli
