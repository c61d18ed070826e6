#include "judge/waits.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace holdfast::judging {
namespace {

bool is_fair(history::kind of) noexcept { return of == history::kind::fair || of == history::kind::election; }

/// Where a free name is enough for any caller. The votes for a quorum_mutex may be split, and take rounds.
bool is_lock(history::kind of) noexcept {
  using enum history::kind;
  return of == mutex || of == fair || of == read || of == write || of == election;
}

bool has_place(wait_state const& wait) noexcept { return wait.credit.value_or(0) != 0; }

/// A server may count a hundredth slower, and a client allows for that.
constexpr instant at_server(instant ttl) noexcept { return ttl + ttl / 50; }

}  // namespace

void waits::served(wait_state const& wait, place const& at) {
  check_free(wait, at, "granted");
  check_order(wait, at);
  auto const& parts = state_.parts_of(wait.lock).parts;
  if (parts.size() != 1) return;
  auto const& name = state_.names[parts.front().name];
  if (at.t - name.last_end.t > bound_of(wait)) {
    for (auto const* const other : name.waits) check_free(*other, at, "somebody else gets it", &wait);
  }
  end_places(name, wait, at.t);
}

/// Of clients that were gone before this caller came: it was served, so they were dropped.
void waits::end_places(name_state const& name, wait_state const& served, instant now) {
  if (!has_place(served) || state_.clients[served.client].trouble > served.asked.t) return;
  auto const late = longest_silence + state_.known.clients[served.client].reply_timeout;
  for (auto* const other : name.waits) {
    if (has_place(*other) && served.asked.t - state_.clients[other->client].last > late) other->over = now;
  }
}

/// A client that stood still may have been granted it, and gives it back when it goes on. One that couldn't
/// reach the server, which is told later, perhaps, leaves its place behind.
void waits::left(wait_state const& wait, place const& at) {
  check_free(wait, at, "left without it");
  auto const& client = state_.clients[wait.client];
  auto const stood_still = at.t - client.last > longest_silence ||
                           (client.silent_until > wait.asked.t && at.t - client.silent_until < slack_);
  auto const& parts = state_.parts_of(wait.lock).parts;
  if (parts.size() != 1) return;
  auto& name = state_.names[parts.front().name];
  if (stood_still) name.busy_until = std::max(name.busy_until, at.t);
  if (!has_place(wait)) return;
  auto const cut_off =
      client.down || (client.trouble != 0 && at.t - client.trouble < longest_answer(wait.client));
  std::erase_if(name.left, [&](left_place const& each) { return each.client == wait.client; });
  name.left.push_back({.client = wait.client, .at = at.t, .credit = *wait.credit, .cut_off = cut_off});
}

/// A message is lost, and the server leaves the next request unanswered.
instant waits::bound_of(wait_state const& wait) const {
  auto const& facts = state_.known.clients[wait.client];
  return facts.recheck + facts.reply_timeout + slack_ + state_.uncertainty;
}

/// Since when nobody has had it, as the server sees it.
instant waits::free_since(std::uint32_t name, instant now) const {
  auto const& at = state_.names[name];
  auto since = std::max(at.last_end.t, at.busy_until);
  for (auto const* const hold : at.holds) since = std::max(since, hold->end_at_server());
  if (since < now && may_be_late(at, now)) since = std::max(since, at.last_until);
  // A caller of a client that is gone may have got it without telling.
  for (auto const* const other : at.waits) {
    auto const& client = state_.clients[other->client];
    if (now - client.last > longest_silence) since = std::max(since, client.last + at_server(other->ttl));
  }
  return since;
}

