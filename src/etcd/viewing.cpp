#include "etcd/viewing.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "engine/presence.hpp"
#include "etcd/barrier_keys.hpp"
#include "etcd/key_names.hpp"
#include "etcd/keys.hpp"
#include "etcd/latch_keys.hpp"
#include "etcd/permit_keys.hpp"
#include "etcd/reading.hpp"

namespace holdfast::etcd {
namespace {

constexpr std::int64_t keys_of_a_page = 1000;
constexpr milliseconds examination_time{3'000};
constexpr std::chrono::seconds one_second{1};

}  // namespace

void viewing::look(std::vector<std::string> names, std::size_t queue_entries,
                   handler<std::vector<lock_state>> done) {
  transaction request;
  request.then.reserve(2 * names.size());
  auto const limit = std::max<std::int64_t>(fewest_keys, static_cast<std::int64_t>(queue_entries) + 1);
  for (auto const& name : names) {
    auto folder = keys::folder(prefix_, name);
    auto end = keys::end_of(folder);
    request.then.emplace_back(range{.key = keys::size_of(folder)});
    request.then.emplace_back(range{.key = std::move(folder), .end = std::move(end), .limit = limit});
  }
  server_.transact(
      std::move(request), {},
      [this, names = std::move(names), queue_entries, done = std::move(done)](response<outcome>&& answer) {
        std::vector<lock_state> states;
        if (auto failure = server_.failure_of(answer)) {
          done(std::move(failure), std::move(states));
          return;
        }
        states.reserve(names.size());
        for (std::size_t i = 0; i != names.size(); ++i) {
          states.push_back(read_queue(prefix_, names[i], answer.value.answers.at(2 * i),
                                      answer.value.answers.at(2 * i + 1), queue_entries));
        }
        add_times(std::move(states), done);
      });
}

/// What can't be found out stays unknown.
void viewing::add_times(std::vector<lock_state> states, handler<std::vector<lock_state>> done) {
  auto const leases = leases_of(states);
  find_times(leases, [states = std::move(states), done = std::move(done)](
                         std::shared_ptr<error const> failure, lease_times const& times) mutable {
    auto const left_of = [&](std::string const& lease) {
      auto const found = times.find(lease);
      return found == times.end() ? std::nullopt : std::optional{found->second};
    };
    for (auto& state : states) {
      for (auto& hold : state.holders) {
        if (!hold.lease.empty()) state.ttl_left = hold.ttl_left = left_of(hold.lease);
      }
      for (auto& waiter : state.queue) waiter.credit_left = left_of(waiter.lease);
    }
    done(std::move(failure), std::move(states));
  });
}

void viewing::find_waiters(std::string const& name, std::size_t most,
                           handler<std::vector<std::string>> done) {
  auto const folder = keys::folder(prefix_, name);
  range const wanted{.key = folder,
                     .end = keys::end_of(folder),
                     .limit = std::max<std::int64_t>(fewest_keys, static_cast<std::int64_t>(most) + 1),
                     .without_values = true};
  server_.transact({.then = {wanted}}, {},
                   [this, name, most, done = std::move(done)](response<outcome>&& answer) {
                     std::vector<std::string> waiters;
                     if (auto failure = server_.failure_of(answer)) {
                       done(std::move(failure), std::move(waiters));
                       return;
                     }
                     auto const queue = read_queue(prefix_, name, {}, answer.value.answers.at(0), most).queue;
                     waiters.reserve(queue.size());
                     for (auto const& each : queue) waiters.push_back(each.lease);
                     done(nullptr, std::move(waiters));
                   });
}

void viewing::find(std::string const& start, std::string const& from, handler<page> done) {
  auto const first = prefix_ + (from.empty() ? start : from);
  range const wanted{.key = first.empty() ? std::string(1, '\0') : first,
                     .end = keys::end_of(prefix_ + start),
                     .sorted = range::order::by_key,
                     .limit = keys_of_a_page,
                     .without_values = true};
  server_.transact({.then = {wanted}}, {}, [this, done = std::move(done)](response<outcome>&& answer) {
    if (auto failure = server_.failure_of(answer)) {
      done(std::move(failure), {});
      return;
    }
    page part;
    auto const& found = answer.value.answers.at(0).keys;
    std::set<std::string> known;
    for (auto const& each : found) {
      auto name = keys::name_in(prefix_, each.key, each.lease);
      if (!name) name = keys::name_of_latch(prefix_, each.key);
      if (!name) name = keys::name_of_barrier(prefix_, each.key);
      if (name && known.insert(*name).second) part.names.push_back(*std::move(name));
    }
    if (answer.value.answers.at(0).count > std::ssize(found) && !found.empty())
      part.next = found.back().key.substr(prefix_.size()) + '\0';
    done(nullptr, std::move(part));
  });
}

void viewing::read_leader(std::string const& name, handler<leading> done) {
  auto folder = keys::folder(prefix_, name);
  auto end = keys::end_of(folder);
  server_.transact(
      {.then = {range{.key = std::move(folder), .end = std::move(end), .limit = 1}}}, {},
      [this, name, done = std::move(done)](response<outcome>&& answer) {
        if (auto failure = server_.failure_of(answer)) {
          on_leader_read_(name, {}, 0);
          done(std::move(failure), {});
          return;
        }
        auto const& found = answer.value.answers.at(0).keys;
        on_leader_read_(name, found.empty() ? std::string{} : found.front().key, answer.value.revision);
        if (found.empty()) {
          done(nullptr, {});
          return;
        }
        auto const& first = found.front();
        if (keys::name_in(prefix_, first.key, first.lease) != name) {
          done(std::make_shared<error const>(
                   errc::wrong_type, "the key \"" + first.key + "\" is no place of the election \"" + name +
                                         "\", and nobody leads before it is gone"),
               {});
          return;
        }
        server_.time_to_live(first.lease, {},
                             [this, done, seen = read_first(first)](response<lease_time>&& left) mutable {
                               // It is rounded down; a lease that has just ended takes its key along.
                               seen.left = std::max(left.value.left, std::chrono::seconds{0}) + one_second;
                               done(server_.failure_of(left), std::move(seen));
                             });
      });
}

/// The key of a permit says how many there were altogether, which its holder doesn't tell.
void viewing::find_key(std::string const& name, hold_info const& holder,
                       std::function<void(std::shared_ptr<error const>, std::string)> found) {
  auto const folder = keys::folder(prefix_, name);
  auto const lease = keys::lease_in(holder.lease);
  if (holder.side != hold_side::permit) {
    found(nullptr, holder.side == hold_side::read ? keys::reading_place(folder, lease, holder.process.owner)
                                                  : keys::place(folder, lease));
    return;
  }
  auto const first = keys::permits_of(folder);
  server_.transact({.then = {range{.key = first,
                                   .end = keys::end_of(first),
                                   .sorted = range::order::newest_first,
                                   .limit = 1,
                                   .max_create_revision = holder.token,
                                   .without_values = true}}},
                   {}, [this, token = holder.token, found = std::move(found)](response<outcome>&& answer) {
                     if (auto failure = server_.failure_of(answer)) {
                       found(std::move(failure), {});
                       return;
                     }
                     auto& all = answer.value.answers.at(0).keys;
                     auto const there = !all.empty() && all.front().create_revision == token;
                     found(nullptr, there ? std::move(all.front().key) : std::string{});
                   });
}

void viewing::ask_holder(std::string const& name, hold_info const& holder, handler<bool> done) {
  find_key(name, holder,
           [this, lease = keys::lease_in(holder.lease), token = holder.token, done = std::move(done)](
               std::shared_ptr<error const> failure, std::string const& key) {
             if (failure || key.empty()) {
               done(std::move(failure), false);
             } else {
               ask_owner_of(key, lease, token, done);
             }
           });
}

void viewing::ask_owner_of(std::string const& key, std::int64_t lease, std::int64_t token,
                           handler<bool> const& done) {
  auto const by = client_.uuid + ' ' + engine::describe_self(client_.options.label).to_string();
  // Its value has to be kept.
  server_.transact({.when = {{.key = key, .equals = token}}, .then = {range{.key = key}}}, {},
                   [this, key, lease, by, token, done](response<outcome>&& answer) {
                     if (!answer.ok() || !answer.value.succeeded) {
                       done(server_.failure_of(answer), false);
                       return;
                     }
                     auto const& value = answer.value.answers.at(0).keys.at(0).value;
                     server_.transact(
                         {.when = {{.key = key, .equals = token}},
                          .then = {put{.key = key, .value = keys::wanted_back(value, by), .lease = lease}}},
                         {}, [this, done](response<outcome>&& changed) {
                           done(server_.failure_of(changed), changed.ok() && changed.value.succeeded);
                         });
                   });
}

void viewing::take(std::string const& name, hold_info const& holder, handler<bool> done) {
  find_key(name, holder,
           [this, token = holder.token, done = std::move(done)](std::shared_ptr<error const> failure,
                                                                std::string const& key) {
             if (failure || key.empty()) {
               done(std::move(failure), false);
             } else {
               remove_made_in(key, token, done);
             }
           });
}

void viewing::remove_made_in(std::string const& key, std::int64_t revision, handler<bool> const& done) {
  server_.transact({.when = {{.key = key, .equals = revision}}, .then = {remove{key}}}, {},
                   [this, done](response<outcome>&& answer) {
                     // A copy that was carried out before leaves nothing.
                     done(server_.failure_of(answer),
                          answer.ok() && (answer.value.succeeded || answer.resent));
                   });
}

void viewing::examine(handler<cluster_view> done) {
  server_.examine(examination_time,
                  [done = std::move(done)](cluster_view found) { done(nullptr, std::move(found)); });
}

/// The condition never holds, and the server checks the rights of both branches first. The right to write is
/// that to delete.
void viewing::try_rights(std::string const& start, handler<std::shared_ptr<error const>> done) {
  auto const first = prefix_ + start;
  auto const key = first + "holdfast";
  range const all{.key = first.empty() ? std::string(1, '\0') : first,
                  .end = keys::end_of(first),
                  .limit = 1,
                  .without_values = true};
  server_.transact({.when = {{.key = key, .equals = std::int64_t{-1}}},
                    .then = {put{.key = key}, all},
                    .otherwise = {all}},
                   {}, [this, done = std::move(done)](response<outcome>&& answer) {
                     auto failure = server_.failure_of(answer);
                     auto const refused = failure && failure->code() == errc::unauthorized;
                     auto reason = refused ? failure : nullptr;
                     done(refused ? nullptr : failure, std::move(reason));
                   });
}

}  // namespace holdfast::etcd
