// How the generations of barriers end: docs/decisions/0080.

#include <optional>
#include <utility>

#include "engine/presence.hpp"
#include "etcd/keys.hpp"
#include "etcd/meeting.hpp"

namespace holdfast::etcd {

/// All have arrived, and somebody has to say so: whoever sees it first.
void meeting::record_opening(attempt_ptr const& asked, barrier_reading const& seen) {
  auto const& of = *asked->of;
  auto request = seen.end_of_generation(of.folder, seen.words.next());
  if (of.counted) request.then.emplace_back(remove{.key = of.trace()});
  server_.transact(std::move(request), asked->send, [this, asked](response<outcome>&& answer) {
    if (answer.ok() && answer.value.succeeded && asked->of->counted) {
      finish_opened(asked);
    } else {
      look_behind(asked, answer);
    }
  });
}

/// The slot says who it was.
void meeting::record_death(attempt_ptr const& asked, barrier_reading const& seen) {
  auto const slot = keys::arrived_at(asked->of->folder, seen.dead.front());
  server_.transact({.then = {range{.key = slot}}}, asked->send,
                   [this, asked, seen](response<outcome>&& answer) {
                     if (!answer.ok()) {
                       finish_failed(asked, answer);
                     } else if (answer.value.answers.at(0).keys.empty()) {
                       look(asked);
                     } else {
                       record_death_of(asked, seen, answer.value.answers.at(0).keys.front());
                     }
                   });
}

void meeting::record_death_of(attempt_ptr const& asked, barrier_reading const& seen, key_value const& slot) {
  auto const& folder = asked->of->folder;
  auto const who = keys::process_in(slot.value);
  auto request = seen.end_of_generation(folder, seen.words.next("died " + who.owner + ' ' + who.to_string()));
  request.when.push_back(still_says(keys::here_at(folder, seen.words.generation, seen.dead.front()), {}));
  server_.transact(std::move(request), asked->send,
                   [this, asked](response<outcome>&& answer) { look_behind(asked, answer); });
}

/// Whether it was carried out, or something else before it, is seen then. Without its lease the barrier has
/// ended.
void meeting::look_behind(attempt_ptr const& asked, response<outcome> const& answer) {
  if (answer.ok() || answer.ended.type == status::kind::no_such_lease) {
    look(asked);
  } else {
    finish_failed(asked, answer);
  }
}

void meeting::conclude(attempt_ptr const& asked, barrier_words const* found) {
  auto& of = *asked->of;
  auto const lost = cause("lost", of);
  auto const why = found == nullptr ? lost : found->cause_of(of.words.generation, lost);
  remove_trace(of);
  if (why.empty()) {
    finish_opened(asked);
  } else {
    finish_broken(asked, why);
  }
}

/// It isn't waited for. It would end with the lease, which may live for long.
void meeting::remove_trace(arrival const& of) {
  if (!of.own->lease || of.own->lease->over) return;
  server_.transact({.then = {remove{.key = of.trace()}}}, {},
                   [lease = of.own->lease, key = of.trace()](response<outcome>&& answer) {
                     if (!answer.ok() && !lease->over) leases::leave_behind(*lease, key);
                   });
}

std::string meeting::cause(std::string_view why, arrival const& by) const {
  return std::string{why} + ' ' + by.own->owner + ' ' +
         engine::describe_self(client_.options.label).to_string();
}

void meeting::forget(arrival_ptr const& left) {
  places_.drop(left->own);
  if (auto const known = seats_.find(left->seat); known != seats_.end() && known->second == left)
    seats_.erase(known);
}

void meeting::leave(engine::owned arrival, engine::departure why, handler_of<engine::abandoned> done,
                    scripting::send_options const& send) {
  auto const answered = std::make_shared<handler_of<engine::abandoned>>(std::move(done));
  auto const known = seats_.find(arrival.name);
  if (known == seats_.end() || known->second->own->owner != arrival.owner) {
    mail_.put_or_call([answered] {
      if (*answered) (*answered)({.content = engine::abandoned{}});
    });
    return;
  }
  auto const left = known->second;
  left->own->enqueue([this, left, why, answered, send] {
    give_up(left, why, send, [this, left, why, answered](std::shared_ptr<error const> const& failure) {
      auto const waited_for = why == engine::departure::timed_out && left->opened.value_or(0) != 0;
      if (waited_for) {
        places_.drop(left->own);  // time_up() asks for the rest
      } else {
        forget(left);
      }
      engine::answer<engine::abandoned> result;
      if (failure) result.content = engine::failed{.reason = failure, .sent = true};
      if (*answered) (*answered)(std::move(result));
      left->own->end_step();
    });
  });
}

/// The end of its generation keeps out a copy of the arrival that comes later, as well.
void meeting::give_up(arrival_ptr const& left, engine::departure why, scripting::send_options const& send,
                      ended const& done) {
  watching_.unwatch(*left->own);
  left->given_up = true;
  if (!left->opened && !left->counted && !left->unsure) left->opened = 0;
  if (left->opened) {
    // NOLINTNEXTLINE(clang-analyzer-cplusplus.NewDeleteLeaks): the callback owns what it was made of
    mail_.put_or_call([done] { done(nullptr); });
    return;
  }
  auto const why_said = why == engine::departure::timed_out ? "timed_out" : "left";
  auto request = end_of_generation(left->folder, left->text, left->words.next(cause(why_said, *left)),
                                   left->barrier_lease);
  request.then.emplace_back(remove{.key = left->trace()});
  request.otherwise = {range{.key = keys::barrier_of(left->folder)}, range{.key = left->trace()},
                       remove{.key = left->trace()}};
  server_.transact(std::move(request), send, [this, left, done](response<outcome>&& answer) {
    if (!answer.ok()) {
      auto const lease = left->own->lease;
      if (lease && !lease->over) leases::leave_behind(*lease, left->trace());
      done(server_.failure_of(answer));
      return;
    }
    on_given_up(*left, std::move(answer.value));
    done(nullptr);
  });
}

/// Whoever breaks a generation, or opens it, comes first.
void meeting::on_given_up(arrival& left, outcome&& answer) const {
  if (left.opened) return;  // by a request beside this one
  left.opened = 0;
  if (answer.succeeded) return;
  auto const& barrier = answer.answers.at(0).keys;
  auto const words = barrier.empty() ? std::nullopt : barrier_words::read(barrier.front().value);
  auto const counted = left.counted || left.is_trace(answer.answers.at(1));
  if (counted && words && words->cause_of(left.words.generation, "lost").empty())
    left.opened = left.words.generation;
}

/// It doesn't wait for a request under way, which may take as long as an outage.
void meeting::time_up(std::string const& seat, handler<std::int64_t> done) {
  auto const known = seats_.find(seat);
  if (known == seats_.end()) {
    mail_.put_or_call([done = std::move(done)] { done(nullptr, 0); });
    return;
  }
  auto const left = known->second;
  give_up(left, engine::departure::timed_out, {},
          [this, left, done = std::move(done)](std::shared_ptr<error const> failure) {
            auto const opened = failure ? 0 : left->opened.value_or(0);
            done(std::move(failure), opened);
            left->own->enqueue([this, left] {
              forget(left);
              left->own->end_step();
            });
          });
}

void meeting::break_by_force(std::string const& name, handler<bool> done) {
  auto const folder = keys::folder(prefix_, name);
  transaction request;
  barrier_reading::ask(request.then, folder);
  server_.transact(std::move(request), {}, [this, folder, done](response<outcome>&& answer) {
    if (!answer.ok()) {
      done(server_.failure_of(answer), false);
      return;
    }
    barrier_reading const seen{folder, answer.value.answers};
    if (seen.arrived.empty()) {
      done(nullptr, false);
      return;
    }
    auto const by = client_.uuid + ' ' + engine::describe_self(client_.options.label).to_string();
    server_.transact(seen.end_of_generation(folder, seen.words.next("forced " + by)), {},
                     [this, done](response<outcome>&& changed) {
                       done(server_.failure_of(changed),
                            changed.ok() && (changed.value.succeeded || changed.resent));
                     });
  });
}

}  // namespace holdfast::etcd