/// Until when the places of clients that are gone, stand still or were cut off have kept this caller out,
/// where the server keeps places until their credit is over: one behind the other, from the end of the lease
/// that they found on, or until their clients go on. What is gone may have come to the server as late as
/// `well_since`, when a server that stood still went on.
instant waits::kept_out_until(wait_state const& of, wait_state const* served, instant now,
                              instant well_since) const {
  if (!of.credit) return 0;
  auto const& name = state_.names[state_.parts_of(of.lock).parts.front().name];
  std::set<std::uint32_t> clients;  // each has one place at a time
  instant credits = 0;
  instant first = std::max(name.busy_until, well_since);
  instant until = 0;
  auto const longest_lease = at_server(name.longest_ttl);
  auto const add = [&](std::uint32_t client, instant credit, instant from, instant to) {
    if (clients.insert(client).second) credits = sum(credits, credit);
    first = std::max(first, from);
    until = std::max(until, to);
  };
  auto const add_place = [&](wait_state const& other) {
    auto const& client = state_.clients[other.client];
    if (!has_place(other) || other.over > client.last || is_behind(other, of, now)) return;
    auto const silent = now - client.last > longest_silence;
    auto const away_until = silent ? now : state_.well_since(other.client, now);
    if (away_until <= other.asked.t) return;
    add(other.client, *other.credit, silent ? client.last : std::max(client.silent_from, client.away_from),
        away_until);
  };
  for (auto const* const other : name.waits) {
    if (other != &of) add_place(*other);
  }
  if (served != nullptr) add_place(*served);
  for (auto const& place : name.left) {
    auto const& client = state_.clients[place.client];
    auto const told =
        client.trouble > place.at && state_.trouble_within(place.at, place.at + longest_answer(place.client));
    if ((!place.cut_off && !told) || sum(place.at + longest_lease, place.credit) < of.asked.t) continue;
    // It takes its place away as soon as it can.
    auto const back =
        !client.down && client.last - client.trouble > state_.known.clients[place.client].reply_timeout;
    add(place.client, place.credit, place.at, back ? client.trouble : now);
  }
  if (clients.empty()) return 0;
  return std::min(until, sum(first + longest_lease, credits));
}

/// So late trouble shows that an answer was waited for in vain.
instant waits::longest_answer(std::uint32_t client) const {
  return slack_ + state_.known.clients[client].reply_timeout;
}

/// It came when the caller's place was certain, which it has been since.
bool waits::is_behind(wait_state const& other, wait_state const& of, instant now) const {
  return of.queued.t != 0 && other.asked.t - of.queued.t > state_.doubt(other.client, of.client) &&
         state_.well_since(of.client, now) <= of.queued.t && !state_.trouble_within(of.queued.t, now);
}

/// Whether the server may have heard late of the last end of a lease: its client had trouble, stood still, or
/// was killed.
bool waits::may_be_late(name_state const& name, instant now) const {
  auto const& client = state_.clients[name.last_client];
  auto const ended = name.last_end.t;
  auto const stood_still = client.silent_until > ended && client.silent_from < ended + longest_silence;
  auto const gone =
      !client.closed && client.last < ended + longest_silence && now - client.last > longest_silence;
  auto const trouble = client.trouble > ended - longest_answer(name.last_client);
  return stood_still || gone || (client.trouble != 0 && trouble);
}

void waits::check_free(wait_state const& wait, place const& at, std::string const& text,
                       wait_state const* served) {
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
  auto from = std::max({wait.asked.t, free_since(name, at.t), well_since});
  if (at.t - from <= bound) return;
  from = std::max(from, kept_out_until(wait, served, at.t, well_since));
  if (at.t - from <= bound) return;
  longest = std::max(longest, at.t - from);
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
    if (other == &wait || state_.parts_of(other->lock).of != of.of) continue;
    if (!is_behind(wait, *other, at.t) || state_.clients[other->client].unheard > since) continue;
    finding found{.broken = promise::order,
                  .text = "a caller of the fair lock " + state_.name_text(name) +
                          " was overtaken by one that asked " + time_text(wait.asked.t - since) +
                          " after it was in the queue"};
    state::tell(found, other->client, other->asked, "asked");
    state::tell(found, other->client, other->queued, "queued");
    state::tell(found, wait.client, wait.asked, "asked");
    state::tell(found, wait.client, at, "granted");
    state_.clients[other->client].suspected.push_back(
        {.wait = other->number, .by = wait.client, .at = at.t, .found = std::move(found)});
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
    auto const doubt = state_.doubt(line.client, of.by);
    // By the clocks it may have been the first one.
    auto const served_then = line.event == event::granted && line.t - of.at <= doubt;
    if (gone || ((not_certain || served_then) && line.wait == of.wait)) return true;
    if (line.t - of.at < std::max(slack_, doubt)) return false;
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
