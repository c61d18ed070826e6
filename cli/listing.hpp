/// How locks are shown: as rows of a table, or as a page about one. All commands that show any do it by
/// these; as JSON by json_lines.
#pragma once

#include <holdfast/inspect.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::cli::listing {

/// Text for a table or a page: "-" for unknown.
[[nodiscard]] std::string cell(std::optional<std::chrono::microseconds>);
/// "web-3:812", with " +2" for two more, "unknown", "-" for nobody; of a foreign key what it holds,
/// shortened; of permits and counters their numbers.
[[nodiscard]] std::string holder_cell(lock_state const&);

/// Of permits and counters: "2 of 5 out", "3 left", "3 to go", or just "3".
[[nodiscard]] std::string numbers(lock_state const&);

struct column {
  std::string_view title;
  std::size_t width;  ///< to begin with
  enum class side : std::uint8_t { left, right } aligned = side::left;
};

/// Rows are shown as they come, so that a column grows when a cell needs it, and stays so for the next.
class table {
 public:
  explicit table(std::vector<column> columns) : columns_{std::move(columns)} {}
  [[nodiscard]] std::string header();
  /// Cells are made harmless: control characters as \xNN.
  [[nodiscard]] std::string row(std::span<std::string const> cells);

 private:
  std::vector<column> columns_;
};

/// NAME, KIND, HOLDER, LABEL, HELD, TTL, TOKEN, WAITING, WIRE.
[[nodiscard]] table table_of_locks();
[[nodiscard]] std::vector<std::string> cells_of(lock_state const&);

/// "plain" or "redisson", as --wire calls it.
[[nodiscard]] std::string_view wire_word(lock_state const&);

/// All about one lock, in lines.
[[nodiscard]] std::vector<std::string> page(lock_state const&);

/// What the key is, in a sentence: "foreign: …".
[[nodiscard]] std::string described(lock_state const&);

/// "held for 41 s by web-3 pid 812 'nightly import'"; "read by … and 2 more"; "permits: 2 of 5 out".
[[nodiscard]] std::string holding(lock_state const&);

}  // namespace holdfast::cli::listing
