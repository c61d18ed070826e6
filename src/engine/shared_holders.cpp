#include "engine/shared_holders.hpp"

namespace holdfast::engine {
namespace {

/// Each lease would have to count for itself what the acquisition may do only so often, or for so long.
bool may_be_shared(lock_options const& options) noexcept {
  return options.watchdog && options.max_renewals == 0 && options.max_hold.count() == 0 && !options.keep &&
         options.replicas == 0 && !options.fsynced;
}

}  // namespace

void shared_holders::open(lease_state& first, time_point now) {
  sizes_.emplace(first.number(), 1);
  try {
    leases_.insert(&first);
  } catch (...) {
    sizes_.erase(first.number());
    throw;
  }
  newest_ = {.number = first.number(),
             .since = now,
             .deadline = first.deadline(),
             .renew_at = first.renew_at,
             .how = effective_options_ptr{&first.effective()}};
}

lease_state_ptr shared_holders::join(lock_queue& at, effective_options_ptr const& how, time_point now) {
  auto const known = sizes_.find(newest_.number);
  auto const& options = how->options;
  if (known == sizes_.end() || !may_be_shared(options)) return {};
  if (how != newest_.how && options != newest_.how->options) return {};
  if (newest_.joined >= options.handoff_limit || now >= newest_.since + options.handoff_time) return {};
  if (newest_.deadline - now < options.ttl / 2) return {};
  lease_state_ptr one{new lease_state{&at, how, newest_.number, 0}};
  one->set_deadline(newest_.deadline);
  one->renew_at = newest_.renew_at;
  leases_.insert(one.get());
  ++known->second;
  ++newest_.joined;
  return one;
}

bool shared_holders::leave(lease_state& one) {
  leases_.erase(&one);
  auto const known = sizes_.find(one.number());
  if (known == sizes_.end() || --known->second > 0) return false;
  sizes_.erase(known);
  return true;
}

}  // namespace holdfast::engine
