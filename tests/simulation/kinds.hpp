/// The kinds of lock in the simulation: their recipes, and how a hold looks in the server's data.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/recipe.hpp"
#include "judge/rules.hpp"
#include "memory/dataset.hpp"

namespace holdfast::simulation {

using memory::dataset;

/// One kind of lock, as the judge knows it.
struct kind {
  /// The holders that may be beside a holder.
  using company = judging::company;
  /// One owner's hold of one name.
  struct hold {
    time_point end{};
    std::uint64_t came = 0;  ///< with this write of the server
  };

  engine::recipe const* lock_recipe;
  company beside = company::none;
  /// Nothing: the owner doesn't hold the name. Of masters that vote each is asked; null: nothing is held.
  std::optional<hold> (*hold_of)(dataset& data, std::string const& name, std::string const& owner);
  /// Whoever waits could have the name now; `amount`: of permits. Null: of masters that vote, and of latches,
  /// others decide that.
  bool (*is_free)(dataset& data, std::string const& name, int amount, time_point now);
  /// The number of permits is under the name from the beginning; of other kinds 0.
  int permits = 0;
  /// Waits behind all that came earlier, over all processes.
  bool in_turn = false;
  /// What its lease may become while it is held; null: it stays what it is.
  kind const* upgraded = nullptr;
  /// A lease is of one permit or of several; their number stands beside the name.
  bool weighted = false;
  /// Of a barrier; of other kinds 0.
  int parties = 0;
  /// Its holders wait on its condition, and notify others.
  bool has_condition = false;
  /// Of Redisson's wire.
  [[nodiscard]] bool of_redisson() const noexcept { return lock_recipe->channels != nullptr; }
  /// The option lock_options::replicas is of use, unless masters vote. Permits without leases have no
  /// options.
  [[nodiscard]] bool leased() const noexcept { return lock_recipe->leased; }
  [[nodiscard]] bool voted() const noexcept { return lock_recipe->votes != nullptr; }
  [[nodiscard]] bool is_barrier() const noexcept { return parties != 0; }
  [[nodiscard]] bool is_latch() const noexcept {
    return lock_recipe->sharing == engine::sharing::open_to_all;
  }
};

/// What one caller of several asks for.
struct part {
  kind const* lock;
  std::vector<std::string> names{"orders"};
  std::vector<kind const*> kinds{};  ///< of the names, where they differ

  /// Of one of the names.
  [[nodiscard]] kind const& of(std::string const& name) const;
  /// The permits that a caller gets of one of the names; `amount`: those that it asks for.
  [[nodiscard]] int amount_of(std::string const& name, int amount) const;
};

/// Kinds that exclude each other, as the callers of one schedule use them in turn.
struct cast {
  char const* title;
  std::vector<part> parts;
  int masters = 1;  ///< more than one: they vote

  [[nodiscard]] part const& of(std::size_t caller) const { return parts[caller % parts.size()]; }
};

/// The name of the lock queue for these names, which are sorted. At a barrier each caller has another one.
[[nodiscard]] std::string queue_name(part const& wanted);

/// All casts; the first one is a mutex on the plain wire, the second one a fair mutex.
[[nodiscard]] std::vector<cast> const& all_casts();

}  // namespace holdfast::simulation
