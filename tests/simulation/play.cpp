#include "simulation/play.hpp"

#include <optional>
#include <utility>

#include "net/deployment_url.hpp"

namespace holdfast::simulation {

process::process(world& shared_world, server& redis, network const& conditions, client_options options)
    : world_{shared_world},
      core_{std::make_shared<engine::core>(
          net::parse_deployment_url("redis://simulated"), std::move(options),
          [&](reactor::loop& loop, net::deployment_url const&, net::settings const& config, client_stats&,
              topology::events handlers) {
            return std::make_unique<deployment>(loop, shared_world, redis, conditions, config,
                                                std::move(handlers));
          })} {}

void process::end() {
  if (std::exchange(ended_, true)) return;
  world_.trace([this] { return "ends: " + core_->uuid(); });
  (void)core_->shut();
}

actor::actor(world& shared_world, judge& referee, process& host, habits behaviour)
    : world_{shared_world},
      judge_{referee},
      process_{host},
      habits_{std::move(behaviour)},
      rounds_left_{habits_.rounds} {
  queue_ = host.core().pin(*habits_.protocol, habits_.name);
  options_ = host.core().share(habits_.options);
}

actor::~actor() {
  if (lease_) process_.core().leases().forget(lease_);
  process_.core().unpin(queue_);
}

void actor::begin() {
  world_.after(world_.between(nanoseconds{0}, habits_.longest_pause), [this] { acquire(); });
}

void actor::acquire() {
  std::optional<std::chrono::nanoseconds> wait;
  if (chance(habits_.tries)) {
    wait = nanoseconds{0};
  } else if (chance(habits_.timed)) {
    wait = world_.between(std::chrono::milliseconds{1}, habits_.longest_wait);
  }
  stop_ = std::stop_source{};
  if (chance(habits_.cancels)) {
    world_.after(world_.between(nanoseconds{0}, habits_.longest_wait),
                 [stop = stop_]() mutable { stop.request_stop(); });
  }
  waiting_ = true;
  judge_.on_wait(habits_.name);
  try {
    process_.core().locks().async_acquire(
        queue_, options_, wait, stop_.get_token(),
        [this](engine::lease_state_ptr lease, std::shared_ptr<error const> const& failure) {
          on_answer(std::move(lease), failure);
        });
  } catch (error const&) {  // the client has been shut down
    waiting_ = false;
    judge_.on_answer(habits_.name);
    rounds_left_ = 0;
  }
}

void actor::on_answer(engine::lease_state_ptr lease, std::shared_ptr<error const> const& failure) {
  world_.trace([&] {
    return "caller of " + process_.core().uuid() +
           (lease ? " has it as " + std::to_string(lease->number())
                  : std::string{" goes without: "} + (failure ? failure->what() : "busy"));
  });
  if (!std::exchange(waiting_, false)) judge_.fail("a caller was answered twice");
  judge_.on_answer(habits_.name);
  if (failure && failure->code() == errc::closed) {
    rounds_left_ = 0;
    return;
  }
  if (!lease) {
    next();
    return;
  }
  ++leases_;
  lease_ = std::move(lease);
  judge_.on_granted(habits_.name, lease_, process_.core().owner_id(lease_->number()));
  world_.after(world_.between(nanoseconds{0}, habits_.longest_hold), [this] { give_back(); });
}

void actor::give_back() {
  judge_.on_release(lease_);
  world_.trace([&] { return "gives back " + process_.core().owner_id(lease_->number()); });
  if (chance(habits_.keeps)) {
    keep();
    next();
    return;
  }
  releasing_ = true;
  process_.core().leases().async_release(lease_, [this](release_result) {
    if (!std::exchange(releasing_, false)) judge_.fail("a release was answered twice");
    next();
  });
}

/// Keeps the key for a random time, or for the rest of its ttl: a full ttl if the lease is provisional.
void actor::keep() {
  auto const owner = process_.core().owner_id(lease_->number());
  std::optional<std::chrono::milliseconds> time;
  auto until = lease_->provisional ? world_.now() + habits_.options.ttl : lease_->deadline();
  if (!world_.once_in(4)) {
    time = std::chrono::duration_cast<std::chrono::milliseconds>(
        world_.between(habits_.longest_pause, habits_.longest_hold));
    until = world_.now() + *time;
  } else {
    judge_.excuse(owner);
  }
  if (process_.core().leases().keep(lease_, time) == release_result::kept) {
    judge_.on_kept(habits_.name, owner, until);
  } else {
    judge_.excuse(owner);  // without a confirmation the key may keep its old ttl
  }
}

void actor::next() {
  if (rounds_left_ > 0 && --rounds_left_ > 0) begin();
}

}  // namespace holdfast::simulation
