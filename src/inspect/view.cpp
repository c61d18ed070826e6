#include "inspect/view.hpp"

#include <algorithm>

#include "base/distinct.hpp"
#include "engine/failure.hpp"
#include "inspect/slot_parts.hpp"
#include "script/names.hpp"
#include "scripts/inspect.hpp"

namespace holdfast::inspection {
namespace {

namespace lua = scripts::inspect;

/// The most records that are kept; at more, all are dropped.
constexpr std::size_t most_known = 4096;
/// The most records in one request.
constexpr std::size_t records_in_one = 32;

std::string_view word_of(look_for scope) {
  switch (scope) {
    case look_for::both:
      return "both";
    case look_for::plain:
      return "plain";
    case look_for::holder:
      break;
  }
  return "holder";
}

}  // namespace

error refused(resp::reply const& refusal, std::string_view about, engine::core const& server) {
  auto const reason = engine::explain(refusal.text, about, server.constants());
  if (reason->code() != errc::unauthorized) return error{*reason};
  return {errc::unauthorized,
          server.constants().url + ": not allowed to look for or at \"" + std::string{about} +
              "\": " + refusal.text +
              "; that needs the rights +eval +evalsha +scan +type +get +getrange +pttl +zcard +zrange +time "
              "+hgetall, for Redisson's objects also +hget +hkeys +hlen +hscan +hstrlen +hexists +exists "
              "+llen +lrange "
              "+lindex +zscore +zcount +zrangebyscore +pubsub, and +del +set +zpopmin +publish with the "
              "channels of the name and &holdfast_inbox:* (for Redisson's objects &redisson_* +hdel +incrby "
              "+lpop +zrem +pexpire) to release by force; keys ~* to search"};
}

std::vector<resp::reply> ask_all(engine::core& server, std::span<call const> scripts,
                                 std::string_view about) {
  std::vector<resp::reply> all;
  all.reserve(scripts.size());
  while (!scripts.empty()) {
    auto const batch = scripts.first(std::min(scripts.size(), pipeline_length));
    for (auto& reply : server.requests().ask(batch)) {
      if (reply.is_error()) throw refused(reply, about, server);
      all.push_back(std::move(reply));
    }
    scripts = scripts.subspan(batch.size());
  }
  return all;
}

resp::reply ask_one(engine::core& server, call const& script, std::string_view about) {
  return std::move(ask_all(server, {&script, 1}, about).front());
}

call look_at(std::string_view name, engine::publishing publish, std::int64_t queue_entries, look_for scope) {
  return lua::state{.lock = {name},
                    .counter = {name, names::side_key::counter},
                    .queue = {name, names::side_key::queue},
                    .most = queue_entries,
                    .publish = word_of(publish),
                    .scope = word_of(scope)}();
}

call look_at_several(std::span<std::string const> names, engine::publishing publish, look_for scope,
                     std::int64_t queue_entries) {
  std::vector<key> keys;
  keys.reserve(names.size() * 3);
  for (auto const& name : names) {
    keys.push_back({name});
    keys.push_back({name, names::side_key::counter});
    keys.push_back({name, names::side_key::queue});
  }
  return lua::states{.names = std::move(keys),
                     .waiters = queue_entries,
                     .publish = word_of(publish),
                     .scope = word_of(scope)}();
}

void directory::forget_unknown() {
  std::erase_if(known_, [](auto const& each) { return each.second.record.is_missing(); });
}

bool directory::may_say_trace_of(process_info const& holder) const {
  auto const found = known_.find(std::string{engine::uuid_of(holder.owner)});
  return holder.trace.empty() && found != known_.end() && found->second.record.traces;
}

bool directory::wants(std::string const& uuid, process_info const& process, time_point now) const {
  if (uuid.empty()) return false;
  auto const found = known_.find(uuid);
  if (found == known_.end()) return true;
  auto const& [record, read_at] = found->second;
  if (record.is_missing() || now < read_at + record.lasts()) return false;
  return record.of(process.owner).trace.empty();
}

void directory::read(std::span<std::string const> uuids, std::string_view about) {
  std::vector<std::string> records;
  records.reserve(uuids.size());
  for (auto const& uuid : uuids) records.push_back(names::client_record(uuid));
  std::vector<call> questions;
  std::vector<std::vector<std::size_t>> asked;  // places in `uuids`
  for_each_slot_part(server_, records, records_in_one, [&](std::span<std::size_t const> places) {
    std::vector<key> keys;
    keys.reserve(places.size());
    for (auto const place : places) keys.push_back({records[place]});
    questions.push_back(lua::records{.records = std::move(keys)}());
    asked.emplace_back(places.begin(), places.end());
    return true;
  });
  requests_ += questions.size();
  auto const now = boot_clock::now();
  auto const replies = ask_all(server_, questions, about);
  for (std::size_t i = 0; i != asked.size(); ++i) {
    for (std::size_t j = 0; j != std::min(asked[i].size(), replies[i].size()); ++j)
      known_.insert_or_assign(uuids[asked[i][j]], entry{engine::read_record(replies[i][j]), now});
  }
}

void directory::complete(std::span<process_info* const> processes, std::string_view about) {
  if (known_.size() > most_known) known_.clear();
  auto const now = boot_clock::now();
  std::vector<std::string> missing;
  for (auto const* const process : processes) {
    std::string uuid{engine::uuid_of(process->owner)};
    if (wants(uuid, *process, now)) missing.push_back(std::move(uuid));
  }
  make_distinct(missing);
  read(missing, about);

  for (auto* const process : processes) {
    auto const found = known_.find(std::string{engine::uuid_of(process->owner)});
    if (found == known_.end()) continue;
    *process = found->second.record.of(std::move(process->owner));
  }
}

void directory::complete(std::span<lock_state* const> states, std::string_view about,
                         std::size_t named_holders) {
  std::vector<process_info*> processes;
  for (auto* const state : states) {
    processes.push_back(&state->holder);
    for (auto& hold : std::span{state->holders}.first(std::min(named_holders, state->holders.size())))
      processes.push_back(&hold.process);
    for (auto& waiter : state->queue) processes.push_back(&waiter.process);
  }
  complete(processes, about);
}

}  // namespace holdfast::inspection
