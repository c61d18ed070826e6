// How a lock on etcd is asked for.

#include <algorithm>
#include <span>
#include <utility>
#include <variant>

#include "etcd/backend.hpp"
#include "etcd/keys.hpp"
#include "etcd/taking.hpp"

namespace holdfast::etcd {
namespace {

using namespace std::chrono_literals;

/// How often one request begins anew, because the lease has ended meanwhile, or somebody has deleted the key.
constexpr int most_beginnings = 5;

/// Not known: the holder's lease may be extended at any time.
constexpr milliseconds unknown_ttl{-2};

}  // namespace

void backend::acquire(engine::recipe const& lock_recipe, std::string_view name,
                      engine::acquire_request const& request, handler<engine::verdict> done,
                      scripting::send_options send) {
  auto const wanted = std::make_shared<taking>();
  wanted->of = at(lock_recipe, name, request);
  wanted->ttl = request.ttl;
  wanted->join = request.join;
  wanted->send = send;
  wanted->done = std::move(done);
  enqueue(wanted->of, [this, wanted] { take(wanted); });
}

void backend::take(taking_ptr const& wanted) {
  auto& of = *wanted->of;
  if (of.lease && of.lease->over) {
    leases_.give(*of.lease, of.claim, boot_clock::now());
    of.lease.reset();
    of.revision = 0;
    of.held = false;
    of.unsure = false;
  }
  if (++wanted->beginnings > most_beginnings) {
    finish(wanted, {.content = engine::failed{
                        .reason = std::make_shared<error const>(
                            errc::refused,
                            client_.url + ": the place in the queue of \"" + of.name +
                                "\" was deleted again and again: does something else delete keys below \"" +
                                keys::folder(prefix_, of.name) + "\"?")}});
    return;
  }
  if (!of.lease) of.lease = leases_.take(of.claim, std::chrono::ceil<std::chrono::seconds>(wanted->ttl));
  leases_.when_granted(of.lease, wanted->send, [this, wanted](response<lease_grant> const* failure) {
    auto& granted = *wanted->of;
    if (failure != nullptr) {
      leases_.give(*granted.lease, granted.claim, boot_clock::now());
      granted.lease.reset();
      finish_failed(wanted, *failure);
      return;
    }
    name_key(granted);
    if (granted.revision == 0) {
      make_key(wanted);
    } else {
      look(wanted);
    }
  });
}

void backend::name_key(place& of) const {
  auto const folder = keys::folder(prefix_, of.name);
  of.key = of.reads ? keys::reading_place(folder, of.lease->id, of.owner) : keys::place(folder, of.lease->id);
}

std::vector<std::pair<std::string, std::string>> backend::waits_for(place const& of) const {
  auto folder = keys::folder(prefix_, of.name);
  if (of.reads) return keys::all_but_readers(folder);
  auto end = keys::end_of(folder);
  return {{std::move(folder), std::move(end)}};
}

range backend::oldest_of(place const& of) const {
  auto const folder = keys::folder(prefix_, of.name);
  return {.key = folder, .end = keys::end_of(folder), .limit = 1};
}

/// Whoever writes waits for all that came earlier, whatever they are; a reader for all of them but readers.
void backend::ask_position(transaction& request, place const& of) const {
  for (auto const& [first, end] : waits_for(of)) {
    request.then.emplace_back(range{.key = first,
                                    .end = end,
                                    .sorted = range::order::newest_first,
                                    .limit = 2,  // its own may be among them
                                    .max_create_revision = of.revision});
  }
  request.then.emplace_back(oldest_of(of));
}

backend::position::position(place const& of, outcome&& answer, std::size_t from) {
  first = std::move(answer.answers.back());
  answer.answers.pop_back();
  for (auto& part : std::span{answer.answers}.subspan(from)) {
    others += part.count;
    for (auto& each : part.keys) {
      if (each.key == of.key) continue;
      if (!before || each.create_revision > before->create_revision) before = std::move(each);
    }
  }
  if (!of.reads) --others;  // itself
}

/// Who waits makes its key in any case. Who only tries makes it if there is none that it would wait for.
void backend::make_key(taking_ptr const& wanted) {
  auto const& of = *wanted->of;
  transaction request{.when = {{.key = of.key, .equals = std::int64_t{0}}},
                      .then = {put{.key = of.key, .value = of.value, .lease = of.lease->id}},
                      .otherwise = {range{.key = of.key}, oldest_of(of)}};
  if (wanted->join) {
    ask_position(request, of);
  } else {
    for (auto const& [first, end] : waits_for(of))
      request.when.push_back({.key = first, .end = end, .equals = std::int64_t{0}});
  }
  server_.transact(std::move(request), wanted->send,
                   [this, wanted](response<outcome>&& answer) { on_made(wanted, std::move(answer)); });
}

void backend::on_made(taking_ptr const& wanted, response<outcome>&& answer) {
  auto& of = *wanted->of;
  of.unsure = of.unsure || answer.resent;
  if (answer.ended.type == status::kind::no_such_lease) {
    leases_.note_over(of.lease);
    take(wanted);
    return;
  }
  if (!answer.ok()) {
    of.unsure = of.unsure || (answer.failure && answer.sent);
    finish_failed(wanted, answer);
    return;
  }
  leases::note_majority(*of.lease, answer.value, answer.sent_at);
  auto const revision = answer.value.revision;
  auto& answers = answer.value.answers;
  if (answer.value.succeeded) {
    of.revision = revision;
    if (!wanted->join) {
      finish_granted(wanted);
      return;
    }
    position const is{of, std::move(answer.value), 1};
    of.ahead = is.others;
    on_position(wanted, is, revision);
    return;
  }
  auto const& own = answers.at(0).keys;
  if (own.empty()) {  // it only tries, and there is another one
    finish_busy(wanted, answers.at(1));
  } else if (own.front().value == of.value) {
    of.revision = own.front().create_revision;
    of.ahead = answers.at(1).count;
    look(wanted);
  } else {
    remove_stale(wanted, own.front());
  }
}

/// An earlier owner of ours has left it: it is under our lease, and nobody has that name under it any more.
void backend::remove_stale(taking_ptr const& wanted, key_value const& stale) {
  server_.transact(
      {.when = {{.key = stale.key, .equals = stale.create_revision}}, .then = {remove{stale.key}}},
      wanted->send, [this, wanted](response<outcome>&& answer) {
        if (answer.ok()) {
          take(wanted);
        } else {
          finish_failed(wanted, answer);
        }
      });
}

void backend::look(taking_ptr const& wanted) {
  auto const& of = *wanted->of;
  transaction request{.when = {{.key = of.key, .equals = of.revision}}};
  ask_position(request, of);
  server_.transact(std::move(request), wanted->send,
                   [this, wanted](response<outcome>&& answer) { on_looked(wanted, std::move(answer)); });
}

void backend::on_looked(taking_ptr const& wanted, response<outcome>&& answer) {
  auto& of = *wanted->of;
  if (!answer.ok()) {
    finish_failed(wanted, answer);
    return;
  }
  if (!answer.value.succeeded) {  // somebody has deleted it, or the lease has ended
    of.revision = 0;
    of.held = false;
    unwatch(of);
    take(wanted);
    return;
  }
  leases::note_majority(*of.lease, answer.value, answer.sent_at);
  auto const revision = answer.value.revision;
  on_position(wanted, position{of, std::move(answer.value), 0}, revision);
}

void backend::on_position(taking_ptr const& wanted, position const& is, std::int64_t revision) {
  auto& of = *wanted->of;
  if (!is.before) {
    finish_granted(wanted);
    return;
  }
  auto const& next = *is.before;
  auto const& first = is.first;
  if (next.lease == 0) {
    auto const reason = std::make_shared<error const>(
        errc::wrong_type,
        client_.url + ": the key \"" + next.key +
            "\" is no place of a lock: it has no lease, so the lock \"" + of.name +
            "\" would never come free; choose another name, or delete the key if nothing needs it");
    give_back(wanted->of, wanted->send, {});
    finish(wanted, {.content = engine::failed{.reason = reason}});
    return;
  }
  of.ahead =
      next.key == first.keys.front().key ? 1 : std::max<std::int64_t>(2, std::min(of.ahead, first.count - 1));
  if (wanted->join) watch(of, next.key, revision + 1);
  finish_busy(wanted, first);
}

/// A lease that was extended long ago is extended first.
void backend::finish_granted(taking_ptr const& wanted) {
  auto& of = *wanted->of;
  unwatch(of);
  auto const lease = of.lease;
  if (boot_clock::now() - lease->alive_from > std::chrono::nanoseconds{lease->ttl} / 2) {
    leases_.confirm(lease, [this, wanted](bool alive) {
      if (alive) {
        look(wanted);
      } else {
        take(wanted);
      }
    });
    return;
  }
  hold(wanted->of, wanted->ttl);
  finish(wanted, {.content = engine::granted{.token = of.revision}, .sent_at = alive_since(of, wanted->ttl)});
}

engine::busy backend::busy_behind(place const& of, found const& first) const {
  engine::busy reply{.pttl = unknown_ttl, .ahead = of.revision != 0 ? of.ahead : -1, .ticket = of.revision};
  if (first.keys.empty()) return reply;
  auto const& holder = first.keys.front();
  reply.holder = keys::owner_in(holder.value);
  if (reply.holder.empty()) reply.holder = holder.key;
  // An owner of this client is either known to the engine, or just leaving.
  if (reply.holder.starts_with(client_.uuid) || leases_.has(holder.lease)) reply.holder.clear();
  return reply;
}

void backend::finish_busy(taking_ptr const& wanted, found const& first) {
  finish(wanted, {.content = busy_behind(*wanted->of, first), .sent_at = boot_clock::now()});
}

void backend::finish(taking_ptr const& wanted, engine::answer<engine::verdict>&& result) {
  auto const of = wanted->of;
  auto const* const found = result.outcome();
  // The engine forgets who has tried in vain, though an earlier copy of the request may still be carried out.
  auto const forgotten = found != nullptr && std::holds_alternative<engine::busy>(*found) && !wanted->join;
  auto done = std::exchange(wanted->done, {});
  done(std::move(result));
  if (of->revision == 0 && (!of->unsure || forgotten) && of->next.empty()) {
    if (of->unsure) leave_behind(*of);
    drop(of);
  }
  go_on(of);
}

}  // namespace holdfast::etcd
