/// The keys of a barrier in etcd (docs/etcd.md), and what they say. No I/O.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "etcd/messages.hpp"

namespace holdfast::etcd {

namespace keys {

/// What all keys of a barrier begin with; the first one is it.
[[nodiscard]] std::string barrier_of(std::string_view folder);
/// What the keys of the slots begin with that are taken in the present generation.
[[nodiscard]] std::string arrived_of(std::string_view folder);
[[nodiscard]] std::string arrived_at(std::string_view folder, std::int64_t slot);
/// What the keys of those begin with whose processes live: of all generations, or of one.
[[nodiscard]] std::string here_of(std::string_view folder);
[[nodiscard]] std::string here_for(std::string_view folder, std::int64_t generation);
[[nodiscard]] std::string here_at(std::string_view folder, std::int64_t generation, std::int64_t slot);

/// The name of the barrier that such a key may be; nullopt: it is none.
[[nodiscard]] std::optional<std::string> name_of_barrier(std::string_view prefix, std::string_view key);

}  // namespace keys

/// What the key of a barrier says. No two generations of a name have the same text.
struct barrier_words {
  std::int64_t parties = 0;
  std::int64_t generation = 0;  ///< the present one
  std::int64_t since = 0;       ///< from that one on, all that were broken are in `breaks`
  /// "<generation> <why> <owner> <who>" of the last that were broken, the oldest first.
  std::vector<std::string> breaks{};

  [[nodiscard]] static std::optional<barrier_words> read(std::string_view text);
  [[nodiscard]] std::string text() const;
  /// Behind the end of the present generation. `cause`: why it was broken, "<why> <owner> <who>"; empty: it
  /// has opened.
  [[nodiscard]] barrier_words next(std::string const& cause = {}) const;
  /// For other participants, while nobody has arrived.
  [[nodiscard]] barrier_words resized(std::int64_t number) const;
  /// Why that generation, which is over, didn't open; empty: it did. `lost`: what is said if it isn't known.
  [[nodiscard]] std::string cause_of(std::int64_t ended, std::string const& lost) const;
};

/// Ends the generation that has that text, with all arrivals for it: nobody has arrived for the next one.
[[nodiscard]] transaction end_of_generation(std::string const& folder, std::string const& text,
                                            barrier_words const& after, std::int64_t lease);

/// A barrier as etcd has it at one moment.
struct barrier_reading {
  static constexpr std::size_t answers = 5;
  /// Appends as many ranges to what is asked.
  static void ask(std::vector<operation>& wanted, std::string const& folder);
  barrier_reading(std::string const& folder, std::span<found> answered);
  /// The same of a barrier whose text is known: only who has arrived is read.
  static void ask_who(std::vector<operation>& wanted, std::string const& folder);
  barrier_reading(std::string const& folder, std::string said, std::span<found> answered);

  std::string text{};  ///< of its key; empty: there is none
  std::int64_t lease = 0;
  barrier_words words{};
  std::vector<std::int64_t> arrived{};  ///< the slots that are taken, in their order
  std::vector<std::int64_t> dead{};     ///< those of them whose processes have died
  std::string misfit{};                 ///< why it is no barrier

  [[nodiscard]] transaction end_of_generation(std::string const& folder, barrier_words const& after) const {
    return etcd::end_of_generation(folder, text, after, lease);
  }
  [[nodiscard]] bool complete() const noexcept {
    return std::cmp_greater_equal(arrived.size(), words.parties);
  }
  /// One of the slots that are free, if it isn't complete: the same `choice` gives another one when others
  /// have taken some meanwhile.
  [[nodiscard]] std::int64_t free_slot(std::size_t choice) const;
  [[nodiscard]] bool is_free(std::int64_t slot) const;
  /// The first one that is taken by somebody who lives; 0: there is none.
  [[nodiscard]] std::int64_t first_alive() const;

 private:
  void read_who(std::string const& folder, found const& slots, found const& alive);
};

}  // namespace holdfast::etcd
