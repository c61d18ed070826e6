#include "engine/shared_holders.hpp"

#include <algorithm>

namespace holdfast::engine {

void shared_holders::open(lease_state& first, time_point now) {
  sizes_.emplace(first.number(), 1);
  try {
    leases_.insert(&first);
  } catch (...) {
    sizes_.erase(first.number());
    throw;
  }
  newest_ = {.number = first.number(),
             .token = first.token(),
             .acquired_at = now,
             .deadline = first.deadline(),
             .renew_at = first.renew_at,
             .options = effective_options_ptr{&first.effective()},
             .trace_said = first.trace_said};
}

lease_state_ptr shared_holders::join(lock_queue& queue, effective_options_ptr const& options,
                                     time_point now) {
  auto const known = sizes_.find(newest_.number);
  auto const& wanted = options->options;
  if (known == sizes_.end() || !shareable(wanted) || newest_.trace_said) return {};
  if (options != newest_.options && wanted != newest_.options->options) return {};
  auto const join_time =
      std::min<std::chrono::nanoseconds>(wanted.handoff_time, queue.lock_recipe().join_time);
  if (newest_.joined >= wanted.handoff_limit || now >= newest_.acquired_at + join_time) return {};
  if (newest_.deadline - now < wanted.ttl / 2) return {};
  lease_state_ptr lease{new lease_state{&queue, options, newest_.number, newest_.token}};
  lease->set_deadline(newest_.deadline);
  lease->renew_at = newest_.renew_at;
  leases_.insert(lease.get());
  ++known->second;
  ++newest_.joined;
  return lease;
}

bool shared_holders::leave(lease_state& lease) {
  leases_.erase(&lease);
  auto const known = sizes_.find(lease.number());
  if (known == sizes_.end() || --known->second > 0) return false;
  sizes_.erase(known);
  return true;
}

}  // namespace holdfast::engine
