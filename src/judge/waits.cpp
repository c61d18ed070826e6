#include "judge/waits.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::judging {
namespace {

bool is_fair(history::kind of) noexcept { return of == history::kind::fair || of == history::kind::election; }

/// Where a free name is enough for any caller. The votes for a quorum_mutex may be split, and take rounds.
bool is_lock(history::kind of) noexcept {
  using enum history::kind;
  return of == mutex || of == fair || of == read || of == write || of == election;
}

}  // namespace

void waits::served(wait_state const& wait, place const& at) {
  check_free(wait, at, "granted");
  check_order(wait, at);
  auto const& parts = state_.parts_of(wait.lock).parts;
  auto const& name = state_.names[parts.front().name];
  if (parts.size() != 1 || at.t - name.last_end.t <= bound_of(wait)) return;
  if (wait.credit != 0 && stood_still(wait, at.t)) return;  // nobody else could have it meanwhile
  for (auto const* const other : name.waits) check_free(*other, at, "somebody else gets it");
}

/// A client that stood still may have been granted it, and gives it back when it goes on.
void waits::left(wait_state const& wait, place const& at) {
  check_free(wait, at, "left without it");
  auto const& parts = state_.parts_of(wait.lock).parts;
  if (parts.size() != 1 || !stood_still(wait, at.t)) return;
  auto& busy = state_.names[parts.front().name].busy_until;
  busy = std::max(busy, at.t);
}

/// Until a moment ago, while it waited.
bool waits::stood_still(wait_state const& wait, instant now) const {
  auto const& client = state_.clients[wait.client];
  return now - client.last > longest_silence ||
         (client.silent_until > wait.asked.t && now - client.silent_until < slack_);
}

/// A message is lost, and the server leaves the next request unanswered.
instant waits::bound_of(wait_state const& wait) const {
  auto const& facts = state_.known.clients[wait.client];
  return facts.recheck + facts.reply_timeout + slack_ + state_.uncertainty;
}

/// Since when nobody has had it, as the server sees it, and nobody's place has kept others out. What is gone
/// may have come to the server as late as `well_since`: when a server that stood still went on.
instant waits::free_since(std::uint32_t name, instant now, instant well_since) const {
  auto const& at = state_.names[name];
  auto since = std::max(at.last_end.t, at.busy_until);
  for (auto const* const hold : at.holds) since = std::max(since, hold->end_at_server());
  if (since < now && may_be_late(at, now)) since = std::max(since, at.last_until);
  // A caller of a client that is gone may have got it without telling. Or its place stays: from the end of
  // the lease that it found on, behind the places of others that are gone.
  instant places = 0;
  instant first_place = 0;
  for (auto const* const other : at.waits) {
    auto const& client = state_.clients[other->client];
    if (now - client.last > longest_silence) {
      since = std::max(since, client.last + other->ttl + other->ttl / 50);
      if (other->credit == 0) continue;
      places = sum(places, other->credit);
      first_place = std::max({first_place, client.last, at.busy_until, well_since});
    } else if (other->credit != 0 && client.silent_until > other->asked.t) {
      since = std::max(since, client.silent_until);
    }
  }
  if (places != 0) since = std::max(since, sum(first_place + at.longest_ttl + at.longest_ttl / 50, places));
  return since;
}

/// Whether the server may have heard late of the last end of a lease: its client had trouble, stood still, or
/// was killed.
bool waits::may_be_late(name_state const& name, instant now) const {
  auto const& client = state_.clients[name.last_client];
  auto const ended = name.last_end.t;
  auto const stood_still = client.silent_until > ended && client.silent_from < ended + longest_silence;
  auto const gone =
      !client.closed && client.last < ended + longest_silence && now - client.last > longest_silence;
  auto const trouble = client.trouble > ended - slack_ - state_.known.clients[name.last_client].reply_timeout;
  return stood_still || gone || (client.trouble != 0 && trouble);
}

