// Keeping a majority of votes.

#include <algorithm>
#include <new>
#include <utility>

#include "engine/quorum/quorum.hpp"
#include "engine/quorum/replies.hpp"
#include "engine/quorum/vote_count.hpp"

namespace holdfast::engine {
namespace {

/// One master's answer for all leases, from the positions of the lost ones.
std::vector<ownership> spread(std::vector<std::pair<std::size_t, ownership>> const& lost,
                              std::size_t leases) {
  std::vector<ownership> result(leases, ownership::mine);
  for (auto const& [position, state] : lost) {
    if (position < leases) result[position] = state;
  }
  return result;
}

auto read_with(recipe const& protocol, std::size_t leases) {
  return [read = protocol.read_renew, leases](net::response const& response) {
    return response.reply.is_array() ? spread(read(response.reply), leases) : std::vector<ownership>{};
  };
}

/// What a renewal keeps of each lease for heal(), should a master have lost one.
struct lease_names {
  struct names {
    std::string name;
    std::string owner;
    std::uint64_t number;
  };
  std::vector<names> all{};
};

}  // namespace

void quorum::renew(recipe const& protocol, milliseconds ttl, std::span<owned const> leases,
                   renewal_handler done, scripting::send_options send) {
  // Forgets the leases when no master owes an answer any more.
  auto const known = std::shared_ptr<lease_names>{new lease_names, [this](lease_names* over) {
                                                    for (auto const& lease : over->all) {
                                                      auto const count = renewing_.find(lease.number);
                                                      if (count != renewing_.end() && --count->second == 0)
                                                        renewing_.erase(count);
                                                    }
                                                    delete over;
                                                  }};
  known->all.reserve(leases.size());
  for (auto const& lease : leases) {
    known->all.push_back({std::string{lease.name}, std::string{lease.owner}, number_of(lease.owner)});
    ++renewing_[known->all.back().number];
  }
  auto const votes = std::make_shared<vote_count>(
      *this, leases.size(), vote_count::word::one_of_many, read_with(protocol, leases.size()),
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
                                 all.response.reply.type = resp::kind::array;
                               } else if (result.refusal.is_error()) {
                                 all.response.reply = std::move(result.refusal);
                               } else {
                                 all.response.failure = unconfirmed({});
                               }
                               done(std::move(all));
                             },
                         .gone =
                             [this, &protocol, ttl, known](std::size_t master, std::size_t index) {
                               auto const& lease = known->all[index];
                               if (renewing_.contains(lease.number))
                                 heal(master, protocol, {.name = lease.name, .owner = lease.owner}, ttl);
                             }});
  votes->ask_all([this](std::size_t master) { return nodes_[master]->present(); },
                 protocol.renew(ttl, leases), send);
}

void quorum::set_ttl(recipe const& protocol, milliseconds ttl, owned lease, handler done,
                     scripting::send_options send) {
  renewing_.erase(number_of(lease.owner));
  auto const votes = std::make_shared<vote_count>(
      *this, 1, vote_count::word::last, read_with(protocol, 1),
      vote_count::events{.done =
                             [this, done = std::move(done)](vote_count::result&& result) mutable {
                               if (!done) return;
                               net::response response{.sent_at = result.sent_at, .sent = true};
                               auto const state = result.leases.front();
                               if (state == ownership::unknown) {
                                 response.failure = unconfirmed({});
                               } else {
                                 response.reply = quorum_replies::of_renewal(state);
                               }
                               done(std::move(response));
                             },
                         .gone = {}});
  votes->ask_all([this](std::size_t master) { return nodes_[master]->present(); },
                 (protocol.set_ttl != nullptr ? protocol.set_ttl : protocol.renew)(ttl, {&lease, 1}), send);
}

/// A majority has the lease, so a master that is free, or was emptied, votes for it again: otherwise restarts
/// one after the other would use the majority up. If this fails, the next renewal tries again.
void quorum::heal(std::size_t master, recipe const& protocol, owned lease, milliseconds ttl) noexcept try {
  auto const number = number_of(lease.owner);
  auto const request = number_to(master, number);
  nodes_[master]->will_know(number);
  ++asking_[number].owed;
  try {
    nodes_[master]->send(scripting::to_run(
        protocol.acquire(lease.name, {.owner = lease.owner, .ttl = ttl, .number = request}),
        [this, master, &protocol, number, name = std::string{lease.name},
         owner = std::string{lease.owner}](net::response&& response) {
          auto const over = note_answer(number).over_since <= response.sent_at;  // overtaken by the release
          nodes_[master]->heard(response);
          auto const taken = !response.failure && !response.reply.is_error() &&
                             std::holds_alternative<granted>(protocol.read_acquire(response.reply));
          if (taken && over) give_back(master, protocol, {.name = name, .owner = owner}, {});
        },
        {.while_down = net::retry_policy::endless, .give_up = boot_clock::now() + ttl}));
  } catch (std::bad_alloc const&) {
    note_answer(number);
  }
} catch (std::bad_alloc const&) {
  return;
}

}  // namespace holdfast::engine
