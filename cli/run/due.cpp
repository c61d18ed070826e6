#include "run/due.hpp"

#include <algorithm>

namespace holdfast::cli {

due_run when_due(run_limit const& limit, probe::run_look const& look) {
  auto const slot =
      limit.slots ? slot_for(*limit.slots, look.now) : time_slot{look.now, look.now + limit.period};
  due_run decision{.is = due_run::verdict::due, .counts_until = slot.end, .next = look.now};
  // The runner has said until when its run counts, so callers with another limit are kept out, too.
  if (!look.last || !look.last->counts_until || *look.last->counts_until <= slot.begin) return decision;
  auto const& last = *look.last;
  bool const running = !last.finished() && look.held_by_runner;
  bool const failed = !running && last.exit_code != 0;
  if (failed && limit.a_failed_run == run_limit::failed::is_retried) return decision;
  decision.is = running ? due_run::verdict::running : due_run::verdict::done;
  decision.next = limit.slots ? std::max(*last.counts_until, slot.end) : *last.counts_until;
  return decision;
}

std::chrono::milliseconds record_life(due_run const& due, instant const now) {
  auto const counts = std::chrono::ceil<std::chrono::milliseconds>(due.counts_until - now);
  return 2 * counts + std::chrono::days{1};
}

}  // namespace holdfast::cli
