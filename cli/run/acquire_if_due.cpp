#include "run/acquire_if_due.hpp"

#include "common/boot_time.hpp"
#include "common/exit_codes.hpp"
#include "common/output.hpp"
#include "process/end_by_signal.hpp"
#include "run/pause.hpp"
#include "show/run_text.hpp"

#include <fmt/format.h>

#include <string.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

wait_result skipped(run_options const& options, std::string const& reason) {
  output::note(output::quoted(options.name) + " " + reason);
  return {.held = {}, .code = ok};
}

/// "ran 58 min ago on web-3 (0 s, exit 0); next in 2 min"
std::string why_not_due(due_run const& due, probe::run_look const& look) {
  auto const lock = look.held_by_runner ? run_text::lock_is::held : run_text::lock_is::gone;
  return fmt::format("{}; next in {}", run_text::story(*look.last, lock, look.now),
                     run_text::until(due.next - look.now));
}

std::string why_busy(run_limit const& limit, probe::run_look const& look, std::string const& busy) {
  if (!look.held_by_runner) return "is left out: " + busy;
  auto const due = when_due(limit, look);
  if (due.is != due_run::verdict::due) return why_not_due(due, look);
  return fmt::format("{}, since before this {}: it is not started a second time (--wait waits for its end)",
                     run_text::story(*look.last, run_text::lock_is::held, look.now),
                     limit.slots ? "slot" : "period");
}

/// One call of acquire_if_due().
class due_acquisition {
 public:
  due_acquisition(run_lock& lock, run_notes& notes, run_options const& options, signals const& receiver,
                  std::string const& server)
      : lock_{lock},
        notes_{notes},
        options_{options},
        receiver_{receiver},
        server_{server},
        wait_end_{boot_time() + options.wait.value_or(0ms)} {}

  wait_result run() {
    for (;;) {
      auto const look = look_without_lock();
      auto const due = when_due(*options_.limit, look);
      bool const asks_for_lock = due.is == due_run::verdict::due || may_fail_and_be_retried(due);
      if (auto result = asks_for_lock ? acquire_now() : not_due(due, look)) return std::move(*result);
    }
  }

 private:
  /// A signal that ends the program may do so at once: there is nothing to leave behind in Redis.
  [[nodiscard]] probe::run_look look_without_lock() {
    endable_by_signals const nothing_to_leave_behind;
    return notes_.look();
  }

  /// Nullopt: the pause until the job is due is over. So after each look that finds the job done comes the
  /// end, or a pause.
  std::optional<wait_result> not_due(due_run const& due, probe::run_look const& look) {
    auto const wake_at = boot_time() + (due.next - look.now);
    if (options_.limit->slots || wake_at > wait_end_) return skipped(options_, why_not_due(due, look));
    output::info(
        fmt::format("{} {}: waiting until it is due", output::quoted(options_.name), why_not_due(due, look)));
    if (int const signal = sleep_until(wake_at, receiver_); signal != 0) return interrupted(signal);
    return std::nullopt;
  }

  /// The job runs, and this call waits for its end, to learn whether it has to be run again.
  [[nodiscard]] bool may_fail_and_be_retried(due_run const& due) const {
    return due.is == due_run::verdict::running && wait_end_ > boot_time() &&
           options_.limit->a_failed_run == run_limit::failed::is_retried;
  }

  /// Nullopt: another process has run the job since the look, and the pause after that is over.
  std::optional<wait_result> acquire_now() {
    auto attempt = options_;
    auto const remaining = std::chrono::floor<milliseconds>(wait_end_ - boot_time());
    attempt.wait = std::max(remaining, 0ms);
    auto granted = wait_for_lock(lock_, attempt, receiver_, server_);
    if (!granted.busy.empty())
      return skipped(options_, why_busy(*options_.limit, look_without_lock(), granted.busy));
    if (!granted.held) return granted;
    auto const look = notes_.look();
    auto const due = when_due(*options_.limit, look);
    if (due.is != due_run::verdict::due) {
      static_cast<void>(granted.held->release());
      return not_due(due, look);
    }
    if (notes_.begin(*granted.held, due, look)) return granted;
    throw failure{lost, fmt::format("{} was lost before the command was started; it was not started",
                                    title_of(options_))};
  }

  [[nodiscard]] wait_result interrupted(int const signal) const {
    output::info(fmt::format("{}: gave up waiting after {}", title_of(options_), ::sigabbrev_np(signal)));
    return {.held = {}, .signal = signal};
  }

  run_lock& lock_;
  run_notes& notes_;
  run_options const& options_;
  signals const& receiver_;
  std::string const& server_;
  nanoseconds const wait_end_;
};

}  // namespace

wait_result acquire_if_due(run_lock& lock, run_notes& notes, run_options const& options,
                           signals const& receiver, std::string const& server) {
  return due_acquisition{lock, notes, options, receiver, server}.run();
}

}  // namespace holdfast::cli
