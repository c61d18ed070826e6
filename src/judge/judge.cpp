#include "judge/judge.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace holdfast::judging {
namespace {

using history::event;

/// So many troubles are remembered: a long lease, and a network that is always in trouble.
constexpr std::size_t most_troubles = 100'000;

template <class State>
void erase_from(std::vector<State*>& all, State const* erased) {
  std::erase_if(all, [erased](State const* each) { return each == erased; });
}

}  // namespace

judge::judge(std::vector<std::string> const& paths, options const& tolerances)
    : lines_{known_, paths, tolerances.kept_back, tolerances.hosts},
      state_{.known = known_, .uncertainty = tolerances.uncertainty},
      waits_{state_, tolerances.slack} {}

void judge::run() {
  while (auto const line = lines_.next()) {
    state_.clients.resize(known_.clients.size());
    state_.names.resize(known_.names.size());
    take(*line);
  }
  at_end();
}

void judge::refuse(record const& line, std::string const& why) const {
  throw unreadable{known_.files[line.file] + ", line " + std::to_string(line.line) + ": " + why};
}

void judge::take(record const& line) {
  if (state_.clients[line.client].closed) refuse(line, "its client has ended before");
  waits_.lives(line);
  exclusion_.passed(line.t);
  switch (line.event) {
    case event::asked:
      on_asked(line);
      break;
    case event::queued: {
      auto const& waiting = state_.clients[line.client].waits;
      auto const found = waiting.find(line.wait);
      if (found == waiting.end()) refuse(line, "nobody asked: lines before it are missing");
      found->second->queued = place_of(line);
      break;
    }
    case event::granted:
      on_granted(line);
      break;
    case event::taken:
      on_taken(line);
      break;
    case event::left:
      on_left(line);
      break;
    case event::renewed:
    case event::resumed:
      on_deadline(line);
      break;
    case event::paused:
      on_paused(line);
      break;
    case event::kept:
      on_kept(line);
      break;
    case event::lost:
    case event::released:
      on_end(line);
      break;
    case event::setting:
    case event::set:
    case event::added:
    case event::counted:
    case event::opened:
      numbers_.changed(line);
      break;
    case event::trouble:
      state_.troubles.push_back(line.t);
      if (state_.troubles.size() > most_troubles) state_.troubles.pop_front();
      if (line.moved) exclusion_.moved(line.client);
      break;
    case event::closed:
      on_closed(line);
      break;
    case event::client:
    case event::alive:
      break;
  }
  note_life(line);
}

/// After the line was judged: a pause before it is over with it.
void judge::note_life(record const& line) {
  auto& client = state_.clients[line.client];
  if (client.last == 0) client.arrived = line.t;
  if (client.last != 0 && line.t - client.last > longest_silence) {
    client.silent_from = client.last;
    client.silent_until = line.t;
  }
  if (line.t - client.last > longest_pause) client.awake_since = line.t;
  client.last = line.t;
  if (line.unheard) client.unheard = line.t;
  if (line.event == event::trouble) {
    if (!client.down) client.away_from = line.t;
    client.trouble = line.t;
  }
  if (line.moved) client.arrived = line.t;
  if (line.event != event::alive) return;
  if (!line.fine && !client.down && line.t - client.trouble > longest_pause) client.away_from = line.t;
  if (!line.fine || client.down)
    client.trouble = line.t;  // the first fine line tells that it was away till now
  client.down = !line.fine;
}

void judge::on_asked(record const& line) {
  auto& known = state_.clients[line.client].waits[line.wait];
  if (known) refuse(line, "this wait has begun before");
  known = std::make_unique<wait_state>(wait_state{.client = line.client,
                                                  .lock = line.lock,
                                                  .number = line.wait,
                                                  .amount = std::max<std::int64_t>(line.n, 1),
                                                  .ttl = line.ttl,
                                                  .credit = line.credit,
                                                  .asked = place_of(line)});
  auto const& of = state_.parts_of(line.lock);
  if (of.parts.size() == 1) state_.names[of.parts.front().name].waits.push_back(known.get());
  for (auto const& part : of.parts) {
    auto& longest = state_.names[part.name].longest_ttl;
    longest = std::max(longest, line.ttl);
    if (of.of == history::kind::mutex || of.of == history::kind::mixed)
      state_.names[part.name].barging = true;
    if (part.as == company::permits)
      state_.names[part.name].permits.offer(std::max(part.of_all, line.of_all));
  }
  numbers_.asked(*known, line.of_all);
}

/// The wait isn't among those of its name any more.
std::unique_ptr<wait_state> judge::end_of_wait(record const& line) {
  auto& waiting = state_.clients[line.client].waits;
  auto const found = waiting.find(line.wait);
  if (found == waiting.end()) refuse(line, "nobody asked: lines before it are missing");
  auto result = std::move(found->second);
  waiting.erase(found);
  auto const& of = state_.parts_of(result->lock);
  if (of.parts.size() == 1) erase_from(state_.names[of.parts.front().name].waits, result.get());
  ++state_.result.waits;
  return result;
}

