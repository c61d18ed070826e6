#include "run/supervise.hpp"

#include "common/boot_time.hpp"
#include "common/duration.hpp"
#include "common/exit_codes.hpp"
#include "common/output.hpp"
#include "process/process_table.hpp"
#include "process/terminal.hpp"
#include "run/guarded_command.hpp"
#include "run/locks.hpp"
#include "run/standstill.hpp"

#include <fmt/format.h>

#include <signal.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

/// The interval of looks at a rest of the command that was told to end; there is no event for all of it.
constexpr nanoseconds look_for_rest = 10ms;
constexpr nanoseconds longest_look = 1s;

class supervisor {
 public:
  supervisor(run_options const& options, command_start start, lease& held, signals const& receiver,
             inherited_files const& files)
      : held_{held},
        options_{options},
        receiver_{receiver},
        watch_{options.policy, options.ttl, options.max_hold, boot_time(), held.remaining()},
        command_{{.words = options.command,
                  .start = std::move(start),
                  .policy = options.policy,
                  .grace = watch_.grace(),
                  .latest_end =
                      [this] {
                        standstill_.after_sleep();
                        watch_.note(boot_time(), held_.remaining(), held_.lost_because());
                        return watch_.latest_end();
                      }},
                 receiver,
                 files} {
    standstill_.after_sleep();  // ^Z may stop us before the command is executed
    held_.on_lost([](loss_cause) { signals::wake(); });
  }

  supervision run() {
    while (!end_) {
      auto const next = look_at_lease();
      sleep_until_signal(std::min(next, output::write_kept()));
    }
    bool const still_held = held_.valid();
    if (ended_by_us()) {
      end_rest();
      command_.restore_terminal();
    }
    bool const lost = ended_by_us() || !still_held;
    bool const killed_by_guard_alone = command_.ended_by_guard() && !watch_.killed();  // as we were late
    if (lost && (!loss_reported_ || killed_by_guard_alone)) {
      output::error(fmt::format("{} {}; the command {}", title_of(options_),
                                problem(loss_watch::reason::lost, held_.lost_because()),
                                command_.ended_by_guard() ? "was killed" : "has ended meanwhile"));
      note_what_is_hidden();
    }
    return {.code = end_->code, .signal = end_->signal, .lost = lost};
  }

 private:
  [[nodiscard]] bool ended_by_us() const noexcept { return watch_.acted() || command_.ended_by_guard(); }

  void sleep_until_signal(nanoseconds const at_most) {
    receiver_.wake_in(at_most);
    standstill_.before_sleep(at_most);
    on_signal(receiver_.wait());
    standstill_.after_sleep();
  }

  /// Returns the time until the next look.
  nanoseconds look_at_lease() {
    auto const cause = held_.lost_because();
    auto const decision = watch_.look(boot_time(), held_.remaining(), cause);
    command_.kill_at(watch_.latest_end());
    switch (decision.step) {
      case loss_watch::action::nothing:
        return watch_.killed() ? kill_again() : decision.look_again;
      case loss_watch::action::warn:
        break;
      case loss_watch::action::terminate:
        unkillable_ = command_.terminate().refused;
        break;
      case loss_watch::action::kill:
        unkillable_ = command_.kill().refused;
        break;
    }
    loss_reported_ = true;
    output::error(
        fmt::format("{} {}; {}", title_of(options_), problem(decision.why, cause), done(decision.step)));
    note_what_is_hidden();
    return watch_.killed() ? look_for_rest : decision.look_again;
  }

  /// For what was started meanwhile, and what could not be killed. Returns the time until the next look.
  nanoseconds kill_again() {
    unkillable_ = command_.kill().refused;
    if (unkillable_ != 0 && !held_.valid() && renewed_for_unkillable_) {
      renewed_for_unkillable_ = false;
      output::error(fmt::format("{} lost, and the command works on; another holder may run beside it",
                                title_of(options_)));
    }
    return pause_ = std::min(pause_ * 2, longest_look);
  }

  /// Once, and only of a command that is to end. With hidepid /proc shows processes of other users to root
  /// alone.
  void note_what_is_hidden() {
    if (!ended_by_us() || process_of(1) || std::exchange(hidden_is_noted_, true)) return;
    output::note(
        "processes of other users can't be seen here (/proc is mounted with hidepid): if the command has "
        "started any, they are neither ended nor waited for");
  }

