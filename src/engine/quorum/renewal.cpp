// Keeping a majority of votes.

#include <algorithm>
#include <new>
#include <utility>

#include "engine/quorum/quorum.hpp"
#include "engine/quorum/replies.hpp"
#include "engine/quorum/vote_count.hpp"

namespace holdfast::engine {
namespace {

/// The places of those that are lost, as one master tells them, for all of them.
std::vector<ownership> spread(std::vector<std::pair<std::size_t, ownership>> const& lost,
                              std::size_t leases) {
  std::vector<ownership> result(leases, ownership::mine);
  for (auto const& [place, how] : lost) {
    if (place < leases) result[place] = how;
  }
  return result;
}

auto read_with(recipe const& how, std::size_t leases) {
  return [read = how.read_renew, leases](net::response const& answer) {
    return answer.reply.is_array() ? spread(read(answer.reply), leases) : std::vector<ownership>{};
  };
}

/// What a renewal of several leases needs to know of each later, should a master have lost one.
struct lease_names {
  struct names {
    std::string name;
    std::string owner;
    std::uint64_t number;
  };
  std::vector<names> all{};
};

}  // namespace

void quorum::renew(recipe const& how, milliseconds ttl, std::span<owned const> leases, renewal_handler done,
                   scripting::send_options patience) {
  // Forgets the leases when no master owes an answer any more.
  auto const known = std::shared_ptr<lease_names>{new lease_names, [this](lease_names* over) {
                                                    for (auto const& one : over->all) {
                                                      auto const count = renewing_.find(one.number);
                                                      if (count != renewing_.end() && --count->second == 0)
                                                        renewing_.erase(count);
                                                    }
                                                    delete over;
                                                  }};
  known->all.reserve(leases.size());
  for (auto const& one : leases) {
    known->all.push_back({std::string{one.name}, std::string{one.owner}, number_of(one.owner)});
    ++renewing_[known->all.back().number];
  }
  auto const votes = std::make_shared<vote_count>(
      *this, leases.size(), vote_count::word::one_of_many, read_with(how, leases.size()),
      vote_count::events{.done =
                             [this, done = std::move(done)](vote_count::result&& result) mutable {
                               renewal_reply all;
                               all.response.sent = true;
                               all.response.sent_at = result.sent_at;
                               try {
                                 for (std::size_t i = 0; i != result.leases.size(); ++i) {
                                   if (result.leases[i] != ownership::mine)
                                     all.others.emplace_back(i, result.leases[i]);
                                 }
                               } catch (std::bad_alloc const&) {
                                 done({.response = {.failure = no_memory}});
                                 return;
                               }
                               auto const unknown = std::ranges::count(result.leases, ownership::unknown);
                               if (std::cmp_less(unknown, result.leases.size())) {
                                 all.response.reply.what = resp::kind::array;
                               } else if (result.refusal.is_error()) {
                                 all.response.reply = std::move(result.refusal);
                               } else {
                                 all.response.failure = why_unknown({});
                               }
                               done(std::move(all));
                             },
                         .gone =
                             [this, &how, ttl, known](std::size_t who, std::size_t which) {
                               auto const& one = known->all[which];
                               if (renewing_.contains(one.number))
                                 heal(who, how, {.name = one.name, .owner = one.owner}, ttl);
                             }});
  votes->ask_all([this](std::size_t who) { return nodes_[who]->present(); }, how.renew(ttl, leases),
                 patience);
}

void quorum::set_ttl(recipe const& how, milliseconds ttl, owned what, handler done,
                     scripting::send_options patience) {
  renewing_.erase(number_of(what.owner));
  auto const votes = std::make_shared<vote_count>(
      *this, 1, vote_count::word::last, read_with(how, 1),
      vote_count::events{.done =
                             [this, done = std::move(done)](vote_count::result&& result) mutable {
                               if (!done) return;
                               net::response answer{.sent_at = result.sent_at, .sent = true};
                               auto const how_found = result.leases.front();
                               if (how_found == ownership::unknown) {
                                 answer.failure = why_unknown({});
                               } else {
                                 answer.reply = quorum_replies::of_renewal(how_found);
                               }
                               done(std::move(answer));
                             },
                         .gone = {}});
  votes->ask_all([this](std::size_t who) { return nodes_[who]->present(); },
                 (how.set_ttl != nullptr ? how.set_ttl : how.renew)(ttl, {&what, 1}), patience);
}

/// The lease is ours by a majority, so a master that is free, or was emptied, votes for us again: otherwise
/// restarts one after the other would use the majority up. If not now, then at the next renewal.
void quorum::heal(std::size_t who, recipe const& how, owned what, milliseconds ttl) noexcept try {
  auto const number = number_of(what.owner);
  auto const request = number_to(who, number);
  nodes_[who]->will_know(number);
  ++asking_[number].owed;
  try {
    nodes_[who]->send(scripting::to_run(
        how.acquire(what.name, {.owner = what.owner, .ttl = ttl, .number = request}),
        [this, who, &how, number, name = std::string{what.name},
         owner = std::string{what.owner}](net::response&& answer) {
          auto const over = note_answer(number).over_since <= answer.sent_at;  // overtaken by the release
          nodes_[who]->heard(answer);
          auto const taken = !answer.failure && !answer.reply.is_error() &&
                             std::holds_alternative<granted>(how.read_acquire(answer.reply));
          if (taken && over) give_back(who, how, {.name = name, .owner = owner}, {});
        },
        {.while_down = net::retry_policy::endless, .give_up = boot_clock::now() + ttl}));
  } catch (std::bad_alloc const&) {
    note_answer(number);
  }
} catch (std::bad_alloc const&) {
  return;
}

}  // namespace holdfast::engine
