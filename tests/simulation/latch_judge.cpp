#include "simulation/latch_judge.hpp"

#include <algorithm>

#include "base/whole_number.hpp"

namespace holdfast::simulation {

namespace {

/// Who waits at an open latch passes within this time: two re-checks, an outage, and the latency.
constexpr std::chrono::seconds longest_wait_at_open{8};

}  // namespace

std::int64_t count_of_latch(std::string_view text) {
  constexpr std::string_view of_plain{"holdfast_latch "};
  return leading_number(text.starts_with(of_plain) ? text.substr(of_plain.size()) : text);
}

void latch_judge::look(std::string const& name, latch& at) {
  auto const open = count_of_latch(servers_.front()->data().text_of(name)) <= 0;  // also without a count
  if (!open) {
    at.open_since = time_point::max();
    return;
  }
  at.last_open = world_.now();
  at.open_since = std::min(at.open_since, world_.now());
}

void latch_judge::on_wait(std::string const& name, void const* caller) {
  look(name, latches_[name]);
  waits_.push_back({caller, name, world_.now()});
}

void latch_judge::on_passed(void const* caller) {
  auto const found = std::ranges::find(waits_, caller, &wait::caller);
  if (found != waits_.end() && latches_[found->name].last_open < found->begun)
    fail_("a caller has passed \"" + found->name + "\", which was closed through its whole wait");
}

void latch_judge::on_answer(void const* caller) {
  std::erase_if(waits_, [caller](wait const& entry) { return entry.caller == caller; });
}

void latch_judge::check() {
  for (auto& [name, latch] : latches_) look(name, latch);
  for (auto& entry : waits_) {
    auto const since = std::max(entry.begun, latches_[entry.name].open_since);
    if (entry.reported || since > world_.now() || world_.now() - since <= longest_wait_at_open) continue;
    entry.reported = true;
    fail_("a caller waits at \"" + entry.name + "\", which has been open for so long");
  }
}

}  // namespace holdfast::simulation
