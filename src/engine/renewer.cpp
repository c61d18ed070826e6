#include "engine/renewer.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "base/ids.hpp"
#include "engine/client_constants.hpp"
#include "engine/failure.hpp"

namespace holdfast::engine {
namespace {

/// Tries after an error, as a part of the time between renewals: several fit into the rest of the lease.
constexpr int retries_per_interval = 8;

/// Marked leases that are asked about at a time: 16 commands, some 10 ms of the server's time and less of
/// ours.
constexpr std::size_t marked_per_step = 4096;
/// How long a step waits for its responses: one of them may take a failover, while other nodes answer.
constexpr std::chrono::seconds longest_step{1};
/// Renewals within a ttl to which other holders have cut the key: it has to last until the next renewal even
/// if they are gone by then.
constexpr int renewals_per_cut_ttl = 3;
constexpr std::chrono::milliseconds least_interval{10};

loss_cause cause_of(ownership found) noexcept {
  return found == ownership::gone ? loss_cause::key_gone : loss_cause::taken_over;
}

}  // namespace

renewer::renewer(reactor::loop& loop, lock_backend& backend, client_stats& counts, events handlers)
    : loop_{loop},
      backend_{backend},
      counts_{counts},
      counters_{backend, boot_clock::now()},
      events_{std::move(handlers)},
      timer_{[this] { look(); }},
      random_{static_cast<std::minstd_rand::result_type>(random_seed())} {}

void renewer::add(lease_state& lease, time_point now) noexcept {
  counters_.taken(lease);
  schedule(lease, now);
}

void renewer::schedule(lease_state& lease, time_point now) noexcept {
  auto const plan = plan_lease(lease.times(), now);
  if (plan.step == lease_step::wait && plan.when == lease.renew_at) {
    schedule_.put_regular(lease, lease.renew_at, lease.effective().renewal_interval, now);
  } else {
    schedule_.put(lease, plan.when, now);
  }
  if (!timer_.armed() || lease.due < timer_.when()) loop_.arm(timer_, lease.due);
}

void renewer::look() noexcept {
  auto const now = boot_clock::now();
  batches due_now;
  while (auto* const due = schedule_.pop(now)) consider(*due, now, due_now);
  for (auto& batch : due_now.take()) send(std::move(batch), now);
  if (schedule_.any_marked() && (unanswered_ == 0 || resume_at_ <= now)) ask_about_some(now);
  set_timer();
}

void renewer::consider(lease_state& lease, time_point now, batches& due_now) noexcept {
  auto const plan = plan_lease(lease.times(), now, lease.effective().renewal_interval / 64);
  switch (plan.step) {
    case lease_step::wait:
      schedule_.put(lease, plan.when, now);
      return;
    case lease_step::renew: {
      auto const& queue = lease.queue();
      try {
        due_now.add(lease, backend_.slot_of(queue.lock_recipe().first_name(queue.name())));
      } catch (std::bad_alloc const&) {
        retry(lease, now);
      }
      return;
    }
    case lease_step::warn:
      loop_.deferred().add(lease.take_warning());
      consider(lease, now, due_now);
      return;
    case lease_step::expired:
    case lease_step::limit_reached:
      lose(lease, plan.step, now);
      return;
  }
}

void renewer::lose(lease_state& lease, lease_step over, time_point now) noexcept {
  auto const renewable = lease.options().watchdog && lease.renewals_left != 0;
  auto const unheard = over == lease_step::expired && renewable;
  events_.lost(lease, unheard ? loss_cause::unreachable : loss_cause::limit_reached, now);
}

void renewer::lose_if_over(lease_state& lease, time_point now) noexcept {
  if (lease.status() != lease_state::state::held) return;
  auto const step = plan_lease(lease.times(), now).step;
  if (step == lease_step::expired || step == lease_step::limit_reached) lose(lease, step, now);
}

void renewer::ask_about_all(time_point now) noexcept {
  schedule_.mark_all();
  if (!schedule_.any_marked()) return;
  resume_at_ = now;
  loop_.arm(timer_, resume_at_);
}

/// Asks about the next marked leases. A request under way already asks about its lease.
void renewer::ask_about_some(time_point now) noexcept {
  resume_at_ = now + longest_step;
  batches selected;
  for (std::size_t n = 0; n != marked_per_step; ++n) {
    auto* const lease = schedule_.pop_marked();
    if (lease == nullptr) break;
    if (lease->renewing) {
      schedule_.put(*lease, plan_lease(lease->times(), now).when, now);
    } else if (lease->options().watchdog && lease->renewals_left < 0) {
      lease->renew_at = now;
      consider(*lease, now, selected);
    } else {
      ask_about(*lease, now);
    }
  }
  for (auto& batch : selected.take()) {
    ++unanswered_;
    send(std::move(batch), now,
         [this](answer<renewals> const&, time_point answered) { on_some_answered(answered); });
  }
}

void renewer::on_some_answered(time_point now) noexcept {
  if (--unanswered_ == 0 && schedule_.any_marked()) loop_.arm(timer_, now);
}

/// Asks by setting the key's ttl to what is left of it: the rest of the lease, and the drift allowance. Not
/// beside a renewal, which tells as much, and whose ttl this would cut short.
void renewer::ask_about(lease_state& lease, time_point now) noexcept {
  auto const reserve = drift_allowance(lease.options().ttl);
  auto const remaining = std::chrono::ceil<milliseconds>(lease.deadline() - now + reserve);
  lease.renewing = remaining.count() > 0;
  lease.renewal_sent = false;
  schedule_.put(lease, plan_lease(lease.times(), now).when, now);
  if (!lease.renewing) return;
  ++unanswered_;
  try {
    auto const owner = lease.queue().client().owner_id(lease.number());
    backend_.set_ttl(lease.queue().lock_recipe(), remaining, {.name = lease.queue().name(), .owner = owner},
                     [this, pin = lease_state_ptr{&lease}](answer<ownership>&& result) {
                       auto const answered = boot_clock::now();
                       on_some_answered(answered);
                       on_answer_to_ask(*pin->latest(), result, answered);
                     },
                     {.while_down = net::retry_policy::endless, .give_up = lease.deadline()});
  } catch (std::bad_alloc const&) {
    on_some_answered(now);
    lease.renewing = false;
    schedule(lease, now);
    lease.settle();
  }
}

template <class Outcome>
void renewer::after_loss(lease_state& lease, answer<Outcome> const& result, time_point now) const noexcept {
  auto const* const failure = result.failure();
  auto const carried_out = failure == nullptr || failure->sent;
  auto const cause = lease.cause();
  auto const taken_away = cause == loss_cause::taken_over || cause == loss_cause::key_gone;
  if (lease.status() == lease_state::state::lost && !taken_away && carried_out) events_.outlived(lease, now);
}

void renewer::on_answer_to_ask(lease_state& lease, answer<ownership> const& result, time_point now) noexcept {
  lease.renewing = false;
  if (lease.status() == lease_state::state::held) {
    auto const* const found = result.outcome();
    if (found == nullptr || *found == ownership::held) {
      schedule(lease, now);
    } else {
      events_.lost(lease, cause_of(*found), now);
    }
  } else {
    after_loss(lease, result, now);
  }
  lease.settle();
}

void renewer::renew_now(lease_state& lease, renewed_handler done) {
  lease.when_settled([this, pin = lease_state_ptr{&lease}, done = std::move(done)]() mutable {
    auto const now = boot_clock::now();
    if (pin->status() != lease_state::state::held) {
      done({}, now);
      return;
    }
    lease_list alone;
    try {
      alone.push_back(pin);
    } catch (std::bad_alloc const&) {
      done({.content = failed{.reason = backend_.no_memory}}, now);
      return;
    }
    send(std::move(alone), now, std::move(done));
  });
}

void renewer::send(lease_list leases, time_point now, renewed_handler done) noexcept {
  std::shared_ptr<renewal_request> request;
  try {
    request = std::make_shared<renewal_request>();
    request->leases = std::move(leases);
    request->done = std::move(done);
    send(request, now);
  } catch (std::bad_alloc const&) {
    auto const unsent = request ? std::move(request->leases) : std::move(leases);
    for (auto const& lease : unsent) {
      lease->renewing = false;
      if (lease->status() == lease_state::state::held) retry(*lease, now);
      lease->settle();
    }
    auto handler = request ? std::move(request->done) : std::move(done);
    if (handler) handler({.content = failed{.reason = backend_.no_memory}}, now);
  }
}

void renewer::send(std::shared_ptr<renewal_request> const& request, time_point now) {
  auto const& leases = request->leases;
  std::vector<owned> list;
  std::vector<std::string> owners;
  list.reserve(leases.size());
  owners.reserve(leases.size());
  auto give_up = time_point::min();
  for (auto const& lease : leases) {
    owners.push_back(lease->queue().client().owner_id(lease->number()));
    list.push_back({.name = lease->queue().name(), .owner = owners.back()});
    give_up = std::max(give_up, lease->deadline());
    lease->renewing = lease->renewal_sent = true;
    schedule_.put(*lease, plan_lease(lease->times(), now).when, now);
  }
  auto& first = *leases.front();
  backend_.renew(
      first.queue().lock_recipe(), first.options().ttl, list,
      [this, request](answer<renewals>&& result) {
        auto const answered = boot_clock::now();
        on_answer(request->leases, result, answered);
        if (request->done) request->done(result, answered);
        set_timer();
      },
      {.while_down = net::retry_policy::endless, .give_up = give_up, .divisible = list.size() > 1});
}

void renewer::on_answer(lease_list const& leases, answer<renewals> const& result, time_point now) noexcept {
  if (auto const* const refusal = result.refusal();
      leases.size() > 1 && refusal != nullptr && first_word(refusal->text) == "TRYAGAIN") {
    // Their hash slot is migrating, perhaps for longer than they last, and some of them have moved already. A
    // single name is found on either side.
    for (auto const& each : leases) send_alone(*each->latest(), now);
    return;
  }
  renewals const none;
  auto const* const outcome = result.outcome();
  auto const& [others, cut, unsaid] = outcome != nullptr ? *outcome : none;
  auto next_other = others.begin();
  auto next_cut = cut.begin();
  for (std::size_t i = 0; i != leases.size(); ++i) {
    auto const lease = leases[i]->latest();
    auto const is_other = next_other != others.end() && next_other->first == i;
    auto const found = is_other ? next_other++->second : ownership::held;
    auto const is_cut = next_cut != cut.end() && next_cut->first == i;
    auto const remaining = is_cut ? next_cut++->second : milliseconds::max();
    lease->renewing = false;
    if (lease->status() == lease_state::state::held) {
      if (outcome == nullptr || found == ownership::unknown) {
        retry(*lease, now);
      } else if (found != ownership::held) {
        events_.lost(*lease, cause_of(found), now);
      } else {
        renewed(*lease, result.sent_at, remaining, now);
        if (std::ranges::find(unsaid, i) != unsaid.end()) tell_unsaid(*lease);
      }
    } else {
      after_loss(*lease, result, now);
    }
    lease->settle();
  }
}

/// `remaining` is the rest of its key's ttl, if others had cut it short.
void renewer::renewed(lease_state& lease, time_point sent_at, milliseconds remaining,
                      time_point now) noexcept {
  ++counts_.renewals;
  auto const was_until = lease.provisional ? time_point::max() : lease.deadline();
  // The rest of a ttl that was granted by message tells no time; neither matters, so short is that.
  if (!lease.provisional) counters_.renewed(lease, lease.deadline() - lease.options().ttl, sent_at);
  lease.provisional = false;
  if (lease.renewals_left > 0) --lease.renewals_left;
  lease.set_deadline(std::max(lease.deadline(), deadline_of(sent_at, lease.options().ttl)));
  if (events_.renewed) events_.renewed(lease, was_until, now);
  auto const again = lease.options().watchdog && lease.renewals_left != 0;
  auto every = lease.effective().renewal_interval;
  // A number of renewals is a requested time.
  if (remaining != milliseconds::max() && lease.renewals_left < 0)
    every =
        std::min<std::chrono::nanoseconds>(every, std::max(remaining / renewals_per_cut_ttl, least_interval));
  lease.renew_at = again ? sent_at + every : time_point::max();
  schedule(lease, now);
}

void renewer::tell_unsaid(lease_state const& lease) noexcept try {
  if (auto const notify = lease.unsaid()) loop_.deferred().add([notify] { (*notify)(); });
} catch (std::bad_alloc const&) {
  return;  // the next renewal finds the same
}

void renewer::send_alone(lease_state& lease, time_point now) noexcept {
  lease.renewing = false;
  if (lease.status() == lease_state::state::held) {
    try {
      send({lease_state_ptr{&lease}}, now);
      return;
    } catch (std::bad_alloc const&) {
      retry(lease, now);
    }
  }
  lease.settle();
}

/// The lease stays valid until its deadline; the next try comes sooner than a regular one.
void renewer::retry(lease_state& lease, time_point now) noexcept {
  ++counts_.renewal_failures;
  auto const longest = lease.effective().renewal_interval / retries_per_interval;
  auto const pause = std::uniform_int_distribution<std::chrono::nanoseconds::rep>{longest.count() / 2,
                                                                                  longest.count()}(random_);
  if (lease.options().watchdog && lease.renewals_left != 0)
    lease.renew_at = now + std::chrono::nanoseconds{pause};
  schedule(lease, now);
}

void renewer::set_timer() noexcept {
  auto next = schedule_.earliest();
  if (schedule_.any_marked()) next = std::min(next, resume_at_);
  if (next != time_point::max() && (!timer_.armed() || next < timer_.when())) loop_.arm(timer_, next);
}

}  // namespace holdfast::engine
