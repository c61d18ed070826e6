#include "etcd/acquiring.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include "etcd/barrier_keys.hpp"
#include "etcd/keys.hpp"
#include "etcd/latch_keys.hpp"
#include "etcd/own_keys.hpp"
#include "etcd/permit_keys.hpp"
#include "etcd/stepping_aside.hpp"

namespace holdfast::etcd {
namespace {

using namespace std::chrono_literals;

/// Not known: the holder's lease may be extended at any time.
constexpr milliseconds unknown_ttl{-2};

}  // namespace

void acquiring::acquire(engine::recipe const& lock_recipe, std::string_view name,
                        engine::acquire_request const& request, handler done,
                        scripting::send_options const& send) {
  auto const asked = std::make_shared<attempt>();
  asked->own = places_.find_or_add(lock_recipe, name, request);
  asked->ttl = request.ttl;
  asked->join = request.join;
  asked->send = send;
  asked->done = std::move(done);
  if (asked->own->names.size() > 1) {
    stepping_aside const now{
        std::chrono::duration_cast<std::chrono::microseconds>(boot_clock::now() - asked->own->since)};
    asked->aside = asked->join && now.aside;
    asked->look_again_at = boot_clock::now() + now.left;
  }
  asked->own->enqueue([this, asked] { begin(asked); });
}

template <class Answer>
void acquiring::finish_failed(attempt_ptr const& asked, response<Answer> const& answer) {
  finish(asked, server_.no_outcome<engine::verdict>(answer));
}
template void acquiring::finish_failed(attempt_ptr const&,
                                       response<outcome> const&);  // acquiring_permits.cpp, _aside.cpp

void acquiring::fail(attempt_ptr const& asked, std::string const& reason) {
  finish(asked, {.content = engine::failed{.reason = std::make_shared<error const>(
                                               errc::wrong_type, client_.url + ": " + reason)}});
}

void acquiring::begin(attempt_ptr const& asked) {
  auto& own = *asked->own;
  if (own.lease && own.lease->over) {
    places_.give_lease(own);
    own.revision = 0;
    own.holds = false;
    own.unsure = false;
    own.aside.clear();
    own.asides_in_doubt.clear();
  }
  if (own.lease && own.lease->ttl != std::chrono::ceil<std::chrono::seconds>(asked->ttl)) {
    begin_anew(asked);
    return;
  }
  if (++asked->beginnings > most_beginnings) {
    finish(asked, {.content = engine::failed{
                       .reason = std::make_shared<error const>(
                           errc::refused,
                           client_.url + ": the place in the queue of \"" + own.name() +
                               "\" was deleted again and again: does something else delete keys below \"" +
                               keys::folder(prefix_, own.name()) + "\"?")}});
    return;
  }
  places_.take_lease(asked->own, asked->ttl, asked->send,
                     [this, asked](response<lease_grant> const* failure) {
                       auto& granted = *asked->own;
                       if (failure != nullptr) {
                         finish_failed(asked, *failure);
                         return;
                       }
                       places_.name_keys(granted);
                       if (granted.revision == 0 && granted.amount != 0) {
                         make_permit(asked);
                       } else if (granted.revision == 0) {
                         make_keys(asked);
                       } else {
                         look(asked);
                       }
                     });
}

/// Its place has the lease of a caller before it, who wanted it for another time.
void acquiring::begin_anew(attempt_ptr const& asked) {
  auto& own = *asked->own;
  watching_.unwatch(own);
  own.end.disarm();
  own.watching.disarm();
  own.holds = false;
  auto leave_and_begin = [this, asked] {
    auto& left = *asked->own;
    if (left.unsure || left.may_stand_aside()) {
      give_up_keys(left);
    } else {
      left.revision = 0;
      places_.give_lease(left);
    }
    begin(asked);
  };
  if (own.revision != 0) {
    remove_own(asked, std::move(leave_and_begin));
  } else {
    leave_and_begin();
  }
}

/// Who stands in the queues makes its keys in any case. Others make them if there are none that they would
/// wait for.
void acquiring::make_keys(attempt_ptr const& asked) {
  auto const& own = *asked->own;
  transaction request{.when = own_keys::all(own, std::int64_t{0})};
  own_keys::add_puts(request.then, own);
  if (!own.aside.empty()) request.then.emplace_back(remove{own.aside});
  own_keys::add_reads(request.otherwise, own);
  for (auto const& name : own.names) request.otherwise.emplace_back(oldest_of(prefix_, name));
  if (asked->queues()) {
    queue_position::ask(request, prefix_, own);
  } else {
    for (auto const& name : own.names) {
      for (auto const& [first, end] : waits_for(prefix_, own, name))
        request.when.push_back({.key = first, .end = end, .equals = std::int64_t{0}});
    }
    if (asked->aside) ask_aside(request, own);
  }
  server_.transact(std::move(request), asked->send,
                   [this, asked](response<outcome>&& answer) { on_made(asked, std::move(answer)); });
}

bool acquiring::was_carried_out(attempt_ptr const& asked, response<outcome> const& answer) {
  auto& own = *asked->own;
  own.unsure = own.unsure || answer.resent;
  if (answer.ended.type == status::kind::no_such_lease) {
    leases_.note_over(own.lease);
    begin(asked);
    return false;
  }
  if (!answer.ok()) {
    own.unsure = own.unsure || (answer.failure && answer.sent);
    finish_failed(asked, answer);
    return false;
  }
  leases::note_majority(*own.lease, answer.value, answer.sent_at);
  return true;
}

void acquiring::on_made(attempt_ptr const& asked, response<outcome>&& answer) {
  if (!was_carried_out(asked, answer)) return;
  auto& own = *asked->own;
  auto const revision = answer.value.revision;
  if (answer.value.succeeded) {
    own.revision = revision;
    auto const changes = own.keys.size() + (std::exchange(own.aside, {}).empty() ? 0 : 1);
    places::leave_doubtful_asides(own);
    if (!asked->queues()) {
      finish_granted(asked);
      return;
    }
    queue_position const position{own, std::move(answer.value), changes};
    own.ahead = position.others;
    on_position(asked, position, revision);
    return;
  }
  auto const& answers = answer.value.answers;
  auto const made_before = own_keys::found_in(std::span{answers}.first(own.keys.size()));
  auto const by_same_request = [&](key_value const& each) {
    return each.value == own.value && each.create_revision == made_before.front().create_revision;
  };
  if (made_before.empty()) {
    on_others(asked, std::move(answer.value));
  } else if (made_before.size() == own.keys.size() && std::ranges::all_of(made_before, by_same_request)) {
    own.revision = made_before.front().create_revision;
    releasing_.stop_standing_aside(own);  // the copy that made them may be older than its key there
    own.ahead = answers.at(own.keys.size()).count;
    look(asked);
  } else {
    remove_stale(asked, made_before);
  }
}

/// An earlier owner of ours has left them: they are under our lease, and nobody has these names under it any
/// more. Or somebody has deleted others of several that are our own.
void acquiring::remove_stale(attempt_ptr const& asked, std::span<key_value const> stale) {
  transaction request;
  for (auto const& each : stale) {
    request.when.push_back({.key = each.key, .equals = each.create_revision});
    request.then.emplace_back(remove{each.key});
  }
  carry_out(asked, std::move(request), [this, asked] { begin(asked); });
}

void acquiring::remove_own(attempt_ptr const& asked, std::function<void()> then) {
  auto const& own = *asked->own;
  transaction request{.when = own_keys::all(own, own.revision)};
  own_keys::add_removals(request.then, own);
  carry_out(asked, std::move(request), std::move(then));
}

/// They may be there, or appear, and are never wanted again: it gets a lease under which nothing is left.
void acquiring::give_up_keys(place& own) {
  places::leave_behind(own);
  places_.give_lease(own);
  own.keys.clear();
  own.aside.clear();
  own.revision = 0;
  own.unsure = false;
}

void acquiring::carry_out(attempt_ptr const& asked, transaction request, std::function<void()> then) {
  server_.transact(std::move(request), asked->send,
                   [this, asked, then = std::move(then)](response<outcome>&& answer) {
                     if (answer.ok()) {
                       then();
                     } else {
                       give_up_keys(*asked->own);  // it may be carried out when they have the lock
                       finish_failed(asked, answer);
                     }
                   });
}

void acquiring::look(attempt_ptr const& asked) {
  auto const& own = *asked->own;
  transaction request{.when = own_keys::all(own, own.revision)};
  if (own.amount != 0) {
    permit_position::ask(request.then, keys::folder(prefix_, own.name()), own.revision);
  } else {
    queue_position::ask(request, prefix_, own);
  }
  server_.transact(std::move(request), asked->send,
                   [this, asked](response<outcome>&& answer) { on_looked(asked, std::move(answer)); });
}

void acquiring::on_looked(attempt_ptr const& asked, response<outcome>&& answer) {
  auto& own = *asked->own;
  if (!answer.ok()) {
    finish_failed(asked, answer);
    return;
  }
  if (!answer.value.succeeded) {  // somebody has deleted it, or the lease has ended
    own.revision = 0;
    own.holds = false;
    watching_.unwatch(own);
    begin(asked);
    return;
  }
  leases::note_majority(*own.lease, answer.value, answer.sent_at);
  auto const revision = answer.value.revision;
  if (own.amount != 0) {
    on_permit_position(asked, permit_position{own.key(), own.amount, answer.value.answers}, revision);
  } else {
    on_position(asked, queue_position{own, std::move(answer.value), 0}, revision);
  }
}

/// Empty: it may be one, as far as anybody can tell.
std::string acquiring::why_no_place(std::string const& name, key_value const& before) const {
  auto const is = [&](std::string_view what) {
    return '"' + name + "\" is " + std::string{what} + "; choose another name";
  };
  if (keys::permit_in(before)) return is("a semaphore");
  auto const folder = keys::folder(prefix_, name);
  if (before.key.starts_with(keys::latch_of(folder))) return is("a latch");
  if (before.key.starts_with(keys::barrier_of(folder))) return is("a barrier");
  if (before.lease != 0) return {};
  return "it has no lease, so the lock \"" + name +
         "\" would never come free; choose another name, or delete the key if nothing needs it";
}

void acquiring::on_position(attempt_ptr const& asked, queue_position const& position, std::int64_t revision) {
  auto& own = *asked->own;
  if (!position.before) {
    finish_granted(asked);
    return;
  }
  auto const& next = *position.before;
  auto const& first = position.first;
  if (auto const reason = why_no_place(position.name, next); !reason.empty()) {
    releasing_.give_back(asked->own, asked->send, {});
    fail(asked, "the key \"" + next.key + "\" is no place of a lock: " + reason);
    return;
  }
  auto const most_ahead = own.names.size() == 1 ? std::min(own.ahead, first.count - 1) : first.count - 1;
  own.ahead = next.key == first.keys.front().key ? 1 : std::max<std::int64_t>(2, most_ahead);
  if (asked->aside) {
    remove_own(asked, [this, asked] {
      asked->own->revision = 0;
      make_keys(asked);
    });
    return;
  }
  if (asked->join) watching_.watch(asked->own, next.key, revision + 1);
  finish_busy(asked, busy_behind(own, first));
}

/// A lease that was extended long ago is extended first.
void acquiring::finish_granted(attempt_ptr const& asked) {
  auto& own = *asked->own;
  watching_.unwatch(own);
  auto const lease = own.lease;
  if (boot_clock::now() - lease->alive_from > std::chrono::nanoseconds{lease->ttl} / 2) {
    leases_.confirm(lease, asked->send, [this, asked](client_lease::confirmation found) {
      if (found == client_lease::confirmation::alive) {
        look(asked);
      } else if (found == client_lease::confirmation::over) {
        begin(asked);
      } else {
        finish(asked, {.content = engine::failed{.reason = leases_.unanswered(), .sent = true}});
      }
    });
    return;
  }
  holding_.hold(asked->own, asked->ttl);
  finish(asked, {.content = engine::granted{.token = own.revision},
                 .sent_at = holding::alive_since(own, asked->ttl)});
}

engine::busy acquiring::busy_behind(place const& waiter, found const& first) const {
  engine::busy reply{
      .pttl = unknown_ttl, .ahead = waiter.revision != 0 ? waiter.ahead : -1, .ticket = waiter.revision};
  if (first.keys.empty()) return reply;
  auto const& holder = first.keys.front();
  reply.holder = keys::owner_in(holder.value);
  if (reply.holder.empty()) reply.holder = holder.key;
  // An owner of this client is either known to the engine, or just leaving.
  if (reply.holder.starts_with(client_.uuid) || leases_.has(holder.lease)) reply.holder.clear();
  return reply;
}

void acquiring::finish_busy(attempt_ptr const& asked, engine::busy&& reply) {
  if (asked->join && asked->own->names.size() > 1) watching_.wake_at(asked->own, asked->look_again_at);
  finish(asked, {.content = std::move(reply), .sent_at = boot_clock::now()});
}

void acquiring::finish(attempt_ptr const& asked, engine::answer<engine::verdict>&& result) {
  auto const own = asked->own;
  auto const* const found = result.outcome();
  // The engine forgets who has tried in vain, though an earlier copy of the request may still be carried out.
  auto const forgotten = found != nullptr && std::holds_alternative<engine::busy>(*found) && !asked->join;
  // Any of its requests may have made the key, not the last one alone.
  if (own->revision != 0 || own->unsure || own->may_stand_aside()) {
    if (auto* const failure = std::get_if<engine::failed>(&result.content)) failure->sent = true;
    if (auto* const refusal = std::get_if<engine::refused>(&result.content)) refusal->resent = true;
  }
  auto done = std::exchange(asked->done, {});
  done(std::move(result));
  auto const waits = own->revision != 0 || own->watch != 0 || !own->watches.empty() || own->may_stand_aside();
  if (!waits && (!own->unsure || forgotten) && !own->has_more_steps()) {
    if (own->unsure) places::leave_behind(*own);
    places_.drop(own);
  }
  own->end_step();
}

}  // namespace holdfast::etcd
