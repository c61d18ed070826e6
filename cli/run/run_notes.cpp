#include "run/run_notes.hpp"

#include "common/boot_time.hpp"
#include "common/duration.hpp"
#include "common/output.hpp"
#include "run/locks.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

/// The longest wait for replicas and the disk to have a note. A disk that is synced each second takes longer
/// than a replica.
constexpr milliseconds wait_for_replicas = 1s;
constexpr milliseconds wait_for_disks = 1500ms;
/// Between two tries to note an end.
constexpr milliseconds end_pause = 200ms;

/// Whether a later try may succeed.
bool may_pass(error const& problem) {
  return problem.code() == errc::unreachable || problem.code() == errc::refused;
}

/// False: a signal tells the program to end.
bool pause(signals const& receiver) {
  auto const end = boot_time() + end_pause;
  for (auto left = std::chrono::nanoseconds{end_pause}; left > 0ns; left = end - boot_time()) {
    receiver.wake_in(left);
    if (signals::is_ending(receiver.wait())) return false;
  }
  return true;
}

}  // namespace

run_notes::run_notes(client& redis, std::string_view const url, run_options const& options)
    : options_{options}, record_{redis, url, options.name}, started_{boot_time()} {}

probe::run_durability run_notes::durability() const {
  // Renewals of the lease stand behind the wait, so most of its ttl has to be left.
  auto const within = std::min(options_.ttl / 4, options_.fsynced ? wait_for_disks : wait_for_replicas);
  return {.replicas = options_.replicas, .on_disk = options_.fsynced, .within = std::max(within, 1ms)};
}

bool run_notes::begin(lease const& held, due_run const& due, probe::run_look const& look) {
  run_ = {.process = probe::runner_here(held.owner(), options_.label),
          .token = held.token(),
          .began = look.now,
          .counts_until = due.counts_until};
  life_ = record_life(due, look.now);
  try {
    if (record_.note(run_, life_, durability())) return true;
  } catch (error const&) {
    take_back();
    throw;
  }
  take_back();  // some of several masters may have it
  return false;
}

void run_notes::take_back() {
  run_.counts_until.reset();
  try {
    if (!record_.note(run_, life_)) static_cast<void>(record_.forget(run_.process.owner));
  } catch (error const&) {
    // The caller reports what was wrong in the first place.
  }
}

bool run_notes::note_end(lease const& held) {
  if (run_.process.owner.empty()) {  // --keep notes the end only
    run_.began = look().now - *run_.took;
    run_.process = probe::runner_here(held.owner(), options_.label);
    run_.token = held.token();
    life_ = std::max<milliseconds>(2 * options_.ttl, 24h);
  }
  return record_.note(run_, life_);
}

void run_notes::end(lease const& held, int const exit_code, ended const outcome, signals const& receiver) {
  run_.took = std::chrono::floor<milliseconds>(boot_time() - started_);
  run_.exit_code = exit_code;
  if (outcome == ended::not_counted) run_.counts_until.reset();
  auto const name = title_of(options_);
  auto const give_up = boot_time() + options_.ttl;
  bool unanswered = false;  // a copy of the note, which may have been carried out
  for (bool first = true;; first = false) {
    try {
      if (note_end(held)) return;
      if (outcome == ended::not_counted && record_.forget(run_.process.owner)) return;
      if (unanswered) {
        output::note(fmt::format("{}: its end may not have been noted: the lock is not ours any more", name));
      } else {
        output::info(fmt::format("{}: its end is not noted: the lock is not ours any more", name));
      }
      return;
    } catch (error const& problem) {
      unanswered = unanswered || problem.code() == errc::unreachable;
      // While the lease is valid nobody else runs, so there is time for a server that is busy or restarts.
      if (may_pass(problem) && held.valid() && boot_time() < give_up) {
        if (first) {
          output::note(
              fmt::format("{}: its end is not noted yet, and holdfast tries again for at most {}: {}", name,
                          to_string(options_.ttl), problem.what()));
        }
        if (pause(receiver)) continue;
      }
      output::note(fmt::format("{}: its end {}: {}", name,
                               unanswered
                                   ? "may not have been noted, so others may see a run that did not end"
                                   : "could not be noted, so others see a run that did not end",
                               problem.what()));
      return;
    }
  }
}

}  // namespace holdfast::cli
