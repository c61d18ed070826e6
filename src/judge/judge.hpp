/// Judges histories: whether the locks did what they promise.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "judge/exclusion.hpp"
#include "judge/merge.hpp"
#include "judge/numbers.hpp"
#include "judge/waits.hpp"

namespace holdfast::judging {

struct options {
  instant slack = 1'000'000'000;  ///< see waits
  instant uncertainty = 0;        ///< of the clocks of several hosts
  merge::hosts hosts = merge::hosts::one;
  std::size_t kept_back = 500'000;  ///< lines, see merge
};

/// In one pass. Memory: the lines that are kept back, about 150 bytes each; the leases and waits of the
/// moment; some 400 bytes for each name.
class judge {
 public:
  /// Throws unreadable, as run().
  judge(std::vector<std::string> const& paths, options const& tolerances);

  void run();

  [[nodiscard]] report const& result() const noexcept { return state_.result; }
  [[nodiscard]] tables const& known() const noexcept { return known_; }
  [[nodiscard]] std::size_t lines() const noexcept { return lines_.count(); }

 private:
  [[noreturn]] void refuse(record const& line, std::string const& why) const;
  void take(record const& line);
  void note_life(record const& line);
  void on_asked(record const& line);
  void on_granted(record const& line);
  void on_taken(record const& line);
  void on_left(record const& line);
  void on_deadline(record const& line);
  void on_paused(record const& line);
  void on_kept(record const& line);
  void on_end(record const& line);
  void on_closed(record const& line);
  void at_end();
  [[nodiscard]] std::unique_ptr<wait_state> end_of_wait(record const& line);
  [[nodiscard]] hold_state& hold_of(record const& line);
  void forget(hold_state const& hold);

  tables known_;
  merge lines_;
  state state_;
  exclusion exclusion_{state_};
  numbers numbers_{state_};
  waits waits_;
};

/// All histories are open at the same time: raises the limit of this process on open files as far as it may.
void allow_many_files() noexcept;

}  // namespace holdfast::judging
