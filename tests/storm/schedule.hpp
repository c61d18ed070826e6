/// When which fault comes.
#pragma once

#include "arena.hpp"

#include <fstream>
#include <set>

namespace holdfast::storm {

/// One fault after the other, each of a random kind; several may be under way at a time. In each phase of
/// some seconds only some groups of faults come: rules from which a fault of the network excuses have to be
/// kept in the others.
class schedule {
 public:
  /// `log`: a file for a line of each begin and end, with the time that histories have.
  schedule(std::vector<fault> all, dice choices, std::filesystem::path const& log)
      : all_{std::move(all)}, dice_{choices}, log_{log} {}

  /// Does what is due by now.
  void step();
  /// Ends all faults that are under way.
  void end_all();

  [[nodiscard]] std::map<std::string, std::int64_t> const& counts() const { return counts_; }

 private:
  using clock = std::chrono::steady_clock;
  struct open_fault {
    std::string group{};
    clock::time_point until{};
    std::function<void()> undo{};
    std::string name{};
  };
  void begin_phase();
  void begin_one();
  void end(open_fault const& over);

  void note(std::string const& what);

  std::vector<fault> all_;
  dice dice_;
  std::ofstream log_;
  std::set<std::string> groups_;  ///< of this phase
  std::vector<open_fault> open_;
  clock::time_point next_{};
  clock::time_point phase_over_{};
  std::map<std::string, std::int64_t> counts_;
};

}  // namespace holdfast::storm
