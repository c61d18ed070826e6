// Waiters for several names that stand aside: those that one name keeps waiting have a queue of their own, in
// which each watches the one before it. So whoever leaves a lock wakes one of them.

#include <algorithm>
#include <span>
#include <utility>

#include "etcd/acquiring.hpp"
#include "etcd/keys.hpp"

namespace holdfast::etcd {
namespace {

/// The newest two up to that revision: its own and the one before it.
range queue_of(std::string const& aside, std::int64_t revision) {
  auto folder = aside.substr(0, aside.rfind(':') + 1);
  auto end = keys::end_of(folder);
  return {.key = std::move(folder),
          .end = std::move(end),
          .sorted = range::order::newest_first,
          .limit = 2,
          .max_create_revision = revision,
          .without_values = true};
}

}  // namespace

void acquiring::ask_aside(transaction& request, place const& own) const {
  for (auto const& name : own.names) request.otherwise.emplace_back(newest_of(prefix_, name));
  if (!own.aside.empty()) request.otherwise.emplace_back(queue_of(own.aside, own.aside_revision));
}

void acquiring::on_others(attempt_ptr const& asked, outcome&& answer) {
  auto const& own = *asked->own;
  auto const count = own.names.size();
  auto const answers = std::span{answer.answers};
  auto const oldest = answers.subspan(count, count);
  auto const busy = std::ranges::find_if(oldest, [](found const& each) { return !each.keys.empty(); });
  if (busy == oldest.end()) {
    finish_busy(asked, busy_behind(own, {}));
    return;
  }
  auto reply = busy_behind(own, *busy);
  if (!asked->aside) {
    finish_busy(asked, std::move(reply));
    return;
  }
  auto const at = static_cast<std::size_t>(busy - oldest.begin());
  // It goes last, unless somebody else comes.
  auto const& newest = answers[2 * count + at].keys.front().key;
  auto const aside = keys::aside(prefix_, own.names[at], own.lease->id);
  if (own.aside != aside) {
    stand_aside(asked, aside, {.key = newest, .revision = answer.revision}, std::move(reply));
  } else {
    watch_aside(asked->own, answers.back(), {.key = newest, .revision = answer.revision}, answer.revision);
    finish_busy(asked, std::move(reply));
  }
}

/// In the queue of another name than before, or of the first one.
void acquiring::stand_aside(attempt_ptr const& asked, std::string const& aside, last_place const& last,
                            engine::busy&& reply) {
  auto const& own = *asked->own;
  transaction request;
  if (!own.aside.empty()) request.then.emplace_back(remove{own.aside});
  request.then.emplace_back(put{.key = aside, .value = own.value, .lease = own.lease->id});
  request.then.emplace_back(queue_of(aside, 0));
  server_.transact(
      std::move(request), asked->send,
      [this, asked, aside, last, reply = std::move(reply)](response<outcome>&& answer) mutable {
        auto& standing = *asked->own;
        if (answer.resent || (answer.failure && answer.sent)) standing.asides_in_doubt.insert(aside);
        if (answer.ended.type == status::kind::no_such_lease) {
          leases_.note_over(standing.lease);
          begin(asked);
          return;
        }
        if (answer.ended.type == status::kind::unauthorized) {  // of this key: its own ones it could make
          releasing_.stop_standing_aside(standing);
          watching_.watch(asked->own, last.key, last.revision + 1);
          finish_busy(asked, std::move(reply));
          return;
        }
        if (!answer.ok()) {  // it stands where it did, as far as is known
          finish_failed(asked, answer);
          return;
        }
        auto const& queue = answer.value.answers.back();
        auto const made = std::ranges::find(queue.keys, aside, &key_value::key);
        standing.aside = aside;
        standing.aside_revision = made == queue.keys.end() ? answer.value.revision : made->create_revision;
        watch_aside(asked->own, queue, last, answer.value.revision);
        finish_busy(asked, std::move(reply));
      });
}

/// The one before it, as that was in `revision`; the first one watches the last place of the lock.
void acquiring::watch_aside(place_ptr const& own, found const& queue, last_place const& last,
                            std::int64_t revision) {
  auto const before = std::ranges::find_if(queue.keys, [&](key_value const& each) {
    return each.key != own->aside && each.create_revision < own->aside_revision;
  });
  if (before != queue.keys.end()) {
    watching_.watch(own, before->key, revision + 1);
  } else {
    watching_.watch(own, last.key, last.revision + 1);
  }
}

}  // namespace holdfast::etcd