void waits::check_free(wait_state const& wait, place const& at, std::string const& text) {
  auto const& of = state_.parts_of(wait.lock);
  if (!is_lock(of.of) || of.parts.size() != 1) return;
  auto const name = of.parts.front().name;
  auto const bound = bound_of(wait);
  auto& longest = state_.result.longest_free;
  auto const& ended = state_.names[name].last_end;
  auto const seen_free = std::max({wait.asked.t, ended.t, state_.names[name].busy_until});
  if (at.t - seen_free <= bound) {
    if (at.line != 0 && state_.names[name].holds.empty()) longest = std::max(longest, at.t - seen_free);
    return;
  }
  auto const well_since = state_.well_since(wait.client, at.t);
  auto const from = std::max({wait.asked.t, free_since(name, at.t, well_since), well_since});
  if (at.t - from <= bound) return;
  finding found{.broken = promise::wake_up,
                .text = state_.name_text(name) + " was free for " + time_text(at.t - from) +
                        " while a caller waited for it"};
  state::tell(found, wait.client, wait.asked, "asked (" + std::string{history::word_of(of.of)} + ")");
  state::tell(found, state_.names[name].last_client, ended, "the last lease before ended");
  if (at.line != 0) state::tell(found, wait.client, at, text);
  state_.result.violations.add(std::move(found));
}

/// A caller whose place in the queue was certain before this one asked is served before it. If its process
/// was killed a moment ago, or its inbox closed, the next lines show that: within the slack.
void waits::check_order(wait_state const& wait, place const& at) {
  auto const& of = state_.parts_of(wait.lock);
  if (!is_fair(of.of) || of.parts.size() != 1) return;
  auto const name = of.parts.front().name;
  if (state_.names[name].barging) return;
  for (auto const* const other : state_.names[name].waits) {
    auto const since = other->queued.t;
    if (other == &wait || since == 0 || state_.parts_of(other->lock).of != of.of) continue;
    if (wait.asked.t - since <= state_.doubt(other->client, wait.client)) continue;
    auto const heard_since =
        std::max(state_.well_since(other->client, at.t), state_.clients[other->client].unheard);
    if (heard_since > since || state_.trouble_within(since, at.t)) continue;
    finding found{.broken = promise::order,
                  .text = "a caller of the fair lock " + state_.name_text(name) +
                          " was overtaken by one that asked " + time_text(wait.asked.t - since) +
                          " after it was in the queue"};
    state::tell(found, other->client, other->asked, "asked");
    state::tell(found, other->client, other->queued, "queued");
    state::tell(found, wait.client, wait.asked, "asked");
    state::tell(found, wait.client, at, "granted");
    state_.clients[other->client].suspected.push_back(
        {.wait = other->number, .at = at.t, .found = std::move(found)});
  }
}

void waits::lives(record const& line) {
  using history::event;
  auto& of_client = state_.clients[line.client];
  if (of_client.suspected.empty()) return;
  auto const gone = line.event == event::closed || line.event == event::trouble || line.unheard ||
                    line.t - of_client.last > longest_silence;
  // A caller that left after a pause may have lost its place in that pause; the trouble is told behind.
  auto const not_certain = line.event == event::queued || line.event == event::left;
  std::erase_if(of_client.suspected, [&](suspicion& of) {
    if (gone || (not_certain && line.wait == of.wait)) return true;
    if (line.t - of.at < slack_) return false;
    state_.result.violations.add(std::move(of.found));
    return true;
  });
}

void waits::forgotten(wait_state const& wait, place const& at) {
  finding found{.broken = promise::wake_up,
                .text = "a caller of " + state_.name_text(state_.parts_of(wait.lock).parts.front().name) +
                        " was never answered, though its client ended in order"};
  state::tell(found, wait.client, wait.asked, "asked");
  state::tell(found, wait.client, at, "closed");
  state_.result.violations.add(std::move(found));
}

}  // namespace holdfast::judging
