/// How a loop is driven in an event loop of the program, in place of its keeper.
#include <exception>
#include <memory>
#include <mutex>
#include <utility>

#include "base/fork.hpp"
#include "reactor/outer.hpp"
#include "reactor/reactor.hpp"

namespace holdfast {

event_loop::~event_loop() = default;
event_loop::guest::~guest() = default;

}  // namespace holdfast

namespace holdfast::reactor {
namespace {

/// Turns of one visit while each brings more to do: then other handlers of the event loop have theirs.
constexpr int most_turns = 4;

/// The value of blocked_thread::done_ for a thread that wakes to drive. 1: its wait has ended.
constexpr int to_drive = 2;

}  // namespace

/// What the outer event loop knows of the loop, and may know for longer than there is one.
class loop::visits final : public event_loop::guest {
 public:
  explicit visits(loop& of) noexcept : loop_{&of} {}

  void on_readable() noexcept override { visit(&loop::watched_); }
  void on_called() noexcept override { visit(&loop::called_); }

  void on_end() noexcept override {
    if (generation_ != fork_generation()) return;
    lock hold;
    auto* const of = enter(hold);
    if (of == nullptr) return;
    if (of->on_outer_end_ && !of->stopping_) of->on_outer_end_();
    of->run_deferred(hold);
    leave(*of, hold);
  }

  /// No visit begins any more.
  void end() noexcept {
    std::lock_guard const keep{guard_};
    loop_ = nullptr;
  }

 private:
  void visit(bool loop::* due) noexcept {
    if (generation_ != fork_generation()) return;
    lock hold;
    auto* const of = enter(hold);
    if (of == nullptr) return;
    of->*due = false;
    take_turns(*of, hold);
    leave(*of, hold);
  }

  /// The loop stays until leave().
  [[nodiscard]] loop* enter(lock& hold) noexcept {
    std::lock_guard const keep{guard_};
    if (loop_ == nullptr) return nullptr;
    hold = lock{loop_->mutex_};
    ++loop_->visitors_;
    return loop_;
  }

  static void take_turns(loop& of, lock& hold) noexcept {
    if (of.polling_) return;  // whoever drives asks for the next visit
    for (auto turns = 1; !of.stopping_ && !of.polling_ && !of.relief_; ++turns) {
      of.polling_ = true;
      of.driver_ = std::this_thread::get_id();
      of.turn(hold);
      of.let_go();
      // Callbacks may take long.
      if (!of.stopping_ && !std::exchange(of.watched_, true)) of.outer_->watch();
      (void)of.let_sleeper_drive();
      of.run_deferred(hold);
      if (turns == most_turns || (of.writers_.empty() && !of.begun_)) break;
    }
    // A callback that runs the event loop would find one visit after the other.
    if (!of.in_callbacks()) of.ask_for_visit();
  }

  static void leave(loop& of, lock& hold) noexcept {
    --of.visitors_;
    if (of.stopping_) of.keeper_cv_.notify_all();
    of.unlock(hold);  // the loop may be gone from here on
  }

  std::mutex guard_;  ///< taken before the loop's
  loop* loop_;        ///< null: it has ended
  int const generation_ = fork_generation();
};

void loop::join_outer() {
  if (visits_) return;
  auto joining = std::make_shared<visits>(*this);
  outer_->join(descriptor_for_outer(*io_), joining);
  visits_ = std::move(joining);
}

/// Called when this thread doesn't drive, or no longer: sees to it that somebody does if there is something
/// to do, or watches.
void loop::ask_for_visit() noexcept {
  if (polling_ || let_sleeper_drive() || stopping_ || !visits_) return;
  if (called_ || (watched_ && writers_.empty() && !begun_ && deferred_.empty())) return;
  called_ = true;
  outer_->call_soon();
}

/// The event loop may stand still, or its only thread may be one of those that sleep. True: one drives.
bool loop::let_sleeper_drive() noexcept {
  if (sleepers_.empty() || relief_) return relief_;
  auto& next = sleepers_.front();
  sleepers_.pop_front();
  next.asleep_ = false;
  --parked_;
  relief_ = next.relieves_ = true;
  next.done_.store(to_drive, std::memory_order_release);
  futex_wake(&next.done_);  // it needs the lock before its wait can end
  return true;
}

bool loop::end_visits(lock& hold, bool exiting) noexcept {
  if (visits_) {
    unlock(hold);
    visits_->end();
    outer_->leave();
    hold.lock();
  }
  if (in_callbacks()) return false;
  if (!exiting) keeper_cv_.wait(hold, [this] { return visitors_ == 0; });
  return visitors_ == 0;
}

}  // namespace holdfast::reactor
