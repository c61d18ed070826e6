#include "simulation/play.hpp"

#include <utility>

#include "script/names.hpp"
#include "script/names_redisson.hpp"
#include "scripts/permits.hpp"
#include "scripts/redisson_semaphore.hpp"
#include "sync/idempotency_marks.hpp"
#include "wire/plain/barrier.hpp"
#include "wire/plain/permits.hpp"

namespace holdfast::simulation {

using namespace std::chrono_literals;

actor::actor(world& shared_world, judge& referee, process& host, habits behaviour)
    : world_{shared_world},
      judge_{referee},
      host_{host},
      habits_{std::move(behaviour)},
      rounds_left_{habits_.rounds} {
  queue_ = host.core().pin(*habits_.wanted.lock->lock_recipe, queue_name(habits_.wanted));
  auto const& lock = *habits_.wanted.lock;
  options_ = host.core().effective(habits_.options, lock.weighted ? lock.permits : lock.parties);
  if (auto const* const then = habits_.wanted.lock->upgraded; then != nullptr) {
    upgraded_ = {then, habits_.wanted.names};
    upgrading_ = host.core().pin(*then->lock_recipe, queue_name(upgraded_));
  }
}

actor::~actor() {
  if (lease_) host_.core().leases().forget(lease_);
  host_.core().unpin(queue_);
  if (upgrading_) host_.core().unpin(upgrading_);
  if (seat_) host_.core().unpin(seat_);
}

void actor::begin() { wait_and_acquire(habits_.first_pause, habits_.first_pause + habits_.longest_pause); }

void actor::wait_and_acquire(nanoseconds least, nanoseconds most) {
  world_.after(world_.between(least, most), [this] { acquire(); });
}

/// As the class has it: a seat is used again only after an arrival that opened its generation.
void actor::take_seat() {
  if (std::exchange(seated_, false)) return;
  host_.core().unpin(queue_);
  auto const& name = habits_.wanted.names.front();
  queue_ = host_.core().pin(
      *habits_.wanted.lock->lock_recipe,
      recipes::plain::seat_name(name, static_cast<std::uint64_t>(host_.new_mark()), "a caller"));
}

void actor::acquire() {
  if (host_.dead()) return;
  std::optional<std::chrono::nanoseconds> wait;
  if (chance(habits_.tries)) {
    wait = nanoseconds{0};
  } else if (chance(habits_.timed)) {
    wait = world_.between(1ms, habits_.longest_wait);
  }
  stop_ = std::stop_source{};
  if (chance(habits_.cancels)) {
    world_.after(world_.between(nanoseconds{0}, habits_.longest_wait),
                 [stop = stop_]() mutable { stop.request_stop(); });
  }
  auto const& lock = *habits_.wanted.lock;
  // Those that come to a barrier may be too few.
  if (lock.is_barrier() && !wait) wait = 20s;
  // Of Redisson's permits with leases the engine gives one, and wants to know how many there should be.
  amount_ = lock.leased() && !lock.weighted ? 1 : 1 + world_.below(habits_.most_permits);
  waiting_ = true;
  since_ = world_.now();
  judge_.on_wait(habits_.wanted, amount_);
  if (lock.is_latch()) judge_.latches().on_wait(habits_.wanted.names.front(), this);
  if (lock.is_barrier()) judge_.barriers().on_wait(habits_.wanted.names.front(), this);
  try {
    if (lock.is_barrier()) take_seat();
    host_.core().locks().async_acquire(
        queue_, options_, wait, stop_.get_token(),
        [this](engine::lease_state_ptr lease, std::shared_ptr<error const> const& failure) {
          on_answer(std::move(lease), failure);
        },
        lock.is_barrier()                                      ? 1
        : lock.leased() && lock.permits != 0 && !lock.weighted ? lock.permits
                                                               : amount_);
  } catch (error const&) {  // the client has been shut down
    waiting_ = false;
    judge_.on_answer(habits_.wanted, amount_);
    judge_.latches().on_answer(this);
    judge_.barriers().on_answer(this);
    rounds_left_ = 0;
  }
}

void actor::on_answer(engine::lease_state_ptr lease, std::shared_ptr<error const> const& failure) {
  world_.trace([&] {
    return "caller of " + host_.core().constants().uuid +
           (lease ? " has it as " + std::to_string(lease->number())
                  : std::string{" goes without: "} + (failure ? failure->what() : "busy"));
  });
  if (!std::exchange(waiting_, false)) judge_.fail("a caller was answered twice");
  judge_.on_answer(habits_.wanted, amount_);
  if (lease && habits_.wanted.lock->is_latch()) judge_.latches().on_passed(this);
  judge_.latches().on_answer(this);
  auto const& lock = *habits_.wanted.lock;
  if (lease && lock.is_barrier())
    judge_.barriers().on_passed(habits_.wanted.names.front(), lease->token(), lock.parties);
  judge_.barriers().on_answer(this);
  if (host_.exiting()) {
    if (lease) judge_.fail("a process that ends has given a lock to one of its threads");
    return;
  }
  if (failure && failure->code() == errc::closed) {
    rounds_left_ = 0;
    return;
  }
  if (!lease) {
    if (!failure && !stop_.stop_requested() && queue_->waiters.empty())
      judge_.on_left(habits_.wanted, host_.core().constants().uuid, since_);
    next();
    return;
  }
  ++leases_;
  if (lock.is_latch() || lock.is_barrier()) {
    seated_ = lock.is_barrier();
    host_.core().leases().forget(lease);
    next();
    return;
  }
  holding_ = true;
  if (habits_.wanted.lock->leased()) {
    lease_ = std::move(lease);
    judge_.on_granted(habits_.wanted, lease_, host_.core().constants().owner_id(lease_->number()), since_,
                      amount_);
  } else {
    taker_ = lease->number();
    host_.core().leases().forget(lease);
    judge_.on_taken(habits_.wanted, amount_);
  }
  world_.after(world_.between(nanoseconds{0}, habits_.longest_hold), [this] {
    if (upgrading_ && !world_.once_in(4)) {
      upgrade();
    } else if (habits_.wanted.lock->has_condition && !world_.once_in(4)) {
      use_condition();
    } else {
      give_back();
    }
  });
}

/// As the class does: the wait ends with the lease, too.
void actor::upgrade() {
  if (host_.dead()) return;
  std::optional<std::chrono::nanoseconds> wait;
  if (chance(habits_.tries)) {
    wait = nanoseconds{0};
  } else if (chance(habits_.timed)) {
    wait = world_.between(1ms, habits_.longest_wait);
  }
  stop_ = std::stop_source{};
  if (chance(habits_.cancels)) {
    world_.after(world_.between(nanoseconds{0}, habits_.longest_wait),
                 [stop = stop_]() mutable { stop.request_stop(); });
  }
  host_.core().leases().on_lost(*lease_, [stop = stop_](loss_cause) mutable { stop.request_stop(); });
  waiting_ = true;
  judge_.on_wait(upgraded_, 1);
  try {
    host_.core().locks().async_acquire(
        upgrading_, options_, wait, stop_.get_token(),
        [this](engine::lease_state_ptr writer, std::shared_ptr<error const> const& failure) {
          on_upgraded(std::move(writer), failure);
        },
        engine::lock_calls::particulars{.in_place_of = lease_->number(),
                                        .on_granted = [this](engine::lease_state& writer) {
                                          host_.core().leases().take_place(*lease_, writer, world_.now());
                                        }});
  } catch (error const&) {  // the client has been shut down
    waiting_ = false;
    judge_.on_answer(upgraded_, 1);
    give_back();
  }
}

void actor::on_upgraded(engine::lease_state_ptr writer, std::shared_ptr<error const> const& failure) {
  auto const owner = host_.core().constants().owner_id(lease_->number());
  world_.trace([&] {
    return owner + (writer ? " is upgraded to " + std::to_string(writer->number())
                           : std::string{" isn't upgraded: "} + (failure ? failure->what() : "busy"));
  });
  if (!std::exchange(waiting_, false)) judge_.fail("an upgrade was answered twice");
  judge_.on_answer(upgraded_, 1);
  if (host_.exiting()) {
    if (writer) judge_.fail("a process that ends has given a lock to one of its threads");
    return;
  }
  if (failure && failure->code() == errc::lost) host_.core().leases().note_lost(*lease_);
  if (writer) {
    judge_.on_release(lease_, owner);
    try {
      lease_ = host_.core().leases().replace(lease_, std::move(writer));
    } catch (error const&) {  // it was lost meanwhile
      holding_ = false;
      next();
      return;
    }
    judge_.on_granted(upgraded_, lease_, host_.core().constants().owner_id(lease_->number()), world_.now(),
                      amount_);
  }
  world_.after(world_.between(nanoseconds{0}, habits_.longest_hold), [this] { give_back(); });
}

void actor::give_back() {
  if (host_.dead()) return;
  if (!lease_) {
    judge_.on_given_back(habits_.wanted.names.front(), amount_);
    mark_ = host_.new_mark();
    giving_back_ = true;
    host_.when_undisturbed([this] { give_back_permits(); });
    return;
  }
  if (chance(habits_.keeps)) {
    host_.when_undisturbed([this] { keep(); });
    return;
  }
  judge_.on_release(lease_, host_.core().constants().owner_id(lease_->number()));
  world_.trace([&] { return "gives back " + host_.core().constants().owner_id(lease_->number()); });
  holding_ = false;
  releasing_ = true;
  host_.core().leases().async_release(lease_, [this](release_result) {
    if (!std::exchange(releasing_, false)) judge_.fail("a release was answered twice");
    if (!host_.dead()) next();
  });
}

/// All tries have one mark, since one that was refused may have been sent twice.
call actor::giving_back() const {
  auto const& name = habits_.wanted.names.front();
  auto const& client = host_.core().constants().uuid;
  auto const publish = engine::word_of(engine::publishing::counted);
  auto const request = client + ":r" + std::to_string(mark_);
  if (habits_.wanted.lock->of_redisson()) {
    auto const mark = names::redisson::done(name, request);
    auto const channel = names::redisson::semaphore_channel(name);
    return scripts::redisson_semaphore::add{.counter = {name},
                                            .done = {mark},
                                            .answered = {},
                                            .permits = amount_,
                                            .publish = publish,
                                            .channel = channel,
                                            .done_ms = sync::idempotency_marks::kept_ms}();
  }
  recipes::plain::permit_keys const keys{name};
  auto const mark = names::done_prefix(name) + request;
  auto const taker = host_.core().constants().owner_id(taker_).append(names::lasting_suffix);
  return scripts::permits::give_back{.lock = keys.lock,
                                     .counter = keys.counter,
                                     .queue = keys.queue,
                                     .size = keys.size,
                                     .done = {mark},
                                     .answered = {},
                                     .number = amount_,
                                     .client = client,
                                     .offered = options_->size,
                                     .grant_ms = engine::grant_ttl.count(),
                                     .publish = publish,
                                     .done_ms = sync::idempotency_marks::kept_ms,
                                     .takers = {taker}}();
}

/// Until the server has done it.
void actor::give_back_permits() {
  if (host_.dead()) return;
  auto refused = false;
  try {
    refused = host_.core()
                  .requests()
                  .ask(giving_back(), {.while_down = net::retry_policy::steady})
                  .reply.is_error();
  } catch (error const&) {  // the client has been shut down
    judge_.on_wasted(giving_back());
  }
  if (refused) {
    world_.after(20ms, [this] { host_.when_undisturbed([this] { give_back_permits(); }); });
    return;
  }
  holding_ = false;
  giving_back_ = false;
  next();
}

/// Keeps the key for a random time, or for the rest of its ttl: a full ttl if the lease is provisional.
void actor::keep() {
  if (host_.dead()) return;
  judge_.on_release(lease_, host_.core().constants().owner_id(lease_->number()));
  auto const owner = host_.core().constants().owner_id(lease_->number());
  world_.trace([&] { return "keeps " + owner; });
  auto const& kept = upgrading_ && &lease_->queue() == upgrading_.get() ? upgraded_ : habits_.wanted;
  std::optional<std::chrono::milliseconds> time;
  auto until = lease_->provisional ? world_.now() + habits_.options.ttl : lease_->deadline();
  if (!world_.once_in(4)) {
    time = std::chrono::duration_cast<std::chrono::milliseconds>(
        world_.between(habits_.longest_keep / 4, habits_.longest_keep));
    until = world_.now() + *time;
  } else {
    judge_.excuse(owner);
  }
  // The key of several readers stays for the longest ttl that it ever had, though their holds are over.
  if (habits_.wanted.lock->beside == kind::company::readers && habits_.wanted.lock->of_redisson())
    judge_.excuse(owner);
  if (host_.core().leases().keep(lease_, time) == release_result::kept) {
    judge_.on_kept(kept, owner, until);
    // The request that set this ttl may have come when the confirmation was sent.
    if (time) judge_.excuse(owner, world_.now() + *time + std::chrono::milliseconds{1});
  } else {
    judge_.excuse(owner);  // without a confirmation the key may keep its old ttl
  }
  holding_ = false;
  next();
}

void actor::next() {
  if (rounds_left_ > 0 && --rounds_left_ > 0) wait_and_acquire(nanoseconds{0}, habits_.longest_pause);
}

/// The engine has left a caller that waits without an answer, and still has it.
void actor::bury() {
  if (!host_.dead()) return;
  if (lease_) {
    judge_.on_release(lease_, host_.core().constants().owner_id(lease_->number()));
    judge_.conditions().on_end(this, condition_judge::end::other);
    host_.core().leases().forget(lease_);
  } else if (std::exchange(holding_, false)) {
    // What it has begun to give back comes back by the same mark: its own request may have been carried out.
    if (!std::exchange(giving_back_, true)) {
      judge_.on_given_back(habits_.wanted.names.front(), amount_);
      mark_ = host_.new_mark();
    }
    judge_.on_wasted(giving_back());
  }
  stop_.request_stop();
}

}  // namespace holdfast::simulation
