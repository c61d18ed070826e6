/// What a run found, as a table or JSON.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace holdfast::bench {

/// What a line must reach.
struct target {
  enum class of { ratio, difference, own };
  enum class side { at_least, at_most };

  of measure;
  side bound;
  double limit;
};

/// One line of the table: a quantity, measured once per round for Holdfast and, where there is one, for its
/// floor; and where the floor sends less than Holdfast does, for a bare client that sends the same commands.
struct line {
  std::string row;       ///< "B1"
  std::string quantity;  ///< with its unit
  std::optional<target> goal{};
  std::vector<double> floor{};
  std::vector<double> own{};
  std::vector<double> same{};  ///< by the same commands

  /// What the goal is about, one per round; empty when a side is missing.
  [[nodiscard]] std::vector<double> judged() const;

  /// Whether the median is as good as the goal; empty when there is no goal or nothing to judge.
  [[nodiscard]] std::optional<bool> met() const;
};

struct machine {
  std::string processor;
  std::string kernel;
  std::string server;  ///< "Redis 7.0.15"
  std::string pinning;
  double round_trip_us = 0;
};

/// The processor's and the kernel's names.
[[nodiscard]] machine this_machine();

[[nodiscard]] std::string table(machine const& where, std::vector<line> const& lines);
[[nodiscard]] std::string json(machine const& where, std::vector<line> const& lines);

}  // namespace holdfast::bench
