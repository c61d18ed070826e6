// How permits are acquired: docs/decisions/0076.

#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "etcd/acquiring.hpp"
#include "etcd/keys.hpp"
#include "etcd/own_keys.hpp"

namespace holdfast::etcd {
namespace {

/// Of names whose size is remembered: beyond that all are read anew.
constexpr std::size_t most_sizes = 1000;

}  // namespace

/// Under which a place is made.
struct acquiring::permit_terms {
  std::int64_t size = 0;
  std::string text{};            ///< of the key that says so; empty: nobody has set it
  std::int64_t made_before = 0;  ///< no place is as new; 0: there may be any
};

void acquiring::remember_size(std::string const& name, std::string const& text) {
  if (text.empty()) {
    sizes_.erase(name);
    return;
  }
  if (sizes_.size() == most_sizes && !sizes_.contains(name)) sizes_.clear();
  sizes_.insert_or_assign(name, text);
}

/// Who waits makes its place at once, if it knows how many permits there are: as it was set last, or as its
/// caller says. Who only tries makes it if they are left, which has to be read first.
void acquiring::make_permit(attempt_ptr const& asked) {
  auto const& own = *asked->own;
  auto const set = sizes_.find(own.name());
  permit_terms terms{.size = own.offered};
  if (set != sizes_.end()) terms = {.size = keys::size_in(set->second).value_or(0), .text = set->second};
  if (asked->join && !own.unsure && own.amount <= terms.size) {
    put_permit(asked, terms);
  } else {
    survey_permits(asked);
  }
}

void acquiring::put_permit(attempt_ptr const& asked, permit_terms const& terms) {
  auto& own = *asked->own;
  auto const folder = keys::folder(prefix_, own.name());
  auto key = keys::permit_place(folder, terms.size, own.amount, own.lease->id, own.owner);
  if (own.unsure && own.keys != std::vector{key}) {  // the number has changed meanwhile
    give_up_keys(own);
    begin(asked);
    return;
  }
  own.keys = {std::move(key)};
  transaction request{.when = own_keys::all(own, std::int64_t{0})};
  own_keys::add_puts(request.then, own);
  own_keys::add_reads(request.otherwise, own);
  for (auto& [first, end] : all_but_permits(folder, terms.size, !terms.text.empty()))
    request.when.push_back({.key = std::move(first), .end = std::move(end), .equals = std::int64_t{0}});
  if (!terms.text.empty()) request.when.push_back({.key = keys::size_of(folder), .equals = terms.text});
  if (terms.made_before != 0) {
    auto const permits = keys::permits_of(folder);
    request.when.push_back({.key = permits, .end = keys::end_of(permits), .made_before = terms.made_before});
  }
  if (asked->queues()) permit_position::ask(request.then, folder, 0);
  server_.transact(std::move(request), asked->send,
                   [this, asked](response<outcome>&& answer) { on_permit_made(asked, std::move(answer)); });
}

void acquiring::on_permit_made(attempt_ptr const& asked, response<outcome>&& answer) {
  if (!was_carried_out(asked, answer)) return;
  auto& own = *asked->own;
  auto const revision = answer.value.revision;
  auto& answers = answer.value.answers;
  if (answer.value.succeeded) {
    own.revision = revision;
    if (asked->queues()) {
      on_permit_position(asked, permit_position{own.key(), own.amount, std::span{answers}.subspan(1)},
                         revision);
    } else {
      finish_granted(asked);
    }
    return;
  }
  auto const& made_before = answers.at(0).keys;
  if (made_before.empty()) {
    survey_permits(asked);
  } else if (made_before.front().value == own.value) {
    own.revision = made_before.front().create_revision;
    look(asked);
  } else {
    remove_stale(asked, made_before);
  }
}

void acquiring::survey_permits(attempt_ptr const& asked) {
  auto const& own = *asked->own;
  transaction request;
  permit_survey::ask(request.then, keys::folder(prefix_, own.name()), false);
  request.then.emplace_back(oldest_permit(keys::folder(prefix_, own.name())));
  server_.transact(std::move(request), asked->send,
                   [this, asked](response<outcome>&& answer) { on_surveyed(asked, std::move(answer)); });
}

void acquiring::on_surveyed(attempt_ptr const& asked, response<outcome>&& answer) {
  auto& own = *asked->own;
  if (!answer.ok()) {
    finish_failed(asked, answer);
    return;
  }
  auto& answers = answer.value.answers;
  auto const first = std::move(answers.at(permit_survey::answers));
  auto const queue = permit_survey::read(keys::folder(prefix_, own.name()), answers);
  if (!queue.misfit.empty()) {
    fail(asked, "below \"" + own.name() + "\" there is " + queue.misfit +
                    ", so it can't be a semaphore; choose another name");
    return;
  }
  permit_terms const terms{.size = queue.known() ? queue.size : own.offered, .text = queue.size_text};
  if (queue.size_text.empty() && own.offered != 0 && own.offered != terms.size) {
    fail(asked, "the semaphore \"" + own.name() + "\" has " + std::to_string(terms.size) + " permits, not " +
                    std::to_string(own.offered) +
                    ": all callers must say the same number while permits are out, or set it (set_permits)");
    return;
  }
  remember_size(own.name(), queue.size_text);
  auto const holding = queue.holding();
  auto reply = busy_behind(own, first);
  reply.permits = !queue.known() && own.offered == 0 ? -1 : terms.size;
  reply.out = queue.amount_of(holding);
  if (own.amount > terms.size) {
    wait_without_place(asked, reply, answer.value.revision);
    return;
  }
  auto const fits = queue.amount_of(queue.all.size()) <= terms.size - own.amount;
  if (!asked->join && !fits) {
    finish_busy(asked, std::move(reply));
    return;
  }
  if (++asked->beginnings > 2 * most_beginnings) {  // the number has changed each time
    finish_busy(asked, std::move(reply));
    return;
  }
  // Others have come each time, though there were permits for all: now it takes its place among them.
  asked->by_place = asked->beginnings > most_beginnings;
  put_permit(asked, {.size = terms.size,
                     .text = terms.text,
                     .made_before = asked->queues() ? 0 : answer.value.revision + 1});
}

void acquiring::on_permit_position(attempt_ptr const& asked, permit_position const& position,
                                   std::int64_t revision) {
  auto& own = *asked->own;
  remember_size(own.name(), position.size_text);
  if (position.has_them) {
    finish_granted(asked);
    return;
  }
  own.ahead = position.ahead;
  auto reply = busy_behind(own, position.first);
  reply.permits = position.size;
  reply.out = position.out;
  if (asked->join && !position.too_many) {
    watching_.watch_all(asked->own, position.waits_for, keys::size_of(keys::folder(prefix_, own.name())),
                        revision + 1);
    finish_busy(asked, std::move(reply));
    return;
  }
  // It doesn't wait, or there are fewer by now than it wants, and nobody behind it would get any.
  remove_own(asked, [this, asked, reply, revision] {
    asked->own->revision = 0;
    wait_without_place(asked, reply, revision);
  });
}

/// Until somebody changes the number of permits.
void acquiring::wait_without_place(attempt_ptr const& asked, engine::busy const& reply,
                                   std::int64_t revision) {
  auto const& own = *asked->own;
  if (asked->join)
    watching_.watch_all(asked->own, {}, keys::size_of(keys::folder(prefix_, own.name())), revision + 1);
  auto last = reply;
  last.ahead = -1;
  last.ticket = 0;
  finish_busy(asked, std::move(last));
}

}  // namespace holdfast::etcd
