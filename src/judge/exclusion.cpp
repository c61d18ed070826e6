#include "judge/exclusion.hpp"

#include <algorithm>

namespace holdfast::judging {
namespace {

/// A client that runs tells its holder of a loss within this time. It is more than longest_pause, so no pause
/// that isn't noticed explains more.
constexpr instant told_within = 1'250'000'000;

/// Clients hear of a new master one after the other: each sentinel tells when it has learnt it.
constexpr instant told_apart = 500'000'000;

/// Tokens are times in microseconds, but for those of Redisson's fenced locks, which begin at 1 again when a
/// server has lost their counter.
constexpr std::int64_t least_time = 1'000'000'000'000'000;

}  // namespace

void exclusion::begin(hold_state const& hold) {
  check_deadline(hold, hold.granted);
  // Its process stood still while the answer came: it was never valid, and others may have come and gone.
  auto const never_valid = hold.until <= hold.granted.t;
  for (auto const& of : state_.parts_of(hold.lock).parts) {
    check_company(hold, of, hold.granted.t);
    if (!never_valid && hold.has_new_token) check_token(hold, of);
  }
}

void exclusion::extended(hold_state const& hold, place const& at, instant before) {
  check_deadline(hold, at);
  if (before > at.t) return;
  // It was over, and others may have come.
  for (auto const& of : state_.parts_of(hold.lock).parts) check_company(hold, of, at.t);
}

/// The server can't have begun to count the ttl later than now.
void exclusion::check_deadline(hold_state const& hold, place const& at) {
  if (hold.until - at.t <= hold.ttl) return;
  finding found{.broken = promise::exclusion,
                .text = "a lease of " + state_.name_text(state_.parts_of(hold.lock).parts.front().name) +
                        " is believed for longer than its ttl: " + time_text(hold.until - at.t) +
                        " instead of " + time_text(hold.ttl)};
  state_.tell(found, hold);
  state_.result.violations.add(std::move(found));
}

void exclusion::check_company(hold_state const& hold, part const& of, instant now) {
  auto beside = std::int64_t{0};
  std::vector<hold_state const*> others;
  for (auto const* const other : state_.names[of.name].holds) {
    auto const replaced = hold.instead != 0 && other->client == hold.client && other->number == hold.instead;
    if (other == &hold || replaced || !other->valid_at(now)) continue;
    auto const& parts = state_.parts_of(other->lock).parts;
    auto const as = std::ranges::find(parts, of.name, &part::name);
    if (!may_be_beside(of.as, as->as)) clashes_.push_back({other, &hold, of.name, now});
    beside = sum(beside, state_.amount_of(*as, *other));
    if (of.as == company::permits) others.push_back(other);
  }
  auto const limit = state_.names[of.name].permits.most();
  auto const out = sum(beside, state_.amount_of(of, hold));
  if (of.as != company::permits || limit == 0 || out <= limit) return;
  crowd open{.of = std::move(others),
             .from = now,
             .found = {.broken = promise::exclusion,
                       .text = std::to_string(out) + " permits of " + state_.name_text(of.name) +
                               " are out, of " + std::to_string(limit)}};
  auto from = now;
  for (auto const* const other : open.of) {
    state_.tell(open.found, *other);
    from = std::min(from, other->confirmed.t);
    open.doubt = std::max(open.doubt, state_.doubt(other->client, hold.client));
  }
  state_.tell(open.found, hold);
  open.of.push_back(&hold);
  open.excused = state_.trouble_within(from, now);
  if (open.doubt == 0) {
    decide(std::move(open));
  } else {
    crowds_.push_back(std::move(open));
  }
}

void exclusion::decide(crowd of) {
  auto& to = of.excused ? state_.result.documented : state_.result.violations;
  to.add(std::move(of.found));
}

/// A lease that shows that the token isn't in order; nullopt: by the clocks it may be.
std::optional<hold_state> exclusion::token_above(hold_state const& hold, part const& of) {
  auto& name = state_.names[of.name];
  auto const permit = of.as == company::permits;
  auto const forgotten = permit && name.tokens.has_forgotten(hold.token);
  std::optional<hold_state> result;
  if (!name.tokens.take(of.as, hold.token)) result = reads(of.as) ? name.newest.write : name.newest.token;
  if (state_.uncertainty == 0 || hold.token == 0) return result;
  auto& order = token_orders_.try_emplace(of.name, state_.uncertainty).first->second;
  auto const machine = state_.known.clients[hold.client].machine;
  if (forgotten) result.reset();  // it may be told so late by its clock alone
  if (result && !permit) {
    auto const* const other = order.above(hold, of.as, machine);
    result = other != nullptr ? std::optional{*other} : std::nullopt;
  }
  order.add(hold, of.as, machine);
  return result;
}

void exclusion::check_token(hold_state const& hold, part const& of) {
  auto const before = token_above(hold, of);
  if (!before) return;
  finding found{.broken = promise::tokens,
                .text = "token " + std::to_string(hold.token) + " of " + state_.name_text(of.name) +
                        " comes behind token " + std::to_string(before->token)};
  for (auto const* const other : state_.names[of.name].holds) {
    auto const shows_it = other->token == hold.token || state_.one_machine(other->client, hold.client) ||
                          hold.granted.t - other->granted.t > state_.uncertainty;
    if (other != &hold && other->token >= hold.token && shows_it) state_.tell(found, *other);
  }
  if (found.excerpt.empty()) state_.tell(found, *before);
  state_.tell(found, hold);
  // A reader has the token of the last writer that the server knows.
  auto const may_be_older = hold.token < least_time || reads(of.as);
  auto const excused = (may_be_older && state_.trouble_within(before->granted.t, hold.granted.t)) ||
                       told_late_by_another_master(hold, of);
  if (excused) {
    state_.result.documented.add(std::move(found));
    return;
  }
  // An old master's token is the older one.
  auto const* const behind = perhaps_behind(hold, *before);
  condemn(std::move(found), behind == &hold ? behind : nullptr, hold.granted.t);
}

/// A master that was just replaced granted it, and its successor granted the other one before that answer was
/// read. Who asked after the other one was told has no such excuse.
bool exclusion::told_late_by_another_master(hold_state const& hold, part const& of) const {
  // A deadline is counted from before the request was sent, and is earlier by an allowance.
  auto const before_sent = hold.until - hold.ttl;
  return state_.parts_of(hold.lock).of != history::kind::quorum &&
         !state_.names[of.name].told.told_before(before_sent, hold.token) &&
         state_.trouble_within(before_sent, hold.granted.t);
}

void exclusion::end(hold_state const& hold, place const& at, std::string const& text, ending cause) {
  std::erase_if(clashes_, [&](clash const& open) {
    if (open.first != &hold && open.second != &hold) return false;
    settle(open, hold, at, text, cause);
    return true;
  });
  std::erase_if(crowds_, [&](crowd& open) {
    if (std::ranges::find(open.of, &hold) == open.of.end()) return false;
    auto end = at.t;
    for (auto const* const each : open.of) end = std::min(end, each->until);
    if (end - open.from > open.doubt) decide(std::move(open));
    return true;
  });
}

/// At the end of either lease.
void exclusion::settle(clash const& open, hold_state const& ended, place const& at, std::string const& text,
                       ending cause) {
  auto const end = std::min({open.first->until, open.second->until, at.t});
  auto const lasted = end - open.from;
  if (lasted <= state_.doubt(open.first->client, open.second->client)) return;
  finding found{.broken = promise::exclusion,
                .text = "two leases of " + state_.name_text(open.name) +
                        " that exclude each other are valid for " + time_text(lasted)};
  state_.tell(found, *open.first);
  state_.tell(found, *open.second);
  state::tell(found, ended.client, at, text);
  auto const voted = state_.parts_of(open.first->lock).of == history::kind::quorum;
  auto const excused = !voted && state_.trouble_within(open.first->confirmed.t, end);
  auto const forced = cause == ending::forced && open.first == &ended;
  if (excused) found.text += "; a server went, or another came, meanwhile";
  if (forced) found.text += "; the first was released by force";
  if (excused || forced) {
    state_.result.documented.add(std::move(found));
  } else {
    condemn(std::move(found), perhaps_behind(*open.first, *open.second), end);
  }
}

/// One of two clients came to its server a moment ago, and the other one was at its own before that: this one
/// may have been at an old master, and have heard of the new one a moment later. Null: neither.
hold_state const* exclusion::perhaps_behind(hold_state const& first, hold_state const& second) const {
  auto const voted = state_.parts_of(first.lock).of == history::kind::quorum;
  if (voted || first.client == second.client) return nullptr;
  auto const arrived = [this](hold_state const& hold) { return state_.clients[hold.client].arrived; };
  auto const first_stayed = arrived(first) < arrived(second);
  auto const& stayed = first_stayed ? first : second;
  auto const came_at = arrived(first_stayed ? second : first);
  return stayed.confirmed.t - came_at <= told_apart ? &stayed : nullptr;
}

/// Unless the client of that lease moves on by then.
void exclusion::condemn(finding found, hold_state const* behind, instant end) {
  if (behind == nullptr) {
    state_.result.violations.add(std::move(found));
  } else {
    suspected_.push_back({std::move(found), behind->client, end + told_apart});
  }
}

void exclusion::moved(std::uint32_t client) {
  std::erase_if(suspected_, [&](suspected& each) {
    if (each.client != client) return false;
    each.found.text += "; one of the clients heard a moment later that another server had come";
    state_.result.documented.add(std::move(each.found));
    return true;
  });
}

void exclusion::passed(instant now) {
  if (suspected_.empty()) return;
  std::erase_if(suspected_, [&](suspected& each) {
    if (now <= each.until) return false;
    state_.result.violations.add(std::move(each.found));
    return true;
  });
}

/// A client that stood still couldn't tell it.
void exclusion::overdue(hold_state const& hold, place const& at, std::string const& text) {
  auto const& client = state_.clients[hold.client];
  auto const could = std::max(hold.until, client.awake_since);
  if (!hold.in_use || at.t - could <= told_within || at.t - client.last > longest_pause) return;
  finding found{.broken = promise::told,
                .text = "the end of a lease of " +
                        state_.name_text(state_.parts_of(hold.lock).parts.front().name) + " was told " +
                        time_text(at.t - could) + " late"};
  state_.tell(found, hold);
  state::tell(found, hold.client, at, text);
  state_.result.violations.add(std::move(found));
}

}  // namespace holdfast::judging
