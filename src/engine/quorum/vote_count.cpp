#include "engine/quorum/vote_count.hpp"

#include <algorithm>
#include <utility>

#include "engine/failure.hpp"
#include "engine/release/pauses.hpp"

namespace holdfast::engine {

vote_count::vote_count(quorum_masters& quorum, std::size_t leases, finality is_last, call script,
                       scripting::send_options send, vote_reader read, events handlers)
    : fan_out{quorum.loop(), quorum.nodes()},
      quorum_{quorum},
      finality_{is_last},
      script_{std::move(script)},
      send_options_{send},
      read_{std::move(read)},
      events_{std::move(handlers)},
      expected_(quorum.nodes().size()),
      pausing_(quorum.nodes().size()),
      copied_(quorum.nodes().size()),
      leases_(leases),
      result_{.leases = std::vector<ownership>(leases, ownership::unknown)} {}

void vote_count::ask(std::size_t master) {
  expected_[master] = finality_ == finality::last;
  fan_out::send({.master = master}, scripting::to_run(script_, {}, send_options_));
}

/// Otherwise what the lease has there would stay until the end of its ttl.
void vote_count::ask_again(std::size_t master) {
  auto const passes = is_transient(result_.refusal);
  auto const again = boot_clock::now() + (passes ? passing_pause : refused_pause);
  if (again >= send_options_.give_up) return;
  auto const self = std::static_pointer_cast<vote_count>(shared_from_this());
  quorum_.delayed().add(again, [self, master] {
    self->pausing_[master] = false;
    try {
      self->ask(master);
    } catch (std::bad_alloc const&) {
      self->count();
    }
  });
  pausing_[master] = passes;
}

void vote_count::answered(question asked, net::response&& response) {
  if (response.reply.is_error()) {
    result_.refusal = response.reply.text;
    if (response.resent) copied_[asked.master] = true;
    if (finality_ == finality::last) ask_again(asked.master);
  } else {
    response.resent = response.resent || copied_[asked.master];
  }
  auto const sent_at = response.sent_at;
  auto const states = read_ ? read_(std::move(response)) : std::vector<ownership>{};
  for (std::size_t i = 0; i != states.size(); ++i) {
    auto& votes = leases_[i];
    if (states[i] == ownership::held) {
      ++votes.given;
    } else if (states[i] == ownership::foreign) {
      ++votes.foreign;
    } else {
      ++votes.gone;
      votes.gone_masters.push_back(asked.master);
    }
  }
  if (!states.empty()) result_.sent_at = std::min(result_.sent_at, sent_at);
  count();
}

void vote_count::overdue(std::size_t master) {
  auto const wait =
      expected_[master] && owes(master) && node(master).server().down_because() == nullptr && !over_;
  expected_[master] = false;
  if (wait) {
    wait_on(master, begun_ + quorum_.config().reply_timeout);
  } else {
    count();
  }
}

ownership vote_count::decide(lease_votes const& votes) const noexcept {
  auto const needed = majority_of(masters());
  if (votes.given >= needed) return ownership::held;
  if (masters() - votes.gone - votes.foreign >= needed) return ownership::unknown;
  return votes.gone >= votes.foreign ? ownership::gone : ownership::foreign;
}

void vote_count::count() {
  auto const self = shared_from_this();
  if (!asked_) {
    asked_ = true;
    if (over_) return;
  }
  if (over_) {
    report_gone();
    return;
  }
  auto waited_for = false;
  for (std::size_t i = 0; i != masters(); ++i) waited_for = waited_for || pending(i) || pausing_[i];
  auto const open = std::ranges::any_of(
      leases_, [this](lease_votes const& votes) { return decide(votes) == ownership::unknown; });
  if (open && waited_for) return;
  over_ = true;
  for (std::size_t i = 0; i != leases_.size(); ++i) result_.leases[i] = decide(leases_[i]);
  report();
  report_gone();
}

void vote_count::give_up() noexcept {
  if (!std::exchange(over_, true)) report();
}

void vote_count::report() noexcept {
  if (events_.done) std::exchange(events_.done, {})(std::move(result_));
}

/// Also called for answers that come later.
void vote_count::report_gone() {
  if (!events_.gone) return;
  for (std::size_t i = 0; i != leases_.size(); ++i) {
    if (decide(leases_[i]) != ownership::held) continue;
    for (auto const master : std::exchange(leases_[i].gone_masters, {})) events_.gone(master, i);
  }
}

void leave_queue(quorum_masters& quorum, std::size_t master, recipe const& lock_recipe, owned lease) {
  if (lock_recipe.votes->leave == nullptr) return;
  scripting::send_options const send{.while_down = net::retry_policy::endless,
                                     .give_up = quorum_masters::end_of_returning()};
  auto const request =
      std::make_shared<vote_count>(quorum, 1, vote_count::finality::last, lock_recipe.votes->leave(lease),
                                   send, vote_reader{}, vote_count::events{});
  request->ask_all([master](std::size_t other) { return other == master; });
}

}  // namespace holdfast::engine
