#include "sync/thread_holds.hpp"

#include <utility>

#include "base/fork.hpp"

namespace holdfast::sync {
namespace {

struct note {
  thread_guest const* who;
  std::weak_ptr<thread_guest> still;  ///< the lock object may go first
  int generation;  ///< a forked child has copies of its parent's notes, which mean nothing to it
};

/// Outlives `mine`: trivially destructible, so it can be asked until the thread has gone.
thread_local bool over = false;

struct notes {
  notes() = default;
  notes(notes const&) = delete;
  notes& operator=(notes const&) = delete;
  ~notes() {
    over = true;
    for (auto const& one : all) {
      if (one.generation != fork_generation()) continue;
      if (auto const still = one.still.lock()) still->thread_ends();
    }
  }

  std::vector<note> all{};
};

thread_local notes mine;

}  // namespace

bool thread_is_ending() noexcept { return over; }

void note_hold(std::shared_ptr<thread_guest> const& who) {
  if (over) return;
  // Lock objects that were destroyed on another thread while this one held them: seldom, but not for ever.
  if (mine.all.size() == mine.all.capacity())
    std::erase_if(mine.all, [](note const& one) { return one.still.expired(); });
  mine.all.push_back({who.get(), who, fork_generation()});
}

void forget_hold(thread_guest const& who) noexcept {
  if (over) return;
  // Locks nest: it is nearly always the last.
  auto const known =
      std::find_if(mine.all.rbegin(), mine.all.rend(), [&who](note const& one) { return one.who == &who; });
  if (known != mine.all.rend()) mine.all.erase(std::next(known).base());
}

}  // namespace holdfast::sync
