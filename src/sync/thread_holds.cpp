#include "sync/thread_holds.hpp"

#include <unordered_map>
#include <utility>

#include "base/fork.hpp"

namespace holdfast::sync {
namespace {

struct hold_note {
  std::weak_ptr<thread_guest> still{};  ///< the lock object may go first
  int generation = 0;  ///< a forked child has copies of its parent's notes, which mean nothing to it
};

/// Outlives `noted_holds`: trivially destructible, so it can be asked until the thread has gone.
thread_local bool over = false;

/// What a thread holds. However much that is, adding and forgetting one takes the same time; and one that is
/// taken and given back over and over allocates nothing.
class hold_notes {
 public:
  hold_notes() = default;
  hold_notes(hold_notes const&) = delete;
  hold_notes& operator=(hold_notes const&) = delete;
  ~hold_notes() {
    over = true;
    for (auto const& [who, one] : all_) {
      if (one.generation != fork_generation()) continue;
      if (auto const still = one.still.lock()) still->thread_ends();
    }
  }

  void add(std::shared_ptr<thread_guest> const& who) {
    if (all_.size() >= tidy_at_) tidy_up();
    hold_note one{who, fork_generation()};
    if (spare_.empty()) {
      all_.insert_or_assign(who.get(), std::move(one));
      return;
    }
    spare_.key() = who.get();
    auto added = all_.insert(std::move(spare_));
    added.position->second = std::move(one);
    spare_ = std::move(added.node);
  }

  void forget(thread_guest const& who) noexcept {
    auto const known = all_.find(&who);
    if (known == all_.end()) return;
    spare_ = all_.extract(known);
    spare_.mapped() = {};
  }

 private:
  using map = std::unordered_map<thread_guest const*, hold_note>;

  /// Lock objects that were destroyed on another thread while this one held them: seldom, but not for ever.
  void tidy_up() {
    std::erase_if(all_, [](auto const& one) { return one.second.still.expired(); });
    tidy_at_ = std::max(few, 2 * all_.size());
  }

  static constexpr std::size_t few = 16;

  map all_{};
  map::node_type spare_{};
  std::size_t tidy_at_ = few;
};

thread_local hold_notes noted_holds;

}  // namespace

bool thread_is_ending() noexcept { return over; }

void note_hold(std::shared_ptr<thread_guest> const& who) {
  if (!over) noted_holds.add(who);
}

void forget_hold(thread_guest const& who) noexcept {
  if (!over) noted_holds.forget(who);
}

}  // namespace holdfast::sync
