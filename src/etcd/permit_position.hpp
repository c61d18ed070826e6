/// Where a place is among the permits of its name: what is asked of etcd, and what the answer says. No I/O.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "etcd/messages.hpp"
#include "etcd/permit_keys.hpp"

namespace holdfast::etcd {

/// The permits of a name as they stand in the queue, those that were made first first: each has what it wants
/// as far as those before it and its own are no more than there are.
struct permit_queue {
  struct entry {
    key_value place{};
    std::int64_t amount = 0;
  };

  std::vector<entry> all{};
  /// How many there are: as somebody has set it, or as the places say. 0: nobody has said so.
  std::int64_t size = 0;
  std::string size_text{};  ///< of the key that says so; empty: nobody has set it
  std::string misfit{};     ///< why these aren't permits; empty: they are, or there are none

  /// Somebody has said how many there are.
  [[nodiscard]] bool known() const noexcept { return !all.empty() || !size_text.empty(); }
  /// How many of the first entries have their permits.
  [[nodiscard]] std::size_t holding() const noexcept;
  [[nodiscard]] std::int64_t amount_of(std::size_t first_entries) const noexcept;
};

/// Reads the whole of it: what else is below the name, too.
struct permit_survey {
  static constexpr std::size_t answers = 4;
  /// Appends as many ranges to what is asked.
  static void ask(std::vector<operation>& wanted, std::string const& folder, bool with_values);
  [[nodiscard]] static permit_queue read(std::string const& folder, std::span<found> answered);
};

[[nodiscard]] range oldest_permit(std::string const& folder);

/// What there is below a name beside its permits, if they are of one size, or if somebody has set the size:
/// as ranges from the first to the second, of which all have to be empty.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> all_but_permits(std::string const& folder,
                                                                               std::int64_t size,
                                                                               bool size_is_set);

/// Who waits, and for what.
struct permit_position {
  static constexpr std::size_t answers = 3;
  /// Of a place that was made in that revision (0: by this very transaction).
  static void ask(std::vector<operation>& wanted, std::string const& folder, std::int64_t revision);
  /// `own`: its key.
  permit_position(std::string const& own, std::int64_t amount, std::span<found> answered);

  std::int64_t size = 0;
  std::string size_text{};
  bool has_them = false;
  bool too_many = false;  ///< it wants more than there are altogether
  /// The newest keys before it that together leave too few: as long as all of them are there, it waits.
  std::vector<std::string> waits_for{};
  std::int64_t out = 0;    ///< how many permits are out
  std::int64_t ahead = 0;  ///< how many wait before it
  found first{};           ///< the oldest key
};

}  // namespace holdfast::etcd
