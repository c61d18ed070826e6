#include "etcd/releasing.hpp"

#include <utility>

namespace holdfast::etcd {

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
  auto const had_lock = left->holds;
  auto const report = [this, left, done, had_lock](engine::answer<ownership>&& result) {
    places_.drop(left);
    if (done) done(std::move(result), had_lock);
    left->end_step();
  };
  auto const nothing =
      !left->lease || left->lease->over || left->key.empty() || (left->revision == 0 && !left->unsure);
  if (nothing) {
    mail_.put_or_call([report] { report({.content = ownership::gone}); });
    return;
  }
  condition const still{.key = left->key,
                        .equals = left->revision != 0 ? decltype(condition::equals){left->revision}
                                                      : decltype(condition::equals){left->value}};
  server_.transact(
      {.when = {still}, .then = {remove{left->key}}}, send, [this, left, report](response<outcome>&& answer) {
        if (!answer.ok() || left->unsure) places::leave_behind(*left);
        if (!answer.ok()) {
          if (answer.ended.type == status::kind::no_such_lease) leases_.note_over(left->lease);
          report(server_.no_outcome<ownership>(answer));
          return;
        }
        // A copy that was carried out before leaves nothing.
        auto const still_held = answer.value.succeeded || answer.resent;
        report({.content = still_held ? ownership::held : ownership::gone, .sent_at = answer.sent_at});
      });
}

}  // namespace holdfast::etcd
