#include "engine/renewer.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "base/ids.hpp"
#include "engine/core.hpp"

namespace holdfast::engine {
namespace {

/// Tries after an error, as a part of the time between renewals: several fit into what is left of the lease.
constexpr int retries_per_interval = 8;

/// Of those that are asked about out of turn: 16 commands, some 10 ms of the server's time and less of ours.
constexpr std::size_t at_a_time = 4096;
/// An answer to those may be a failover away, and the others live on other nodes.
constexpr std::chrono::seconds longest_part{1};
/// Renewals within what others leave of a ttl: it must do until the next one also if they are gone by then.
constexpr int renewals_per_cut_ttl = 3;
constexpr std::chrono::milliseconds least_interval{10};

loss_cause cause_of(ownership how) noexcept {
  return how == ownership::gone ? loss_cause::key_gone : loss_cause::taken_over;
}

}  // namespace

renewer::renewer(reactor::loop& on, lock_backend& whom, client_stats& counts, lost_handler lost)
    : on_{on},
      whom_{whom},
      counts_{counts},
      lost_{std::move(lost)},
      timer_{[this] { look(); }},
      random_{static_cast<std::minstd_rand::result_type>(random_seed())} {}

void renewer::add(lease_state& one) noexcept {
  auto const now = boot_clock::now();
  auto const plan = plan_lease(one.times(), now);
  if (plan.step == lease_step::wait && plan.when == one.renew_at) {
    agenda_.put_regular(one, one.renew_at, one.effective().every, now);
  } else {
    agenda_.put(one, plan.when, now);
  }
  if (!timer_.armed() || one.due < timer_.when()) on_.arm(timer_, one.due);
}

void renewer::look() noexcept {
  auto const now = boot_clock::now();
  batches due_now;
  while (auto* const due = agenda_.pop(now)) consider(*due, now, due_now);
  for (auto& those : due_now.take()) send(std::move(those));
  if (agenda_.any_marked() && (unanswered_ == 0 || go_on_ <= now)) ask_about_some(now);
  set_timer();
}

void renewer::consider(lease_state& one, time_point now, batches& due_now) noexcept {
  auto const plan = plan_lease(one.times(), now, one.effective().every / 64);
  switch (plan.step) {
    case lease_step::wait:
      agenda_.put(one, plan.when, now);
      return;
    case lease_step::renew: {
      auto const& at = one.queue();
      try {
        due_now.add(
            one, whom_.slot_of(at.protocol().several == nullptr ? at.name()
                                                                : at.protocol().several->first(at.name())));
      } catch (std::bad_alloc const&) {
        failed(one);
      }
      return;
    }
    case lease_step::warn:
      on_.defer(one.take_warning());
      consider(one, now, due_now);
      return;
    case lease_step::expired: {
      auto const could_renew = one.options().watchdog && one.renewals_left != 0;
      lost_(one, could_renew ? loss_cause::unreachable : loss_cause::limit_reached);
      return;
    }
    case lease_step::limit_reached:
      lost_(one, loss_cause::limit_reached);
      return;
  }
}

void renewer::ask_about_all() noexcept {
  agenda_.mark_all();
  if (!agenda_.any_marked()) return;
  go_on_ = boot_clock::now();
  on_.arm(timer_, go_on_);
}

/// The next of those that are marked. One for which a request is under way is asked about by that.
void renewer::ask_about_some(time_point now) noexcept {
  go_on_ = now + longest_part;
  batches some;
  for (std::size_t n = 0; n != at_a_time; ++n) {
    auto* const one = agenda_.pop_marked();
    if (one == nullptr) break;
    if (one->renewing) {
      agenda_.put(*one, plan_lease(one->times(), now).when, now);
    } else if (one->options().watchdog && one->renewals_left < 0) {
      one->renew_at = now;
      consider(*one, now, some);
    } else {
      ask_about(*one, now);
    }
  }
  for (auto& those : some.take()) {
    ++unanswered_;
    send(std::move(those), [this](net::response const&) { on_some_answered(); });
  }
}

void renewer::on_some_answered() noexcept {
  if (--unanswered_ == 0 && agenda_.any_marked()) on_.arm(timer_, boot_clock::now());
}

/// By giving it the ttl that it has, which is a little less than that: not beside a renewal, which tells as
/// much, and which it would cut short.
void renewer::ask_about(lease_state& one, time_point now) noexcept {
  auto const left = std::chrono::floor<milliseconds>(one.deadline() - now);
  one.renewing = left.count() > 0;
  agenda_.put(one, plan_lease(one.times(), now).when, now);
  if (!one.renewing) return;
  ++unanswered_;
  try {
    auto const owner = one.queue().engine().owner_id(one.number());
    whom_.set_ttl(one.queue().protocol(), left, {.name = one.queue().name(), .owner = owner},
                  [this, what = lease_state_ptr{&one}](net::response&& how) {
                    on_some_answered();
                    on_asked(*what->latest(), how);
                  },
                  {.while_down = net::retry_policy::endless, .give_up = one.deadline()});
  } catch (std::bad_alloc const&) {
    on_some_answered();
    one.renewing = false;
    add(one);
    one.settle();
  }
}

void renewer::on_asked(lease_state& one, net::response const& how) noexcept {
  one.renewing = false;
  if (one.status() == lease_state::state::held) {
    try {
      auto const understood = !how.failure && how.reply.is_array();
      auto const gone =
          understood ? one.queue().protocol().read_renew(how.reply) : decltype(renewal_reply::others){};
      if (gone.empty()) {
        add(one);
      } else {
        lost_(one, cause_of(gone.front().second));
      }
    } catch (std::bad_alloc const&) {
      failed(one);
    }
  }
  one.settle();
}

void renewer::renew_now(lease_state& one, callback<void(net::response const&)> done) {
  one.when_settled([this, what = lease_state_ptr{&one}, done = std::move(done)]() mutable {
    if (what->status() != lease_state::state::held) {
      done({});
      return;
    }
    held_list alone;
    try {
      alone.push_back(what);
    } catch (std::bad_alloc const&) {
      done({.failure = whom_.no_memory});
      return;
    }
    send(std::move(alone), std::move(done));
  });
}

void renewer::send(held_list leases, renewed_handler done) noexcept {
  std::shared_ptr<sent> mine;
  try {
    mine = std::make_shared<sent>();
    mine->leases = std::move(leases);
    mine->done = std::move(done);
    send(mine);
  } catch (std::bad_alloc const&) {
    auto const those = mine ? std::move(mine->leases) : std::move(leases);
    for (auto const& one : those) {
      one->renewing = false;
      if (one->status() == lease_state::state::held) failed(*one);
      one->settle();
    }
    auto then = mine ? std::move(mine->done) : std::move(done);
    if (then) then({.failure = whom_.no_memory});
  }
}

void renewer::send(std::shared_ptr<sent> const& mine) {
  auto const& leases = mine->leases;
  auto const now = boot_clock::now();
  std::vector<owned> list;
  std::vector<std::string> owners;
  list.reserve(leases.size());
  owners.reserve(leases.size());
  auto give_up = time_point::min();
  for (auto const& one : leases) {
    owners.push_back(one->queue().engine().owner_id(one->number()));
    list.push_back({.name = one->queue().name(), .owner = owners.back()});
    give_up = std::max(give_up, one->deadline());
    one->renewing = true;
    agenda_.put(*one, plan_lease(one->times(), now).when, now);
  }
  auto& first = *leases.front();
  whom_.renew(first.queue().protocol(), first.options().ttl, list,
              [this, mine](renewal_reply&& result) {
                on_answer(mine->leases, result);
                if (mine->done) mine->done(result.response);
                set_timer();
              },
              {.while_down = net::retry_policy::endless, .give_up = give_up, .divisible = list.size() > 1});
}

void renewer::on_answer(held_list const& leases, renewal_reply const& result) noexcept {
  if (leases.size() > 1 && result.response.reply.is_error("TRYAGAIN")) {
    // Their hash slot is on its way, perhaps for longer than they last, and some of them are there already. A
    // single name is found on either side.
    for (auto const& each : leases) send_alone(*each->latest());
    return;
  }
  auto const understood = !result.response.failure && result.response.reply.is_array();
  auto next_other = result.others.begin();
  auto next_cut = result.cut.begin();
  for (std::size_t i = 0; i != leases.size(); ++i) {
    auto const one = leases[i]->latest();
    auto const is_other = next_other != result.others.end() && next_other->first == i;
    auto const found_it = is_other ? next_other++->second : ownership::mine;
    auto const is_cut = next_cut != result.cut.end() && next_cut->first == i;
    auto const left = is_cut ? next_cut++->second : milliseconds::max();
    one->renewing = false;
    if (one->status() == lease_state::state::held) {
      if (!understood || found_it == ownership::unknown) {
        failed(*one);
      } else if (found_it != ownership::mine) {
        lost_(*one, cause_of(found_it));
      } else {
        renewed(*one, result.response.sent_at, left);
      }
    }
    one->settle();
  }
}

/// `left`: of its key's ttl, as others had cut it short.
void renewer::renewed(lease_state& one, time_point sent_at, milliseconds left) noexcept {
  ++counts_.renewals;
  one.provisional = false;
  if (one.renewals_left > 0) --one.renewals_left;
  one.set_deadline(std::max(one.deadline(), deadline_of(sent_at, one.options().ttl)));
  auto const again = one.options().watchdog && one.renewals_left != 0;
  auto every = one.effective().every;
  // A number of renewals is a time that was asked for.
  if (left != milliseconds::max() && one.renewals_left < 0)
    every = std::min<std::chrono::nanoseconds>(every, std::max(left / renewals_per_cut_ttl, least_interval));
  one.renew_at = again ? sent_at + every : time_point::max();
  add(one);
}

void renewer::send_alone(lease_state& one) noexcept {
  one.renewing = false;
  if (one.status() == lease_state::state::held) {
    try {
      send({lease_state_ptr{&one}});
      return;
    } catch (std::bad_alloc const&) {
      failed(one);
    }
  }
  one.settle();
}

/// The lease stays what it is until its deadline; the next try comes sooner than a regular one.
void renewer::failed(lease_state& one) noexcept {
  ++counts_.renewal_failures;
  auto const longest = one.effective().every / retries_per_interval;
  auto const pause = std::uniform_int_distribution<std::chrono::nanoseconds::rep>{longest.count() / 2,
                                                                                  longest.count()}(random_);
  if (one.options().watchdog && one.renewals_left != 0)
    one.renew_at = boot_clock::now() + std::chrono::nanoseconds{pause};
  add(one);
}

void renewer::set_timer() noexcept {
  auto next = agenda_.earliest();
  if (agenda_.any_marked()) next = std::min(next, go_on_);
  if (next != time_point::max() && (!timer_.armed() || next < timer_.when())) on_.arm(timer_, next);
}

}  // namespace holdfast::engine
