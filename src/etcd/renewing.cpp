#include "etcd/renewing.hpp"

#include <algorithm>
#include <iterator>
#include <utility>
#include <variant>

#include "etcd/own_keys.hpp"

namespace holdfast::etcd {
namespace {

using engine::ownership;

/// etcd refuses transactions of more than 128 operations.
constexpr std::size_t keys_per_request = 64;

}  // namespace

struct renewing::renewal {
  struct entry {
    place_ptr holder{};
    std::int64_t revision = 0;
    bool gone = false;
    bool watched = false;  ///< when it was asked about
    std::size_t keys = 0;  ///< about which it is asked
  };

  milliseconds ttl{};
  scripting::send_options send{};
  handler done{};
  std::vector<entry> all{};
  std::size_t extending = 0;  ///< keep-alives without an answer
  std::size_t open = 1;       ///< requests without an answer, and one until all are made
  time_point sent_at = time_point::max();
  std::variant<std::monostate, engine::refused, engine::failed> trouble{};
  reactor::timer give_up{{}};
};

void renewing::renew(milliseconds ttl, std::span<engine::owned const> leases, handler done,
                     scripting::send_options const& send) {
  auto const all = std::make_shared<renewal>();
  all->ttl = ttl;
  all->send = send;
  all->done = std::move(done);
  all->all.reserve(leases.size());
  std::vector<lease_ptr> under;
  for (auto const& each : leases) {
    auto holder = places_.find(each.owner);
    auto const gone =
        !holder || !holder->holds || !holder->lease || holder->lease->over || holder->revision == 0;
    if (!gone && std::ranges::find(under, holder->lease) == under.end()) under.push_back(holder->lease);
    auto const revision = gone ? 0 : holder->revision;
    all->all.push_back({.holder = std::move(holder), .revision = revision, .gone = gone});
  }
  all->extending = under.size();
  for (auto const& each : under) {
    leases_.confirm(each, send, [this, all, each](client_lease::confirmation found) {
      using enum client_lease::confirmation;
      if (found == no_answer) {
        finish_unanswered(*all);
        return;
      }
      for (auto& entry : all->all) {
        if (found == over && entry.holder && entry.holder->lease == each) entry.gone = true;
      }
      if (--all->extending == 0) check_all(all);
    });
  }
  all->give_up.set([this, weak = std::weak_ptr{all}] {
    if (auto const still = weak.lock()) finish_unanswered(*still);
  });
  if (send.give_up != time_point::max()) loop_.arm(all->give_up, send.give_up);
  // No handler is called before this has returned.
  if (under.empty()) mail_.put_or_call([this, all] { check_all(all); });
}

void renewing::finish_unanswered(renewal& all) {
  all.trouble = engine::failed{.reason = leases_.unanswered(), .sent = true};
  finish(all);
}

/// Behind the answers to the keep-alives: see client_lease::newest_answer.
void renewing::check_all(renewal_ptr const& all) {
  for (std::size_t from = 0; from < all->all.size();) from = check(all, from);
  settle(all);
}

/// Whether the keys are there, as they were made. Only if some isn't, each by itself. Those that nobody
/// watches are read in any case: somebody may have asked for them. Returns where the next request begins.
std::size_t renewing::check(renewal_ptr const& all, std::size_t from) {
  transaction request;
  std::vector<std::size_t> asked;
  auto next = from;
  for (; next != all->all.size(); ++next) {
    auto& each = all->all[next];
    each.gone = each.gone || each.holder->keys.empty();  // given back meanwhile
    if (each.gone) continue;
    each.keys = each.holder->keys.size();
    if (!asked.empty() && request.when.size() + each.keys > keys_per_request) break;
    std::ranges::move(own_keys::all(*each.holder, each.revision), std::back_inserter(request.when));
    own_keys::add_reads(request.otherwise, *each.holder);
    each.watched = watching::watches_own(*each.holder);
    if (!each.watched) own_keys::add_reads(request.then, *each.holder);
    asked.push_back(next);
  }
  if (asked.empty()) return next;
  ++all->open;
  server_.transact(std::move(request), all->send, [this, all, asked](response<outcome>&& answer) {
    if (!answer.ok()) {
      auto const result = server_.no_outcome<engine::renewals>(answer);
      if (auto const* const refusal = result.refusal()) all->trouble = *refusal;
      if (auto const* const failure = result.failure()) all->trouble = *failure;
    }
    for (auto const i : asked) {
      auto& holder = *all->all[i].holder;
      if (answer.ok() && holder.lease) leases::note_majority(*holder.lease, answer.value, answer.sent_at);
      if (answer.ok() && holder.lease && answer.value.term != holder.lease->newest_answer.term) {
        // The deadline stays. An outcome would have the engine renew again at once, for as long as that
        // lasts.
        all->trouble = engine::failed{
            .reason = server_.explain({.type = status::kind::unreachable,
                                       .text = "the keep-alive was answered by a leader that was replaced"}),
            .sent = true};
      }
    }
    if (answer.ok()) note_reads(*all, asked, answer.value);
    settle(all);
  });
  return next;
}

void renewing::note_reads(renewal& all, std::vector<std::size_t> const& asked, outcome const& answer) {
  std::span const answers{answer.answers};
  std::size_t from = 0;
  for (auto const i : asked) {
    auto& entry = all.all[i];
    if (answer.succeeded && entry.watched) continue;
    auto const there = own_keys::found_in(answers.subspan(from, entry.keys));
    from += entry.keys;
    auto const as_made = std::ranges::count(there, entry.revision, &key_value::create_revision);
    if (std::cmp_equal(as_made, entry.keys)) {
      watching_.note_read(*entry.holder, there, answer.revision);
    } else {
      entry.gone = true;
    }
  }
}

void renewing::settle(renewal_ptr const& all) {
  if (--all->open == 0) finish(*all);
}

void renewing::finish(renewal& whole) {
  auto* const all = &whole;
  if (!all->done) return;
  all->give_up.disarm();
  auto done = std::exchange(all->done, {});
  engine::answer<engine::renewals> result;
  if (auto const* const refusal = std::get_if<engine::refused>(&all->trouble)) {
    result.content = *refusal;
  } else if (auto const* const failure = std::get_if<engine::failed>(&all->trouble)) {
    result.content = *failure;
  } else {
    engine::renewals found;
    for (std::size_t i = 0; i != all->all.size(); ++i) {
      auto const& [holder, revision, gone, watched, keys] = all->all[i];
      // It may have been given back meanwhile, and taken again.
      if (gone || !holder->holds || !holder->lease || holder->revision != revision) {
        found.others.emplace_back(i, ownership::gone);
        continue;
      }
      all->sent_at = std::min(all->sent_at, holding::alive_since(*holder, all->ttl));
      holding_.hold(holder, all->ttl);
      watching_.watch_own(holder);
    }
    result.sent_at = all->sent_at == time_point::max() ? boot_clock::now() : all->sent_at;
    result.content = std::move(found);
  }
  done(std::move(result));
}

}  // namespace holdfast::etcd