  [[nodiscard]] std::string problem(loss_watch::reason const why, loss_cause const cause) const {
    switch (why) {
      case loss_watch::reason::max_hold:
        return fmt::format("reached --max-hold {}", to_string(options_.max_hold));
      case loss_watch::reason::not_renewed:
        return fmt::format("is about to be lost: {} (ttl {})",
                           standstill_.noticed() ? standstill_.to_string() : "no renewal came through",
                           to_string(options_.ttl));
      case loss_watch::reason::lost:
        if (standstill_.noticed()) return "lost: " + standstill_.to_string();
        if (cause == loss_cause::none) return "lost: no renewal came through";
        return fmt::format("lost: {}", holdfast::to_string(cause));
      case loss_watch::reason::rest:
        return "is held for what the command has left behind";
      case loss_watch::reason::none:
        break;
    }
    return "in doubt";
  }

  [[nodiscard]] std::string done(loss_watch::action const step) {
    auto const refused = fmt::format("process {} of it is another user's", unkillable_);
    switch (step) {
      case loss_watch::action::terminate:
        return unkillable_ == 0 ? "the command was sent SIGTERM"
                                : fmt::format("the command can't be sent SIGTERM ({})", refused);
      case loss_watch::action::kill:
        if (unkillable_ == 0) return "the command was killed";
        renewed_for_unkillable_ = held_.valid();
        return fmt::format(
            "the command can't be killed ({}) and works on{}", refused,
            renewed_for_unkillable_ ? "; the lock is renewed until it ends" : ", without the lock");
      case loss_watch::action::warn:
        return "the command goes on (--on-lost=warn)";
      case loss_watch::action::nothing:
        break;
    }
    return "";
  }

  /// A signal to the whole group, as those of the terminal are, has reached a command in it already.
  void on_signal(int const signal) {
    if (signal == 0) return follow_stop();
    if (signal == SIGCHLD) {
      end_ = command_.poll();
      command_.reap_rest();
      return;
    }
    if (command_.got_too(signal)) {
      signals::forget(signal);
      command_.pass_to_own_group(signal);
    } else {
      command_.pass_on(signal);
      if (signal == SIGTSTP) command_.pass_to_own_group(SIGTSTP);
    }
    if (signal != SIGTSTP) return;
    signals::stop_here();
    command_.pass_to_own_group(SIGCONT);  // also if nobody could have continued us, and we weren't stopped
  }

  /// A command that has stopped itself, and nobody else, would leave its user before a dead terminal: the
  /// whole job stops, so that its shell takes over. Elsewhere the command alone is stopped, and the lock
  /// stays held.
  void follow_stop() {
    if (command_.was_stopped() && in_foreground()) kill(0, SIGTSTP);
  }

  /// Only if the command was told to end. Otherwise its background processes are left alone.
  void end_rest() {
    watch_.command_ended(boot_time());
    for (auto pause = look_for_rest; command_.has_rest(); pause = std::min(pause * 2, longest_look)) {
      auto const next = look_at_lease();
      // There is nothing to wait with if the lock is gone.
      if (watch_.killed() && unkillable_ != 0 && !held_.valid()) return;
      receiver_.wake_in(std::min({next, pause, output::write_kept()}));
      pass_on_to_rest(receiver_.wait());
    }
  }

  void pass_on_to_rest(int const signal) {
    command_.reap_rest();
    if (signal == 0 || signal == SIGCHLD) return;
    if (!command_.got_too(signal)) command_.pass_on(signal);
    if (signal == SIGTSTP) signals::stop_here();
  }

  lease& held_;
  run_options const& options_;
  signals const& receiver_;
  loss_watch watch_;
  standstill standstill_;  // counts from before the command starts
  guarded_command command_;
  std::optional<command_end> end_;
  nanoseconds pause_ = look_for_rest;    // between looks after the kill
  pid_t unkillable_ = 0;                 // a process of the last signal that may not be signalled
  bool renewed_for_unkillable_ = false;  // the lock is renewed though the command was to be killed
  bool hidden_is_noted_ = false;
  bool loss_reported_ = false;  // why the command was told to end
};

}  // namespace

supervision supervise(run_options const& options, command_start start, lease& held, signals const& receiver,
                      inherited_files const& files) {
  return supervisor{options, std::move(start), held, receiver, files}.run();
}

}  // namespace holdfast::cli
