#include "engine/quorum/vote_count.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::engine {

quorum::vote_count::vote_count(quorum& home, std::size_t leases, word which, reader read, events tell)
    : fan_out{home.on_, home.nodes_},
      backend_{home},
      which_{which},
      read_{std::move(read)},
      tell_{std::move(tell)},
      expected_(home.nodes_.size()),
      leases_(leases),
      result_{.leases = std::vector<ownership>(leases, ownership::unknown)} {}

void quorum::vote_count::ask(std::size_t who, call const& what, scripting::send_options patience) {
  expected_[who] = which_ == word::last && !node(who).absent();
  fan_out::send({.who = who}, scripting::to_run(what, {}, patience));
}

void quorum::vote_count::answered(question what, net::response&& how) {
  if (how.reply.is_error()) result_.refusal = how.reply;
  auto const said = how.failure || how.reply.is_error() ? std::vector<ownership>{} : read_(how);
  for (std::size_t i = 0; i != said.size(); ++i) {
    auto& one = leases_[i];
    if (said[i] == ownership::mine) {
      ++one.mine;
    } else if (said[i] == ownership::foreign) {
      ++one.foreign;
    } else {
      ++one.gone;
      one.gone_at.push_back(what.who);
    }
  }
  if (!said.empty()) result_.sent_at = std::min(result_.sent_at, how.sent_at);
  count();
}

void quorum::vote_count::overdue(std::size_t who) {
  auto const wait = expected_[who] && owes(who) && node(who).server().down_because() == nullptr && !over_;
  expected_[who] = false;
  if (wait) {
    wait_on(who, begun_ + backend_.config_.reply_timeout);
  } else {
    count();
  }
}

ownership quorum::vote_count::say(lease const& what) const noexcept {
  auto const needed = majority_of(masters());
  if (what.mine >= needed) return ownership::mine;
  if (masters() - what.gone - what.foreign >= needed) return ownership::unknown;
  return what.gone >= what.foreign ? ownership::gone : ownership::foreign;
}

void quorum::vote_count::count() {
  auto const me = shared_from_this();
  if (!asked_) {
    asked_ = true;
    if (over_) return;
  }
  if (over_) {
    tell_gone();
    return;
  }
  auto waited_for = false;
  for (std::size_t i = 0; i != masters(); ++i) waited_for = waited_for || pending(i);
  auto const open =
      std::ranges::any_of(leases_, [this](lease const& one) { return say(one) == ownership::unknown; });
  if (open && waited_for) return;
  over_ = true;
  for (std::size_t i = 0; i != leases_.size(); ++i) result_.leases[i] = say(leases_[i]);
  std::exchange(tell_.done, {})(std::move(result_));
  tell_gone();
}

void quorum::vote_count::give_up() noexcept {
  if (!std::exchange(over_, true)) std::exchange(tell_.done, {})(std::move(result_));
}

/// Also of those that said so later.
void quorum::vote_count::tell_gone() {
  if (!tell_.gone) return;
  for (std::size_t i = 0; i != leases_.size(); ++i) {
    if (say(leases_[i]) != ownership::mine) continue;
    for (auto const who : std::exchange(leases_[i].gone_at, {})) tell_.gone(who, i);
  }
}

}  // namespace holdfast::engine
