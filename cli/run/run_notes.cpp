#include "run/run_notes.hpp"

#include "common/output.hpp"
#include "run/locks.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

/// The longest wait for copies of a note. A disk that is synced each second takes longer than a replica.
constexpr milliseconds wait_for_replicas = 1s;
constexpr milliseconds wait_for_disks = 1500ms;

}  // namespace

run_notes::run_notes(client& redis, std::string_view const url, run_options const& options)
    : options_{options}, record_{redis, url, options.name}, started_{boot_time()} {}

probe::run_copies run_notes::copies() const {
  // Renewals of the lease stand behind the wait, so most of its ttl has to be left.
  auto const within = std::min(options_.ttl / 4, options_.fsynced ? wait_for_disks : wait_for_replicas);
  return {.replicas = options_.replicas, .on_disk = options_.fsynced, .within = std::max(within, 1ms)};
}

bool run_notes::begin(lease const& held, due_run const& due, probe::run_look const& look) {
  run_ = {.who = probe::runner_here(held.owner(), options_.label),
          .began = look.now,
          .counts_until = due.counts_until};
  life_ = record_life(due, look.now);
  try {
    if (record_.note(run_, life_, copies())) return true;
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
    static_cast<void>(record_.note(run_, life_));
  } catch (error const&) {
    // The caller reports what was wrong in the first place.
  }
}

void run_notes::end(lease const& held, int const exit_code, ended const how) {
  run_.took = std::chrono::floor<milliseconds>(boot_time() - started_);
  run_.exit_code = exit_code;
  if (how == ended::not_counted) run_.counts_until.reset();
  try {
    if (run_.who.owner.empty()) {  // --keep notes the end only
      run_.who = probe::runner_here(held.owner(), options_.label);
      run_.began = look().now - *run_.took;
      life_ = std::max<milliseconds>(2 * options_.ttl, 24h);
    }
    if (!record_.note(run_, life_))
      output::info(
          fmt::format("{}: its end is not noted: the lock is not ours any more", title_of(options_)));
  } catch (error const& problem) {
    output::note(fmt::format("{}: its end could not be noted, so others see a run that did not end: {}",
                             title_of(options_), problem.what()));
  }
}

}  // namespace holdfast::cli
