#include "etcd/meeting.hpp"

#include <functional>
#include <span>
#include <utility>

#include "etcd/keys.hpp"

namespace holdfast::etcd {
namespace {

using namespace std::chrono_literals;

/// How long a barrier outlives the last that have waited at it.
constexpr std::chrono::seconds kept = std::chrono::days{1};
constexpr auto extended_each = 1h;
/// Not known: how long the others take.
constexpr milliseconds unknown_ttl{-2};

}  // namespace

void meeting::arrive(engine::recipe const& lock_recipe, std::string_view seat,
                     engine::acquire_request const& request, handler_of<engine::verdict> done,
                     scripting::send_options const& send) {
  auto const own = places_.find_or_add(lock_recipe, seat, request);
  auto& known = seats_[std::string{seat}];
  if (!known || known->own != own) {
    known = std::make_shared<arrival>();
    known->own = own;
    known->seat = seat;
    known->folder = keys::folder(prefix_, lock_recipe.first_name(seat));
    known->parties = request.size;
  }
  auto const asked = std::make_shared<attempt>(
      attempt{.of = known, .join = request.join, .ttl = request.ttl, .send = send, .done = std::move(done)});
  own->enqueue([this, asked] { begin(asked); });
}

void meeting::begin(attempt_ptr const& asked) {
  asked->sent_at = boot_clock::now();
  auto& of = *asked->of;
  auto& own = *of.own;
  if (of.counted) {
    look(asked);
    return;
  }
  if (own.lease && own.lease->over) {
    if (of.unsure) {  // what would say whether it was carried out has ended with the lease
      finish_broken(asked, cause("lost", of));
      return;
    }
    places_.give_lease(own);
  }
  places_.take_lease(of.own, asked->ttl, asked->send, [this, asked](response<lease_grant> const* failure) {
    if (failure == nullptr) {
      look(asked);
    } else {
      finish_failed(asked, *failure);
    }
  });
}

void meeting::look(attempt_ptr const& asked) {
  auto const& of = *asked->of;
  transaction request;
  barrier_reading::ask(request.then, of.folder);
  if (of.unsure) request.then.emplace_back(range{.key = of.trace()});
  server_.transact(std::move(request), asked->send,
                   [this, asked](response<outcome>&& answer) { on_looked(asked, std::move(answer)); });
}

void meeting::on_looked(attempt_ptr const& asked, response<outcome>&& answer) {
  if (!answer.ok()) {
    finish_failed(asked, answer);
    return;
  }
  auto& of = *asked->of;
  auto& answers = answer.value.answers;
  barrier_reading const seen{of.folder, answers};
  if (of.unsure && answers.size() > barrier_reading::answers) {
    of.counted = of.is_trace(answers.back());
    of.unsure = !of.counted && seen.text == of.text;
  }
  if (!of.counted) {
    on_newcomer(asked, seen, answer.value.revision);
  } else if (seen.text == of.text) {
    go_on(asked, seen, answer.value.revision);
  } else {
    conclude(asked, seen.text.empty() ? nullptr : &seen.words);
  }
}

/// It isn't among those that have arrived.
void meeting::on_newcomer(attempt_ptr const& asked, barrier_reading const& seen, std::int64_t revision) {
  auto& of = *asked->of;
  auto const others = seen.arrived.size();
  if (of.given_up) {
    finish_waiting(asked);
    return;
  }
  if (!seen.misfit.empty()) {
    finish(asked,
           {.content = engine::failed{
                .reason = std::make_shared<error const>(
                    errc::wrong_type, client_.url + ": below \"" + of.folder + "\" there is " + seen.misfit +
                                          ", so it can't be a barrier; choose another name")}});
  } else if (seen.text.empty()) {
    if (asked->join || of.parties == 1) {
      create(asked, revision);
    } else {
      finish_waiting(asked);
    }
  } else if (!seen.dead.empty()) {
    record_death(asked, seen);
  } else if (seen.words.parties != of.parties && others != 0) {
    finish(asked, {.content = engine::refused{.text = "PARTIES " + std::to_string(seen.words.parties) + ' ' +
                                                      std::to_string(of.parties)}});
  } else if (!asked->join && std::cmp_less(others + 1, of.parties)) {
    finish_waiting(asked);  // it isn't the last one
  } else if (seen.words.parties != of.parties) {
    resize(asked, seen);
  } else if (seen.complete()) {
    record_opening(asked, seen);
  } else {
    put_arrival(asked, seen);
  }
}

void meeting::create(attempt_ptr const& asked, std::int64_t revision) {
  server_.grant(kept, asked->send, [this, asked, revision](response<lease_grant>&& answer) {
    if (answer.ok()) {
      put_barrier(asked, answer.value.id, revision);
    } else {
      finish_failed(asked, answer);
    }
  });
}

/// Its first generation is a revision of the store: each end of one takes a revision, so that is greater than
/// all generations which a barrier of the name has had. No lock has come meanwhile.
void meeting::put_barrier(attempt_ptr const& asked, std::int64_t lease, std::int64_t revision) {
  auto const& of = *asked->of;
  barrier_words const first{.parties = of.parties, .generation = revision, .since = revision};
  auto const barrier = keys::barrier_of(of.folder);
  transaction request{.when = {still_says(barrier, {})},
                      .then = {put{.key = barrier, .value = first.text(), .lease = lease}},
                      .otherwise = {range{.key = barrier}}};
  for (auto& [from, end] : keys::all_but(of.folder, barrier))
    request.when.push_back({.key = std::move(from), .end = std::move(end), .equals = std::int64_t{0}});
  server_.transact(std::move(request), asked->send, [this, asked, lease](response<outcome>&& answer) {
    if (!answer.ok()) {  // it may be carried out later, and the lease ends by itself
      finish_failed(asked, answer);
      return;
    }
    auto const ours = answer.value.succeeded || (!answer.value.answers.at(0).keys.empty() &&
                                                 answer.value.answers.at(0).keys.front().lease == lease);
    if (!ours) channel_.revoke(lease, 2s, [](status const&) {});
    look(asked);
  });
}

/// Nobody has arrived: the generation ends with another number of parties.
void meeting::resize(attempt_ptr const& asked, barrier_reading const& seen) {
  auto const& of = *asked->of;
  server_.transact(seen.end_of_generation(of.folder, seen.words.resized(of.parties)), asked->send,
                   [this, asked](response<outcome>&& answer) { look_behind(asked, answer); });
}

/// As the last one it opens the generation at once. A slot that was taken stays so for the whole generation,
/// so of two copies one is refused.
void meeting::put_arrival(attempt_ptr const& asked, barrier_reading const& seen) {
  auto& of = *asked->of;
  auto const again = of.unsure && of.text == seen.text && seen.is_free(of.slot);
  auto const slot = again ? of.slot : seen.free_slot(std::hash<std::string>{}(of.own->owner));
  of.text = seen.text;
  of.words = seen.words;
  of.barrier_lease = seen.lease;
  of.slot = slot;
  auto const arrived = keys::arrived_at(of.folder, slot);
  put const trace{.key = of.trace(), .value = of.own->value, .lease = of.own->lease->id};
  transaction request;
  if (std::cmp_equal(seen.arrived.size() + 1, of.parties)) {
    request = seen.end_of_generation(of.folder, of.words.next());
    request.then.emplace_back(trace);
  } else {
    request.when = {{.key = keys::barrier_of(of.folder), .equals = of.text}};
    request.then = {put{.key = arrived, .value = of.own->value, .lease = of.barrier_lease}, trace};
    barrier_reading::ask_who(request.then, of.folder);
  }
  request.when.push_back(still_says(arrived, {}));
  auto const had_copies = std::exchange(of.unsure, true);
  server_.transact(std::move(request), asked->send, [this, asked, had_copies](response<outcome>&& answer) {
    on_put(asked, std::move(answer), had_copies);
  });
}

void meeting::on_put(attempt_ptr const& asked, response<outcome>&& answer, bool had_copies) {
  auto& of = *asked->of;
  if (answer.ok() && answer.value.succeeded) {
    of.counted = true;
    of.unsure = false;
    constexpr std::size_t puts = 2;
    if (answer.value.answers.size() == puts + 2) {
      barrier_reading seen{of.folder, of.text, std::span{answer.value.answers}.subspan(puts)};
      seen.lease = of.barrier_lease;
      go_on(asked, seen, answer.value.revision);
    } else {
      remove_trace(of);
      finish_opened(asked);
    }
  } else if (answer.ended.type == status::kind::no_such_lease) {
    on_no_lease(asked);
  } else if (!answer.ok()) {
    of.unsure = had_copies || answer.resent || (answer.failure && answer.sent);
    finish_failed(asked, answer);
  } else if (answer.resent || had_copies) {
    // An earlier copy may have been carried out: then its trace is there, unless it has ended with the lease.
    leases_.confirm(of.own->lease, asked->send, [this, asked](client_lease::confirmation found) {
      if (found == client_lease::confirmation::no_answer) {
        finish(asked, {.content = engine::failed{.reason = leases_.unanswered(), .sent = true}});
      } else if (found == client_lease::confirmation::over) {
        finish_broken(asked, cause("lost", *asked->of));
      } else {
        look(asked);
      }
    });
  } else {
    of.unsure = false;
    look(asked);
  }
}

/// Either that of this client, or that of the barrier, which has ended then.
void meeting::on_no_lease(attempt_ptr const& asked) {
  auto const& of = *asked->of;
  server_.transact({.when = {{.key = keys::barrier_of(of.folder), .equals = of.text}}}, asked->send,
                   [this, asked](response<outcome>&& answer) {
                     if (!answer.ok()) {
                       finish_failed(asked, answer);
                       return;
                     }
                     if (answer.value.succeeded) leases_.note_over(asked->of->own->lease);
                     asked->of->unsure = false;
                     begin(asked);
                   });
}

/// It has arrived, and its generation isn't over. That one of the others has died is said by the first of
/// those that live; the others do so when that hasn't by the time they look again.
void meeting::go_on(attempt_ptr const& asked, barrier_reading const& seen, std::int64_t revision) {
  auto& of = *asked->of;
  if (!seen.dead.empty()) {
    auto const first = seen.first_alive();
    if (first == 0 || first == of.slot || std::exchange(of.saw_death, true)) {
      record_death(asked, seen);
      return;
    }
  } else if (seen.complete()) {
    record_opening(asked, seen);
    return;
  }
  auto const now = boot_clock::now();
  if (of.extended_at == time_point{} || now - of.extended_at > extended_each) {
    of.extended_at = now;
    channel_.keep_alive(of.barrier_lease, ++extensions_);
  }
  watching_.watch_all(of.own, {}, keys::barrier_of(of.folder), revision + 1,
                      keys::here_for(of.folder, of.words.generation));
  finish_waiting(asked);
}

void meeting::finish_opened(attempt_ptr const& asked) {
  auto& of = *asked->of;
  of.opened = of.words.generation;
  finish(asked, {.content = engine::granted{.token = of.words.generation}});
}

void meeting::finish_broken(attempt_ptr const& asked, std::string const& cause) {
  auto& of = *asked->of;
  of.opened = 0;
  finish(asked,
         {.content = engine::refused{.text = "BROKEN " + std::to_string(of.words.generation) + ' ' + cause}});
}

void meeting::finish_waiting(attempt_ptr const& asked) {
  engine::busy reply{.pttl = unknown_ttl};
  if (asked->of->counted) {
    reply.ahead = 0;
    reply.ticket = asked->of->words.generation;
  }
  finish(asked, {.content = std::move(reply)});
}

template <class Answer>
void meeting::finish_failed(attempt_ptr const& asked, response<Answer> const& answer) {
  finish(asked, server_.no_outcome<engine::verdict>(answer));
}
template void meeting::finish_failed(attempt_ptr const&, response<outcome> const&);  // meeting_ends.cpp

/// Who fails may have arrived all the same: the engine gives it up.
void meeting::finish(attempt_ptr const& asked, engine::answer<engine::verdict>&& result) {
  auto const of = asked->of;
  auto const may_count = !of->opened && (of->counted || of->unsure);
  if (may_count) {
    if (auto* const failure = std::get_if<engine::failed>(&result.content)) failure->sent = true;
    if (auto* const refusal = std::get_if<engine::refused>(&result.content)) refusal->resent = true;
  }
  result.sent_at = asked->sent_at;
  if (!of->counted || of->opened) watching_.unwatch(*of->own);
  auto done = std::exchange(asked->done, {});
  done(std::move(result));
  if (!may_count && !of->own->has_more_steps()) forget(of);
  of->own->end_step();
}

}  // namespace holdfast::etcd
