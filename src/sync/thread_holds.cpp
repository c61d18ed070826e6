#include "sync/thread_holds.hpp"

#include <unordered_map>
#include <utility>

#include "base/fork.hpp"

namespace holdfast::sync {
namespace {

struct hold_note {
  std::weak_ptr<thread_end> guest{};  ///< the lock object may be destroyed first
  int generation = 0;                 ///< a forked child ignores its copies of the parent's notes
};

/// Outlives `noted_holds`: trivially destructible, so readable until the thread has gone.
thread_local bool thread_over = false;

/// The holds of a thread. Adding or forgetting a hold takes the same time, however many there are. Locking
/// and unlocking the same object repeatedly allocates nothing.
class hold_notes {
 public:
  hold_notes() = default;
  hold_notes(hold_notes const&) = delete;
  hold_notes& operator=(hold_notes const&) = delete;
  ~hold_notes() {
    thread_over = true;
    for (auto const& [key, note] : all_) {
      if (note.generation != fork_generation()) continue;
      if (auto const guest = note.guest.lock()) guest->thread_ends();
    }
  }

  void add(std::shared_ptr<thread_end> const& guest) {
    if (all_.size() >= tidy_at_) tidy_up();
    hold_note note{guest, fork_generation()};
    if (spare_.empty()) {
      all_.insert_or_assign(guest.get(), std::move(note));
      return;
    }
    spare_.key() = guest.get();
    auto added = all_.insert(std::move(spare_));
    added.position->second = std::move(note);
    spare_ = std::move(added.node);
  }

  void forget(thread_end const& guest) noexcept {
    auto const known = all_.find(&guest);
    if (known == all_.end()) return;
    spare_ = all_.extract(known);
    spare_.mapped() = {};
  }

 private:
  using map = std::unordered_map<thread_end const*, hold_note>;

  /// Removes lock objects that another thread destroyed while this thread held them. Runs seldom.
  void tidy_up() {
    std::erase_if(all_, [](auto const& entry) { return entry.second.guest.expired(); });
    tidy_at_ = std::max(few, 2 * all_.size());
  }

  static constexpr std::size_t few = 16;

  map all_{};
  map::node_type spare_{};
  std::size_t tidy_at_ = few;
};

thread_local hold_notes noted_holds;

}  // namespace

bool thread_is_ending() noexcept { return thread_over; }

void note_hold(std::shared_ptr<thread_end> const& guest) {
  if (!thread_over) noted_holds.add(guest);
}

void forget_hold(thread_end const& guest) noexcept {
  if (!thread_over) noted_holds.forget(guest);
}

}  // namespace holdfast::sync
