/// The display of locks: rows of a table, and a page about one lock. All commands use it; lock_json has the
/// JSON.
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

/// A duration for a table or a page; "-": unknown.
[[nodiscard]] std::string cell(std::optional<std::chrono::microseconds>);
/// "web-3:812", followed by " +2" for two more holders; "unknown"; "-": nobody. For a foreign key its
/// shortened value; for permits and counters their numbers.
[[nodiscard]] std::string holder_cell(lock_state const&);
/// When it ends; permits without a lease don't.
[[nodiscard]] std::string ttl_cell(lock_state const&);
/// Whether somebody has permits for as long as nobody gives them back.
[[nodiscard]] bool lasts(lock_state const&);

/// For permits and counters: "2 of 5 out", "3 left", "3 to go", or just "3".
[[nodiscard]] std::string numbers(lock_state const&);

struct column {
  std::string_view title;
  std::size_t width;  ///< the initial width
  enum class side : std::uint8_t { left, right } aligned = side::left;
};

/// A table whose rows are printed one by one: a column grows when a cell needs it, and keeps that width.
class table {
 public:
  explicit table(std::vector<column> columns) : columns_{std::move(columns)} {}
  [[nodiscard]] std::string header();
  /// Control characters of cells become \xNN.
  [[nodiscard]] std::string row(std::span<std::string const> cells);

 private:
  std::vector<column> columns_;
};

/// NAME, KIND, HOLDER, LABEL, HELD, TTL, TOKEN, WAITING, WIRE.
[[nodiscard]] table table_of_locks();
[[nodiscard]] std::vector<std::string> cells_of(lock_state const&);

/// What it is, in one word: that of its kind, or "election" for one whose holder has published that it leads.
[[nodiscard]] std::string_view kind_word(lock_state const&);

/// "plain" or "redisson", the values of --wire; "etcd".
[[nodiscard]] std::string_view wire_word(lock_state const&);

/// All details of one lock, in lines.
[[nodiscard]] std::vector<std::string> page(lock_state const&);

/// The kind of the key, in a sentence: "foreign: …".
[[nodiscard]] std::string described(lock_state const&);

/// "held for 41 s by web-3 pid 812 'nightly import'"; "read by … and 2 more"; "permits: 2 of 5 out".
[[nodiscard]] std::string holding(lock_state const&);

}  // namespace holdfast::cli::listing
