// Keeping a majority of votes.

#include <algorithm>
#include <new>
#include <utility>

#include "engine/quorum/quorum.hpp"
#include "engine/quorum/vote_count.hpp"
#include "engine/replies.hpp"

namespace holdfast::engine {
namespace {

/// One master's answer for all leases, from the positions of the lost ones.
std::vector<ownership> spread(std::vector<std::pair<std::size_t, ownership>> const& lost,
                              std::size_t leases) {
  std::vector<ownership> result(leases, ownership::held);
  for (auto const& [position, state] : lost) {
    if (position < leases) result[position] = state;
  }
  return result;
}

auto read_renewals_of(std::size_t leases) {
  return [leases](net::response&& response) {
    auto const vote = replies::read_renew(std::move(response));
    return vote.outcome() != nullptr ? spread(vote.outcome()->others, leases) : std::vector<ownership>{};
  };
}

renewals renewals_of(std::vector<ownership> const& leases) {
  renewals result;
  for (std::size_t i = 0; i != leases.size(); ++i) {
    if (leases[i] != ownership::held) result.others.emplace_back(i, leases[i]);
  }
  return result;
}

/// The leases of a renewal, for as long as a master owes an answer to it, and what heal() needs of them.
class leases_in_renewal {
 public:
  struct lease {
    std::string name;
    std::string owner;
    std::uint64_t number;
  };

  explicit leases_in_renewal(quorum_owners& owners) : owners_{owners} {}
  leases_in_renewal(leases_in_renewal const&) = delete;
  leases_in_renewal& operator=(leases_in_renewal const&) = delete;
  ~leases_in_renewal() {
    for (auto const& each : all_) owners_.end_renewal(each.number);
  }

  void add(std::span<owned const> leases) {
    all_.reserve(leases.size());
    for (auto const& each : leases) {
      all_.push_back({std::string{each.name}, std::string{each.owner}, quorum_owners::number_of(each.owner)});
      owners_.begin_renewal(all_.back().number);
    }
  }

  [[nodiscard]] lease const& operator[](std::size_t index) const noexcept { return all_[index]; }
  [[nodiscard]] bool is_over(std::size_t index) const noexcept {
    return !owners_.renewing(all_[index].number);
  }

 private:
  quorum_owners& owners_;
  std::vector<lease> all_;
};

}  // namespace

answer<renewals> quorum::joint_renewals(joint_result&& result) const noexcept {
  answer<renewals> joint{.sent_at = result.sent_at};
  if (std::cmp_less(std::ranges::count(result.leases, ownership::unknown), result.leases.size())) {
    try {
      joint.content = renewals_of(result.leases);
    } catch (std::bad_alloc const&) {
      joint.content = failed{.reason = no_memory, .sent = true};
    }
  } else if (!result.refusal.empty()) {
    joint.content = refused{.text = std::move(result.refusal)};
  } else {
    joint.content = failed{.reason = masters_.unconfirmed({}), .sent = true};
  }
  return joint;
}

void quorum::renew(recipe const& lock_recipe, milliseconds ttl, std::span<owned const> leases,
                   handler<renewals> done, scripting::send_options send) {
  auto const known = std::make_shared<leases_in_renewal>(masters_.owners());
  known->add(leases);
  auto report = [this, done = std::move(done)](joint_result&& result) mutable {
    done(joint_renewals(std::move(result)));
  };
  auto heal_lost = [this, &lock_recipe, ttl, known](std::size_t master, std::size_t index) {
    if (known->is_over(index)) return;
    auto const& lease = (*known)[index];
    heal(master, lock_recipe, {.name = lease.name, .owner = lease.owner}, ttl);
  };
  auto const votes = std::make_shared<vote_count>(
      masters_, leases.size(), vote_count::finality::one_of_many, lock_recipe.renew(ttl, leases), send,
      read_renewals_of(leases.size()),
      vote_count::events{.done = std::move(report), .gone = std::move(heal_lost)});
  votes->ask_all([this](std::size_t master) { return masters_.nodes()[master]->present(); });
}

void quorum::set_ttl(recipe const& lock_recipe, milliseconds ttl, owned lease, handler<ownership> done,
                     scripting::send_options send) {
  auto const set = lock_recipe.set_ttl != nullptr ? lock_recipe.set_ttl : lock_recipe.renew;
  send_last(lease, set(ttl, {&lease, 1}), read_renewals_of(1), std::move(done), send);
}

/// A majority has the lease, so a master that is free, or was emptied, votes for it again: otherwise restarts
/// one after the other would use the majority up. If this fails, the next renewal tries again.
void quorum::heal(std::size_t master, recipe const& lock_recipe, owned lease, milliseconds ttl) noexcept try {
  auto const number = quorum_owners::number_of(lease.owner);
  auto const request = masters_.number_to(master, number);
  masters_.nodes()[master]->will_know(number);
  masters_.owners().note_request(number);
  try {
    masters_.nodes()[master]->send(scripting::to_run(
        lock_recipe.acquire(lease.name, {.owner = lease.owner, .ttl = ttl, .number = request}),
        [this, master, &lock_recipe, number, name = std::string{lease.name},
         owner = std::string{lease.owner}](net::response&& response) {
          auto const over = masters_.owners().note_answer(number).over_since <=
                            response.sent_at;  // overtaken by the release
          masters_.nodes()[master]->heard(response);
          auto const vote = replies::read_acquire(std::move(response));
          auto const taken = vote.outcome() != nullptr && std::holds_alternative<granted>(*vote.outcome());
          if (taken && over) masters_.give_back(master, lock_recipe, {.name = name, .owner = owner}, {});
        },
        {.while_down = net::retry_policy::endless, .give_up = boot_clock::now() + ttl}));
  } catch (std::bad_alloc const&) {
    masters_.owners().note_answer(number);
  }
} catch (std::bad_alloc const&) {
  return;
}

}  // namespace holdfast::engine
