#include "schedule.hpp"

#include "support/judge.hpp"

#include <algorithm>
#include <exception>
#include <utility>

namespace holdfast::storm {

using namespace std::chrono_literals;

void schedule::begin_phase() {
  groups_.clear();
  for (auto const& each : all_) groups_.insert(each.group);
  std::erase_if(groups_, [this](std::string const& group) { return group != "clients" && dice_.one_in(2); });
  phase_over_ = clock::now() + dice_.between(6'000ms, 12'000ms);
}

void schedule::step() {
  auto const now = clock::now();
  if (now >= phase_over_) begin_phase();
  for (auto i = open_.size(); i-- != 0;) {
    if (now < open_[i].until) continue;
    auto const over = std::move(open_[i]);
    open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(i));
    end(over);
  }
  if (now < next_) return;
  begin_one();
  next_ = clock::now() + dice_.between(50ms, 1'200ms);
}

void schedule::note(std::string const& what) { log_ << test::boot_now() << ' ' << what << std::endl; }

void schedule::begin_one() {
  std::vector<fault const*> possible;
  for (auto const& each : all_) {
    auto const under_way =
        std::ranges::any_of(open_, [&](open_fault const& other) { return other.group == each.group; });
    if (groups_.contains(each.group) && !under_way) possible.push_back(&each);
  }
  if (possible.empty()) return;
  auto const& chosen = *dice_.of(possible);
  try {
    note("begins: " + chosen.name);
    auto how = chosen.begin(dice_);
    note("has begun: " + chosen.name);
    ++counts_[chosen.name];
    if (how.undo) open_.push_back({chosen.group, clock::now() + how.after, std::move(how.undo), chosen.name});
  } catch (std::exception const&) {
    ++counts_[chosen.name + " (not completed)"];  // the machine is slow, or another fault was in the way
  }
}

void schedule::end(open_fault const& over) {
  try {
    over.undo();
    note("is over: " + over.name);
  } catch (std::exception const&) {
    ++counts_[over.name + " (not completed)"];
  }
}

void schedule::end_all() {
  auto const all = std::exchange(open_, {});
  for (auto const& each : all) end(each);
}

}  // namespace holdfast::storm
