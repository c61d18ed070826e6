#include "engine/contention/ghosts.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "base/whole_number.hpp"
#include "engine/replies.hpp"
#include "script/names.hpp"
#include "scripts/exclusive.hpp"
#include "scripts/permits.hpp"
#include "scripts/quorum.hpp"
#include "scripts/shared.hpp"

namespace holdfast::engine {
namespace {

/// How often a contender clears ghosts, as the server may refuse. More than once, since a script that the
/// server has forgotten runs after the contender's next request.
constexpr int most_ghosts = 4;

/// The number in an owner id; zero if it isn't an id of that client.
std::uint64_t number_under(std::string_view uuid, std::string_view owner) noexcept {
  if (owner.size() <= uuid.size() + 1 || !owner.starts_with(uuid) || owner[uuid.size()] != ':') return 0;
  owner.remove_prefix(uuid.size() + 1);
  return whole_number<std::uint64_t>(names::without_suffix(owner)).value_or(0);
}

/// Ends a wait for a lock of the plain wire format of which only the name is known.
template <class Script>
call leave_queue(std::string_view name, std::string_view owner, publishing mode) {
  auto const counter = names::token_counter(name);
  auto const queue = names::queue(name);
  // Grants the lock to the next waiter, as strict order does: it may be such a lock.
  return Script{.lock = {name},
                .counter = {counter},
                .queue = {queue},
                .owner = owner,
                .starvation_us = 0,
                .grant_ms = grant_ttl.count(),
                .publish = word_of(mode)}();
}

/// The same for a reader, or for an upgrade lease.
call leave_readers(std::string_view name, std::string_view owner, std::string_view suffix, publishing mode) {
  auto const counter = names::token_counter(name);
  auto const queue = names::queue(name);
  auto const readers = names::readers(name);
  auto const id = std::string{owner}.append(suffix);
  return scripts::shared::abandon{.lock = {name},
                                  .counter = {counter},
                                  .queue = {queue},
                                  .readers = {readers},
                                  .owner = id,
                                  .starvation_us = 0,
                                  .grant_ms = grant_ttl.count(),
                                  .publish = word_of(mode)}();
}

/// The same for permits.
call leave_permits(std::string_view name, std::string_view owner, publishing mode) {
  auto const counter = names::token_counter(name);
  auto const queue = names::permit_queue(name);
  auto const size = names::permits(name);
  return scripts::permits::abandon{.lock = {name},
                                   .counter = {counter},
                                   .queue = {queue},
                                   .size = {size},
                                   .owner = owner,
                                   .grant_ms = grant_ttl.count(),
                                   .publish = word_of(mode),
                                   .remember_ms = 0}();
}

}  // namespace

/// Whether nothing of the acquisition is left: no contender, no lease (not even a handed-over one), and no
/// key that is to stay. It was for one of `names`, perhaps with others. Scans all locks of the process only
/// if a kind with several names is in use, as it runs for each late message.
bool ghosts::is_over(std::uint64_t number, std::span<std::string_view const> names, time_point now) const {
  if (stopped_ || number == 0 || number > queues_.last_number()) return false;
  if (queues_.contending(number) != nullptr || departed_.has_left_key(number, now)) return false;
  if (holders_.has_shared(number)) return false;
  return !any_queue_of(names, [number](lock_queue const& queue) {
    return queue.holder != nullptr && queue.holder->number() == number;
  });
}

template <class Predicate>
bool ghosts::any_queue_of(std::span<std::string_view const> names, Predicate fits) const {
  auto const has_one_name = [](recipe const* lock_recipe) { return lock_recipe->several == nullptr; };
  if (!std::ranges::all_of(queues_.kinds(), has_one_name)) return queues_.any_of(fits);
  for (auto const name : names) {
    for (auto const* const lock_recipe : queues_.kinds()) {
      auto const* const known = queues_.find(*lock_recipe, name);
      if (known != nullptr && fits(*known)) return true;
    }
  }
  return false;
}

void ghosts::answer_for(std::uint64_t number, std::string_view name, time_point now) {
  if (name.empty() || !is_over(number, {&name, 1}, now)) return;
  auto const owner = client_.owner_id(number);
  auto const mode = notifications_.publish_method();
  scripting::send_options const sending{.while_down = net::retry_policy::endless, .give_up = now + grant_ttl};
  if (client_.deployment.votes) {
    backend_.run(leave_queue<scripts::quorum::abandon>(name, owner, mode), {}, sending);
    return;
  }
  // Nothing tells whether it waited to read, to write, or for permits.
  backend_.run(leave_queue<scripts::exclusive::abandon>(name, owner, mode), noting(number), sending);
  for (auto const suffix : {names::reader_suffix, names::upgrade_suffix})
    backend_.run(leave_readers(name, owner, suffix, mode), noting(number), sending);
  backend_.run(leave_permits(name, owner, mode), noting(number), sending);
}

/// A message may come late, or beside the answer that granted the lock. Then the request here may give back
/// the lock before a release that is under way does, which is noted for that release.
callback<void(net::response&&)> ghosts::noting(std::uint64_t number) const {
  return [past = &departed_, number](net::response&& response) {
    if (auto const found = replies::read_abandon(std::move(response));
        found.outcome() != nullptr && found.outcome()->had_lock)
      past->note_cleared(number);
  };
}

bool ghosts::clear(lock_queue& queue, std::string_view holder, time_point now) {
  auto const number = number_under(client_.uuid, holder);
  auto& contender = *queue.contender;
  if (number == 0 || contender.ghosts == most_ghosts || queue.waiters.empty()) return false;
  if (number == queue.releasing) return false;  // the busy reply may be older; in strict order it is
  if (!queue.lock_recipe().leased || queue.lock_recipe().abandon == nullptr) return false;
  std::string_view const name = queue.name();
  auto const all = queue.lock_recipe().all_names(name);
  if (!is_over(number, all, now)) return false;
  // A release of another kind is under way. To abandon the number as this kind would bring back the upgrade
  // lease that the writer with this number replaced.
  if (any_queue_of(all, [number](lock_queue const& other) { return other.releasing == number; }))
    return false;
  ++contender.ghosts;
  departed_.note_cleared(number);
  for (auto const suffix : {names::reader_suffix, names::upgrade_suffix}) {
    if (!holder.ends_with(suffix)) continue;
    for (auto const each : all) {
      backend_.run(leave_readers(each, client_.owner_id(number), suffix, notifications_.publish_method()), {},
                   {.while_down = net::retry_policy::endless, .give_up = now + grant_ttl});
    }
    return true;
  }
  pending_releases_.abandon(queue, number, contender.policy, now);
  return true;
}

}  // namespace holdfast::engine
