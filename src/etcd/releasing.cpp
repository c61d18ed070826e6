#include "etcd/releasing.hpp"

#include <cstddef>
#include <utility>

#include "etcd/own_keys.hpp"

namespace holdfast::etcd {

namespace {

/// That is its own key: by when it was made, or by its text.
decltype(condition::equals) as_made(place const& left) {
  if (left.revision != 0) return left.revision;
  return left.value;
}

}  // namespace

using engine::ownership;

void releasing::release(engine::owned lease, handler<ownership> done, scripting::send_options const& send) {
  auto const answered = std::make_shared<handler<ownership>>(std::move(done));
  auto const report = [answered](engine::answer<ownership>&& result, bool /*had_lock*/) {
    if (*answered) (*answered)(std::move(result));
  };
  give_back_of(lease.owner, send, report);
}

void releasing::abandon(engine::owned lease, handler<engine::abandoned> done,
                        scripting::send_options const& send) {
  auto const answered = std::make_shared<handler<engine::abandoned>>(std::move(done));
  auto const report = [answered](engine::answer<ownership>&& result, bool had_lock) {
    if (!*answered) return;
    engine::answer<engine::abandoned> outcome{.content = engine::abandoned{.had_lock = had_lock},
                                              .sent_at = result.sent_at};
    if (auto const* const refusal = result.refusal()) outcome.content = *refusal;
    if (auto const* const failure = result.failure()) outcome.content = *failure;
    (*answered)(std::move(outcome));
  };
  give_back_of(lease.owner, send, report);
}

void releasing::give_back_of(std::string_view owner, scripting::send_options const& send,
                             released_handler done) {
  if (auto const left = places_.find(owner)) {
    give_back(left, send, std::move(done));
    return;
  }
  mail_.put_or_call([done = std::move(done)] { done({.content = ownership::gone}, false); });
}

void releasing::give_back(place_ptr const& left, scripting::send_options const& send, released_handler done) {
  left->enqueue([this, left, send, done = std::move(done)] { begin(left, send, done); });
}

void releasing::begin(place_ptr const& left, scripting::send_options const& send,
                      released_handler const& done) {
  left->watching.disarm();
  left->end.disarm();
  watching_.unwatch(*left);
  stop_standing_aside(*left);
  auto const had_lock = left->holds;
  auto const report = [this, left, done, had_lock](engine::answer<ownership>&& result) {
    places_.drop(left);
    if (done) done(std::move(result), had_lock);
    left->end_step();
  };
  auto const nothing =
      !left->lease || left->lease->over || left->keys.empty() || (left->revision == 0 && !left->unsure);
  if (nothing) {
    mail_.put_or_call([report] { report({.content = ownership::gone}); });
    return;
  }
  transaction request{.when = own_keys::all(*left, as_made(*left))};
  own_keys::add_removals(request.then, *left);
  server_.transact(std::move(request), send, [this, left, send, report](response<outcome>&& answer) {
    if (!answer.ok() || left->unsure) places::leave_behind(*left);
    if (!answer.ok()) {
      if (answer.ended.type == status::kind::no_such_lease) leases_.note_over(left->lease);
      report(server_.no_outcome<ownership>(answer));
      return;
    }
    if (!answer.value.succeeded && left->keys.size() > 1) {
      remove_each(left, send, [report, resent = answer.resent](bool some_were_left) {
        report({.content = resent && !some_were_left ? ownership::held : ownership::gone});
      });
      return;
    }
    // A copy that was carried out before leaves nothing.
    auto const still_held = answer.value.succeeded || answer.resent;
    report({.content = still_held ? ownership::held : ownership::gone, .sent_at = answer.sent_at});
  });
}

/// Nobody waits for the answer.
void releasing::stop_standing_aside(place& left) {
  places::leave_doubtful_asides(left);
  auto const key = std::exchange(left.aside, {});
  if (key.empty() || !left.lease) return;
  server_.transact({.then = {remove{key}}}, {}, [lease = left.lease, key](response<outcome>&& answer) {
    if (!answer.ok() && !lease->over) leases::leave_behind(*lease, key);
  });
}

/// One of several is gone, or all. The others go back all the same, each by itself.
void releasing::remove_each(place_ptr const& left, scripting::send_options const& send,
                            std::function<void(bool some_were_left)> then) {
  struct removal {
    std::function<void(bool)> then;
    std::size_t open;
    bool some_were_left = false;
  };
  auto const all = std::make_shared<removal>(removal{.then = std::move(then), .open = left->keys.size()});
  for (auto const& each : left->keys) {
    server_.transact({.when = {{.key = each, .equals = as_made(*left)}}, .then = {remove{each}}}, send,
                     [left, all, each](response<outcome>&& answer) {
                       if (!answer.ok()) leases::leave_behind(*left->lease, each);
                       all->some_were_left = all->some_were_left || !answer.ok() || answer.value.succeeded;
                       if (--all->open == 0) all->then(all->some_were_left);
                     });
  }
}

}  // namespace holdfast::etcd
