#include "simulation/replication.hpp"

#include <algorithm>
#include <utility>

#include "resp/make_reply.hpp"

namespace holdfast::simulation {

void replication::on_write() {
  ++offset_;
  for (auto& replica : replicas_) follow(replica);
  follow(disk_);
}

/// In order, so that a later write never arrives before an earlier one.
void replication::follow(copy& follower) {
  auto const& behaviour = follower.behaviour;
  if (behaviour.absences != 0 && world_.once_in(behaviour.absences))
    follower.next =
        std::max(follower.next, world_.now() + world_.between(nanoseconds{0}, behaviour.longest_absence));
  follower.next = std::max(follower.next, world_.now() + world_.between(behaviour.least, behaviour.most));
  world_.at(follower.next, [this, &follower, offset = offset_] {
    follower.has = std::max(follower.has, offset);
    serve();
  });
}

int replication::replicas_at(std::uint64_t offset) const noexcept {
  return static_cast<int>(
      std::ranges::count_if(replicas_, [offset](copy const& replica) { return replica.has >= offset; }));
}

bool replication::fulfilled(wish const& request) const noexcept {
  return replicas_at(request.offset) >= request.replicas && (!request.disk || on_disk_at(request.offset));
}

void replication::wait(wish request) {
  if (!fulfilled(request)) world_.at(request.end, [this] { serve(); });
  wishes_.push_back(std::move(request));
  world_.at(world_.now(), [this] { serve(); });
}

/// A reply may set off another WAIT.
void replication::serve() {
  auto const due = [this](wish const& request) { return fulfilled(request) || request.end <= world_.now(); };
  for (auto next = std::ranges::find_if(wishes_, due); next != wishes_.end();
       next = std::ranges::find_if(wishes_, due)) {
    auto const request = std::move(*next);
    wishes_.erase(next);
    auto const replicas = resp::make_integer(replicas_at(request.offset));
    auto const disk = resp::make_integer(on_disk_at(request.offset) ? 1 : 0);
    request.done(request.disk ? resp::make_array({disk, replicas}) : replicas);
  }
}

}  // namespace holdfast::simulation
