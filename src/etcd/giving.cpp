// How a lock on etcd is given back, and passed on to another owner of this client.

#include <utility>

#include "etcd/backend.hpp"
#include "etcd/keys.hpp"
#include "etcd/taking.hpp"

namespace holdfast::etcd {

using engine::ownership;

void backend::release(engine::recipe const& /*lock_recipe*/, engine::owned lease,
                      engine::release_policy /*policy*/, handler<ownership> done,
                      scripting::send_options send) {
  auto const of = find(lease.owner);
  auto const answered = std::make_shared<handler<ownership>>(std::move(done));
  auto const report = [answered](engine::answer<ownership>&& result, bool /*was_held*/) {
    if (*answered) (*answered)(std::move(result));
  };
  if (!of) {
    later([report] { report({.content = ownership::gone}, false); });
    return;
  }
  give_back(of, send, report);
}

void backend::abandon(engine::recipe const& /*lock_recipe*/, engine::owned lease,
                      engine::release_policy /*policy*/, handler<engine::abandoned> done,
                      scripting::send_options send) {
  auto const of = find(lease.owner);
  auto const answered = std::make_shared<handler<engine::abandoned>>(std::move(done));
  auto const report = [answered](engine::answer<ownership>&& result, bool was_held) {
    if (!*answered) return;
    engine::answer<engine::abandoned> outcome{.content = engine::abandoned{.had_lock = was_held},
                                              .sent_at = result.sent_at};
    if (auto const* const refusal = result.refusal()) outcome.content = *refusal;
    if (auto const* const failure = result.failure()) outcome.content = *failure;
    (*answered)(std::move(outcome));
  };
  if (!of) {
    later([report] { report({.content = ownership::gone}, false); });
    return;
  }
  give_back(of, send, report);
}

void backend::give_back(place_ptr const& of, scripting::send_options const& send, given_handler done) {
  enqueue(of, [this, of, send, done = std::move(done)] { begin_giving_back(of, send, done); });
}

void backend::begin_giving_back(place_ptr const& of, scripting::send_options const& send,
                                given_handler const& done) {
  of->watching.disarm();
  of->end.disarm();
  unwatch(*of);
  auto const was_held = of->held;
  auto const report = [this, of, done, was_held](engine::answer<ownership>&& result) {
    drop(of);
    if (done) done(std::move(result), was_held);
    go_on(of);
  };
  auto const nothing = !of->lease || of->lease->over || of->key.empty() || (of->revision == 0 && !of->unsure);
  if (nothing) {
    later([report] { report({.content = ownership::gone}); });
    return;
  }
  condition const still{.key = of->key,
                        .equals = of->revision != 0 ? decltype(condition::equals){of->revision}
                                                    : decltype(condition::equals){of->value}};
  server_.transact(
      {.when = {still}, .then = {etcd::remove{of->key}}}, send,
      [this, of, report](response<outcome>&& answer) {
        if (!answer.ok() || of->unsure) leave_behind(*of);
        if (!answer.ok()) {
          if (answer.ended.type == status::kind::no_such_lease) leases_.note_over(of->lease);
          report(no_outcome<ownership>(answer));
          return;
        }
        // A copy that was carried out before leaves nothing.
        auto const still_held = answer.value.succeeded || answer.resent;
        report({.content = still_held ? ownership::held : ownership::gone, .sent_at = answer.sent_at});
      });
}

/// One transaction deletes the old key and makes the new one. They are under two leases: a transaction can't
/// change a key twice.
struct backend::passing {
  place_ptr from{};
  taking_ptr to{};
  handler<engine::passed> done{};
};

void backend::pass(engine::recipe const& lock_recipe, engine::owned lease, engine::release_policy /*policy*/,
                   engine::acquire_request const& next, handler<engine::passed> done,
                   scripting::send_options send) {
  auto const all = std::make_shared<passing>();
  all->from = find(lease.owner);
  all->done = std::move(done);
  all->to = std::make_shared<taking>();
  all->to->of = at(lock_recipe, lease.name, next);
  all->to->ttl = next.ttl;
  all->to->join = true;
  all->to->send = send;
  all->to->done = [all](engine::answer<engine::verdict>&& result) {
    auto const report = std::make_shared<decltype(all->done)>(std::exchange(all->done, {}));
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
    later([this, all] {
      all->to->done = {};
      all->done({.content = engine::passed{.before = ownership::gone}});
      drop(all->to->of);
    });
    return;
  }
  enqueue(all->from, [this, all] { enqueue(all->to->of, [this, all] { begin_passing(all); }); });
}

void backend::begin_passing(std::shared_ptr<passing> const& all) {
  auto& from = *all->from;
  auto& to = *all->to->of;
  auto const end_without = [this, all](engine::answer<engine::passed>&& result, bool leave) {
    all->to->done = {};
    if (leave) leave_behind(*all->from);
    drop(all->from);
    all->done(std::move(result));
    drop(all->to->of);
    go_on(all->from);
    go_on(all->to->of);
  };
  if (!from.lease || from.lease->over || from.revision == 0) {
    later([end_without] { end_without({.content = engine::passed{.before = ownership::gone}}, false); });
    return;
  }
  from.watching.disarm();
  from.end.disarm();
  to.lease = leases_.take(to.claim, std::chrono::ceil<std::chrono::seconds>(all->to->ttl));
  leases_.when_granted(
      to.lease, all->to->send, [this, all, end_without](response<lease_grant> const* failure) {
        auto& old = *all->from;
        auto& fresh = *all->to->of;
        if (failure != nullptr) {
          leases_.give(*fresh.lease, fresh.claim, boot_clock::now());
          fresh.lease.reset();
          end_without(no_outcome<engine::passed>(*failure), true);
          return;
        }
        name_key(fresh);
        transaction request{.when = {{.key = old.key, .equals = old.revision}},
                            .then = {etcd::remove{old.key},
                                     put{.key = fresh.key, .value = fresh.value, .lease = fresh.lease->id}},
                            .otherwise = {range{.key = fresh.key}}};
        ask_position(request, fresh);
        server_.transact(std::move(request), all->to->send,
                         [this, all](response<outcome>&& answer) { on_passed(all, std::move(answer)); });
      });
}

void backend::on_passed(std::shared_ptr<passing> const& all, response<outcome>&& answer) {
  auto const from = all->from;
  auto const wanted = all->to;
  auto& to = *wanted->of;
  to.unsure = to.unsure || answer.resent;
  if (!answer.ok()) {
    to.unsure = to.unsure || answer.sent;
    if (answer.ended.type == status::kind::no_such_lease) leases_.note_over(to.lease);
    leave_behind(*from);
    if (to.unsure) leave_behind(to);
    drop(from);
    wanted->done = {};
    all->done(no_outcome<engine::passed>(answer));
    drop(wanted->of);
    go_on(from);
    go_on(wanted->of);
    return;
  }
  auto const revision = answer.value.revision;
  auto const succeeded = answer.value.succeeded;
  auto& answers = answer.value.answers;
  auto const copied =
      !succeeded && !answers.at(0).keys.empty() && answers.at(0).keys.front().value == to.value;
  if (!succeeded && !copied) {
    drop(from);
    if (to.unsure) leave_behind(to);
    wanted->done = {};
    all->done({.content = engine::passed{.before = ownership::gone}, .sent_at = answer.sent_at});
    drop(wanted->of);
    go_on(from);
    go_on(wanted->of);
    return;
  }
  drop(from);
  if (copied) {
    to.revision = answers.at(0).keys.front().create_revision;
    look(wanted);
  } else {
    to.revision = revision;
    position const is{to, std::move(answer.value), 2};
    to.ahead = is.others;
    on_position(wanted, is, revision);
  }
  go_on(from);
}

/// A release by force says in the value of the holder's key that it wants the lock back.
void backend::find_petition(engine::recipe const& /*lock_recipe*/, engine::owned lease, handler<bool> done,
                            scripting::send_options send) {
  auto const of = find(lease.owner);
  auto const answered = std::make_shared<handler<bool>>(std::move(done));
  if (!of || !of->held || of->revision == 0) {
    later([answered] { (*answered)({.content = false}); });
    return;
  }
  server_.transact(
      {.when = {{.key = of->key, .equals = of->revision}}, .then = {range{.key = of->key}}}, send,
      [this, answered](response<outcome>&& answer) {
        if (!answer.ok()) {
          (*answered)(no_outcome<bool>(answer));
          return;
        }
        (*answered)({.content = answer.value.succeeded &&
                                keys::is_wanted_back(answer.value.answers.at(0).keys.at(0).value),
                     .sent_at = answer.sent_at});
      });
}

}  // namespace holdfast::etcd
