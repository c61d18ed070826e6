/// What an observer of an election was told.
#pragma once

#include <holdfast/election.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::test {

class leader_log {
 public:
  election::leader_handler handler() {
    return [state = state_](std::optional<leader_info> const& leader) {
      std::scoped_lock const hold{state->guard};
      state->all.push_back(leader);
    };
  }
  [[nodiscard]] std::vector<std::optional<leader_info>> all() const {
    std::scoped_lock const hold{state_->guard};
    return state_->all;
  }
  [[nodiscard]] std::size_t size() const { return all().size(); }
  /// The value of the last report; "-" when that was that nobody leads, "" when there was none.
  [[nodiscard]] std::string last() const {
    auto const reports = all();
    if (reports.empty()) return {};
    return reports.back() ? reports.back()->value : "-";
  }
  /// The values of all leaders, in order.
  [[nodiscard]] std::vector<std::string> leaders() const {
    std::vector<std::string> values;
    for (auto const& report : all()) {
      if (report) values.push_back(report->value);
    }
    return values;
  }
  /// Terms never go back.
  [[nodiscard]] bool in_order() const {
    std::vector<std::int64_t> terms;
    for (auto const& report : all()) {
      if (report) terms.push_back(report->term);
    }
    return std::ranges::is_sorted(terms);
  }

 private:
  struct state {
    std::mutex guard;
    std::vector<std::optional<leader_info>> all;
  };
  std::shared_ptr<state> state_ = std::make_shared<state>();
};

}  // namespace holdfast::test
