#include "etcd/reading.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "etcd/barrier_keys.hpp"
#include "etcd/key_names.hpp"
#include "etcd/keys.hpp"
#include "etcd/latch_keys.hpp"
#include "etcd/permit_keys.hpp"

namespace holdfast::etcd {
namespace {

/// Of what others have written.
constexpr std::size_t most_of_a_value = 1024;

/// Of another program its lease is all that tells it from others.
process_info owner_of(key_value const& place) {
  auto process = keys::process_in(place.value);
  if (process.owner.empty()) process.owner = keys::digits_of(place.lease);
  return process;
}

hold_info hold_of(key_value const& place) {
  auto const permits = keys::permit_in(place);
  return {.process = owner_of(place),
          .side = permits                       ? hold_side::permit
                  : keys::is_readers(place.key) ? hold_side::read
                                                : hold_side::exclusive,
          .count = permits ? permits->amount : 1,
          .lease = keys::digits_of(place.lease),
          .token = place.create_revision};
}

void read_readers(lock_state& to, std::span<key_value const> readers) {
  to.kind = lock_kind::read_write;
  to.holders.reserve(readers.size());
  for (auto const& each : readers) to.holders.push_back(hold_of(each));
  to.holder = to.holders.front().process;
  to.token = to.holders.back().token;
  to.holding = std::ssize(to.holders);
}

/// Returns how many of the places hold permits.
std::size_t read_permits(lock_state& to, std::span<key_value const> places) {
  to.kind = lock_kind::permits;
  if (!to.permits) to.permits = keys::permit_in(places.front())->size;
  std::int64_t out = 0;
  for (auto const& each : places) {
    auto const words = keys::permit_in(each);
    if (!words || out + words->amount > *to.permits) break;
    out += words->amount;
    to.holders.push_back(hold_of(each));
  }
  to.available = *to.permits - out;
  to.holding = std::ssize(to.holders);
  if (to.holders.empty()) return 0;
  to.holder = to.holders.front().process;
  to.token = to.holders.back().token;
  return to.holders.size();
}

void read_holder(lock_state& to, key_value const& first) {
  to.holders.push_back(hold_of(first));
  to.holder = to.holders.front().process;
  to.token = first.create_revision;
  to.holding = 1;
  to.kind = keys::owner_in(first.value).empty() ? lock_kind::foreign : lock_kind::exclusive;
  // A leader, by Go's concurrency.Election or etcdctl elect, has its value in its key.
  if (to.kind == lock_kind::foreign && !first.value.empty())
    to.leads = leadership{.value = first.value.substr(0, most_of_a_value), .term = first.create_revision};
}

/// Those that have counted it hold it, so to say, with their time.
void read_latch(lock_state& to, std::string const& folder, key_value const& latch,
                std::span<key_value const> others) {
  auto const words = keys::latch_in(latch.value).value_or(keys::latch_words{});
  to.kind = lock_kind::latch;
  to.permits = words.number;
  to.available = words.number;
  for (auto const& each : others) {
    auto const counted = keys::counted_in(folder, each.key);
    if (!counted) continue;
    to.holders.push_back({.process = keys::process_in(each.value), .side = hold_side::arrived});
    to.holders.back().process.owner = counted->participant;
    *to.available -= counted->number;
  }
  to.holding = std::ssize(to.holders);
  to.waiting = 0;
  if (!to.holders.empty()) to.holder = to.holders.front().process;
}

/// Those that have arrived hold it, so to say. What counts is who lives.
void read_barrier(lock_state& to, std::string const& folder, key_value const& barrier,
                  std::span<key_value const> others) {
  auto const words = barrier_words::read(barrier.value).value_or(barrier_words{});
  to.kind = lock_kind::barrier;
  to.permits = words.parties;
  to.generation = words.generation;
  auto const here = keys::here_for(folder, words.generation);
  for (auto const& each : others) {
    if (!each.key.starts_with(here)) continue;
    to.holders.push_back({.process = keys::process_in(each.value),
                          .side = hold_side::arrived,
                          .lease = keys::digits_of(each.lease)});
  }
  to.holding = std::ssize(to.holders);
  to.available = words.parties - to.holding;
  to.waiting = 0;
  if (!to.holders.empty()) to.holder = to.holders.front().process;
}

std::string in_the_way(key_value const& first) {
  return "the key \"" + first.key + "\" was made first, and is no place of this lock (" +
         (first.lease == 0 ? "it has no lease" : "it belongs to another name") +
         "): whoever wants the lock waits until it is gone";
}

}  // namespace

/// A holder that is no candidate, of Holdfast, says so. Go's concurrency.Mutex can't be told from a leader
/// that has proclaimed nothing.
viewer::leading read_first(key_value const& first) {
  auto const leads = keys::owner_in(first.value).empty();
  return {.leads = leads,
          .owner = leads ? keys::digits_of(first.lease) : std::string{},
          .term = first.create_revision,
          .value = leads ? first.value : std::string{}};
}

lock_state read_queue(std::string_view prefix, std::string const& name, found const& size, found keys,
                      std::size_t queue_entries) {
  lock_state state{.name = name, .on_etcd = true};
  if (!size.keys.empty()) state.permits = keys::size_in(size.keys.front().value);
  if (state.permits) {
    state.available = state.permits;
    std::erase_if(keys.keys, [&](key_value const& each) { return each.key == size.keys.front().key; });
    --keys.count;
  }
  state.type = keys.keys.empty() ? "none" : "key";
  if (keys.keys.empty()) return state;
  auto const folder = keys::folder(prefix, name);
  auto const latch = std::ranges::find(keys.keys, keys::latch_of(folder), &key_value::key);
  if (latch != keys.keys.end() && (latch->value.empty() || keys::latch_in(latch->value))) {
    read_latch(state, folder, *latch, keys.keys);
    return state;
  }
  auto const barrier = std::ranges::find(keys.keys, keys::barrier_of(folder), &key_value::key);
  if (barrier != keys.keys.end() && (barrier->value.empty() || barrier_words::read(barrier->value))) {
    read_barrier(state, folder, *barrier, keys.keys);
    return state;
  }
  auto const is_place = [&](key_value const& each) {
    return keys::name_in(prefix, each.key, each.lease) == name;
  };
  auto const strange = std::ranges::count_if(keys.keys, [&](auto const& each) { return !is_place(each); });
  auto rest = std::span{keys.keys};
  state.waiting = keys.count - strange;
  // Readers that came before all others hold it together.
  auto const reading = static_cast<std::size_t>(
      std::ranges::distance(rest.begin(), std::ranges::find_if(rest, [&](auto const& each) {
                              return !is_place(each) || !keys::is_readers(each.key);
                            })));
  if (reading > 0) {
    read_readers(state, rest.first(reading));
    rest = rest.subspan(reading);
    state.waiting -= std::ssize(state.holders);
  } else if (is_place(rest.front()) && keys::permit_in(rest.front())) {
    rest = rest.subspan(read_permits(state, rest));
    state.waiting -= state.holding;
  } else if (is_place(rest.front())) {
    read_holder(state, rest.front());
    rest = rest.subspan(1);
    --state.waiting;
  } else {
    state.kind = lock_kind::other;
    state.misfit = in_the_way(rest.front());
  }
  for (auto const& each : rest) {
    if (state.queue.size() == queue_entries) break;
    if (!is_place(each)) continue;
    auto const hold = hold_of(each);
    state.queue.push_back({.process = hold.process,
                           .side = hold.side,
                           .count = hold.count,
                           .token = hold.token,
                           .lease = hold.lease});
  }
  return state;
}

}  // namespace holdfast::etcd
