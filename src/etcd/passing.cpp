#include "etcd/passing.hpp"

#include <utility>

#include "etcd/queue_position.hpp"

namespace holdfast::etcd {

using engine::ownership;

/// One transaction deletes the old key and makes the new one. They are under two leases: a transaction can't
/// change a key twice.
struct passing::transfer {
  place_ptr from{};
  acquiring::attempt_ptr to{};
  handler done{};
};

void passing::pass(engine::recipe const& lock_recipe, engine::owned lease,
                   engine::acquire_request const& next, handler done, scripting::send_options const& send) {
  auto const all = std::make_shared<transfer>();
  all->from = places_.find(lease.owner);
  all->done = std::move(done);
  all->to = std::make_shared<acquiring::attempt>();
  all->to->own = places_.find_or_add(lock_recipe, lease.name, next);
  all->to->ttl = next.ttl;
  all->to->join = true;
  all->to->send = send;
  all->to->done = [all](engine::answer<engine::verdict>&& result) {
    auto const report = std::make_shared<handler>(std::exchange(all->done, {}));
    engine::answer<engine::passed> outcome{.sent_at = result.sent_at};
    if (auto const* const found = result.outcome()) {
      outcome.content = engine::passed{.before = ownership::held, .next = *found};
    } else if (result.refusal() != nullptr) {
      outcome.content = *result.refusal();
    } else {
      outcome.content = *result.failure();
    }
    (*report)(std::move(outcome));
  };
  if (!all->from) {
    mail_.put_or_call([this, all] {
      all->to->done = {};
      all->done({.content = engine::passed{.before = ownership::gone}});
      places_.drop(all->to->own);
    });
    return;
  }
  all->from->enqueue([this, all] { all->to->own->enqueue([this, all] { begin(all); }); });
}

/// Ends it without a verdict for the new owner.
void passing::end_without(transfer_ptr const& all, engine::answer<engine::passed>&& result) {
  auto const from = all->from;
  auto const next = all->to->own;
  // Behind a refusal the engine gives the old key back by a request of its own.
  auto const is_given_back_next = result.refusal() != nullptr;
  if (result.failure() != nullptr || (from->unsure && !is_given_back_next)) places::leave_behind(*from);
  if (next->unsure) places::leave_behind(*next);
  if (!is_given_back_next) places_.drop(from);
  all->to->done = {};
  all->done(std::move(result));
  places_.drop(next);
  from->end_step();
  next->end_step();
}

void passing::begin(transfer_ptr const& all) {
  auto& from = *all->from;
  if (!from.lease || from.lease->over || from.revision == 0) {
    mail_.put_or_call(
        [this, all] { end_without(all, {.content = engine::passed{.before = ownership::gone}}); });
    return;
  }
  from.watching.disarm();
  from.end.disarm();
  auto const& next = *all->to;
  places_.take_lease(next.own, next.ttl, next.send, [this, all](response<lease_grant> const* failure) {
    auto& old = *all->from;
    auto& fresh = *all->to->own;
    if (failure != nullptr) {
      end_without(all, server_.no_outcome<engine::passed>(*failure));
      return;
    }
    places_.name_keys(fresh);
    transaction request{
        .when = {{.key = old.key(), .equals = old.revision}},
        .then = {remove{old.key()}, put{.key = fresh.key(), .value = fresh.value, .lease = fresh.lease->id}},
        .otherwise = {range{.key = fresh.key()}}};
    queue_position::ask(request, prefix_, fresh);
    server_.transact(std::move(request), all->to->send,
                     [this, all](response<outcome>&& answer) { on_passed(all, std::move(answer)); });
  });
}

void passing::on_passed(transfer_ptr const& all, response<outcome>&& answer) {
  auto const from = all->from;
  auto const next = all->to;
  auto& to = *next->own;
  to.unsure = to.unsure || answer.resent;
  if (!answer.ok()) {
    to.unsure = to.unsure || (answer.failure && answer.sent);
    if (answer.ended.type == status::kind::no_such_lease) leases_.note_over(to.lease);
    end_without(all, server_.no_outcome<engine::passed>(answer));
    return;
  }
  auto const revision = answer.value.revision;
  auto const succeeded = answer.value.succeeded;
  auto& answers = answer.value.answers;
  auto const copied =
      !succeeded && !answers.at(0).keys.empty() && answers.at(0).keys.front().value == to.value;
  if (!succeeded && !copied) {
    end_without(all, {.content = engine::passed{.before = ownership::gone}, .sent_at = answer.sent_at});
    return;
  }
  // A copy of the request that made the old key may make it again.
  if (from->unsure) places::leave_behind(*from);
  places_.drop(from);
  if (copied) {
    to.revision = answers.at(0).keys.front().create_revision;
    acquiring_.look(next);
  } else {
    to.revision = revision;
    queue_position const position{to, std::move(answer.value), 2};
    to.ahead = position.others;
    acquiring_.on_position(next, position, revision);
  }
  from->end_step();
}

}  // namespace holdfast::etcd