void judge::on_granted(record const& line) {
  auto& known = state_.clients[line.client].holds[line.lease];
  if (known) refuse(line, "this lease has begun before");
  known = std::make_unique<hold_state>(hold_state{.client = line.client,
                                                  .lock = line.lock,
                                                  .number = line.number,
                                                  .instead = line.instead,
                                                  .amount = std::max<std::int64_t>(line.n, 1),
                                                  .token = line.token,
                                                  .until = line.until,
                                                  .ttl = line.ttl,
                                                  .granted = place_of(line),
                                                  .confirmed = place_of(line)});
  auto& hold = *known;
  auto const& before = state_.clients[line.client].released;
  hold.has_new_token = line.wait != 0 || before != lease_identity{.number = line.number, .token = line.token};
  if (line.wait != 0) {
    auto const wait = end_of_wait(line);
    if (wait->lock != line.lock) refuse(line, "the caller asked for another lock");
    hold.asked = wait->asked;
    state_.result.longest_wait = std::max(state_.result.longest_wait, line.t - wait->asked.t);
    waits_.served(*wait, place_of(line));
  }
  ++state_.result.leases;
  exclusion_.begin(hold);
  for (auto const& part : state_.parts_of(hold.lock).parts) {
    auto& name = state_.names[part.name];
    name.holds.push_back(&hold);
    name.newest.add(hold, part.as);
    name.told.told(hold.granted.t, hold.token);
  }
}

void judge::on_taken(record const& line) {
  auto const wait = end_of_wait(line);
  numbers_.taken(*wait, line);
}

void judge::on_left(record const& line) { waits_.left(*end_of_wait(line), place_of(line)); }

hold_state& judge::hold_of(record const& line) {
  auto const& held = state_.clients[line.client].holds;
  auto const found = held.find(line.lease);
  if (found == held.end()) refuse(line, "there is no such lease: lines before it are missing");
  return *found->second;
}

void judge::on_deadline(record const& line) {
  auto& hold = hold_of(line);
  auto const before = hold.in_use ? hold.until : line.t;
  hold.until = line.until;
  if (line.event == event::renewed) hold.confirmed = place_of(line);
  // A renewal may be under way when its holder pauses it.
  if (line.event == event::renewed && !hold.in_use) return;
  hold.in_use = true;
  exclusion_.extended(hold, place_of(line), before);
}

void judge::on_paused(record const& line) {
  auto& hold = hold_of(line);
  exclusion_.end(hold, place_of(line), "gives it back");
  hold.in_use = false;
}

void judge::on_kept(record const& line) {
  auto const& hold = hold_of(line);
  for (auto const& part : state_.parts_of(hold.lock).parts) {
    auto& busy = state_.names[part.name].busy_until;
    busy = std::max(busy, line.until + hold.ttl / 50);
  }
}

void judge::on_end(record const& line) {
  auto& client = state_.clients[line.client];
  auto const was_lost = line.event == event::lost;
  // The guard of a `holdfast run` that was killed may not know of the loss.
  if (!was_lost && client.lost == line.lease) return;
  auto& hold = hold_of(line);
  auto const forced = was_lost && line.cause == loss::forced;
  exclusion_.end(hold, place_of(line), was_lost ? "lost" : "released",
                 forced ? exclusion::ending::forced : exclusion::ending::usual);
  exclusion_.overdue(hold, place_of(line), was_lost ? "lost" : "released");
  auto const unsure = was_lost && line.cause == loss::unreachable;
  for (auto const& part : state_.parts_of(hold.lock).parts) {
    auto& name = state_.names[part.name];
    name.last_end = place_of(line);
    name.last_client = line.client;
    name.last_until = hold.end_at_server();
    if (unsure) name.busy_until = std::max(name.busy_until, hold.end_at_server());
  }
  if (was_lost)
    client.lost = line.lease;
  else
    client.released = {.number = hold.number, .token = hold.token};
  forget(hold);
  client.holds.erase(line.lease);
}

void judge::forget(hold_state const& hold) {
  for (auto const& part : state_.parts_of(hold.lock).parts) erase_from(state_.names[part.name].holds, &hold);
}

void judge::on_closed(record const& line) {
  auto& client = state_.clients[line.client];
  for (auto const& [number, wait] : client.waits) {
    waits_.forgotten(*wait, place_of(line));
    auto const& of = state_.parts_of(wait->lock);
    if (of.parts.size() == 1) erase_from(state_.names[of.parts.front().name].waits, wait.get());
  }
  client.waits.clear();
  if (!client.holds.empty()) refuse(line, "the client ended with a lease: lines before it are missing");
  client.closed = true;
}

/// Clients that are gone without a word: their leases last until their deadlines.
void judge::at_end() {
  for (auto const& client : state_.clients) {
    state_.result.unfinished += client.waits.size() + client.holds.size();
    for (auto const& [number, wait] : client.waits) waits_.unanswered(*wait, {.t = client.last});
    for (auto const& [number, hold] : client.holds) {
      exclusion_.end(*hold, {.t = hold->until}, {});
      exclusion_.overdue(*hold, {.t = client.last}, {});
    }
  }
  exclusion_.passed(std::numeric_limits<instant>::max());
}

void allow_many_files() noexcept {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
}

}  // namespace holdfast::judging
