#include "run/supervise.hpp"

#include "common/boot_time.hpp"
#include "common/duration.hpp"
#include "common/exit_codes.hpp"
#include "common/output.hpp"
#include "run/guard.hpp"
#include "run/locks.hpp"

#include <fmt/format.h>

#include <signal.h>

#include <algorithm>
#include <optional>
#include <string>

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

/// The interval of checks whether the rest of a group has ended; there is no event for it.
constexpr auto look_for_rest = 10ms;

class supervisor {
 public:
  supervisor(child& command, lease& held, run_options const& options, signals const& receiver,
             terminal const& tty)
      : command_{command},
        held_{held},
        options_{options},
        receiver_{receiver},
        tty_{tty},
        watch_{options.policy, options.ttl, options.max_hold, boot_time(), held.remaining()} {
    guard_.emplace(command_.group(), options_.policy, watch_.grace(), watch_.latest_end());
    held_.on_lost([](loss_cause) { signals::wake(); });
    command_.start(tty_);
  }

  supervision run() {
    while (!end_) {
      auto next = look_at_lease();
      if (resume_) resume();
      receiver_.wake_in(next);
      on_signal(receiver_.wait());
    }
    bool const still_ours = held_.valid();
    guard_.reset();
    tty_.take_from(command_.group());
    end_rest_of_group();
    bool const killed = end_->change == child_state::kind::killed;
    return {.code = killed ? by_signal + end_->number : end_->number,
            // A command that exited by itself after SIGTERM, under a valid lease, has done its work under the
            // lock.
            .lost = !still_ours || watch_.killed() || (watch_.acted() && killed)};
  }

 private:
  /// Acts before it prints, since printing may block.
  nanoseconds look_at_lease() {
    auto const cause = held_.lost_because();
    auto const decision = watch_.look(boot_time(), held_.remaining(), cause);
    if (guard_) guard_->kill_at(watch_.latest_end());
    switch (decision.step) {
      case loss_watch::action::nothing:
        return decision.look_again;
      case loss_watch::action::warn:
        break;
      case loss_watch::action::terminate:
        command_.signal(SIGTERM);
        command_.signal(SIGCONT);  // for a stopped command
        break;
      case loss_watch::action::kill:
        command_.signal(SIGKILL);
        break;
    }
    say(decision, cause);
    return decision.look_again;
  }

  void say(loss_watch::decision const& decision, loss_cause const cause) const {
    auto const problem = [&]() -> std::string {
      switch (decision.why) {
        case loss_watch::reason::max_hold:
          return fmt::format("reached --max-hold {}", to_string(options_.max_hold));
        case loss_watch::reason::not_renewed:
          return fmt::format("is about to be lost: no renewal came through (ttl {})",
                             to_string(options_.ttl));
        case loss_watch::reason::lost:
          return fmt::format("lost: {}", holdfast::to_string(cause));
        case loss_watch::reason::none:
          break;
      }
      return "in doubt";
    }();
    auto const done = [&] {
      switch (decision.step) {
        case loss_watch::action::terminate:
          return "the command was sent SIGTERM";
        case loss_watch::action::kill:
          return "the command was killed";
        case loss_watch::action::warn:
          return "the command goes on (--on-lost=warn)";
        case loss_watch::action::nothing:
          break;
      }
      return "";
    }();
    output::error(fmt::format("{} {}; {}", title_of(options_), problem, done));
  }

  void on_signal(int const signal) {
    if (signal == SIGCHLD) return on_child();
    if (signal == SIGCONT) {
      resume_ = true;
    } else if (signals::is_passed_on(signal)) {
      command_.signal(signal);
    }
  }

  void on_child() {
    while (auto const state = command_.poll()) {
      if (state->change != child_state::kind::stopped) {
        end_ = state;
        return;
      }
      // After a stop from the terminal, holdfast stops too, so that the shell sees a stopped job. A SIGSTOP
      // from elsewhere freezes the command only, and the lock stays held.
      if (tty_.present() || state->number != SIGSTOP) {
        tty_.take_from(command_.group());
        receiver_.stop_here();
        resume_ = true;
      }
    }
  }

  /// Follows the check of the lease: a command whose lock was lost meanwhile must not run another
  /// instruction.
  void resume() {
    resume_ = false;
    if (watch_.killed()) return;
    tty_.give_to(command_.group());
    command_.signal(SIGCONT);
  }

  /// Only if the command was told to end. Otherwise its background processes are left alone.
  void end_rest_of_group() {
    if (!watch_.acted()) return;
    while (command_.group_exists()) {
      auto const next = look_at_lease();
      if (watch_.killed()) {
        command_.signal(SIGKILL);
        return;
      }
      receiver_.wake_in(std::min<nanoseconds>(next, look_for_rest));
      static_cast<void>(receiver_.wait());
    }
  }

  child& command_;
  lease& held_;
  run_options const& options_;
  signals const& receiver_;
  terminal const& tty_;
  loss_watch watch_;
  std::optional<guard> guard_;
  std::optional<child_state> end_;
  bool resume_ = false;
};

}  // namespace

supervision supervise(child& command, lease& held, run_options const& options, signals const& receiver,
                      terminal const& tty) {
  return supervisor{command, held, options, receiver, tty}.run();
}

}  // namespace holdfast::cli
