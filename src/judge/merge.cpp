#include "judge/merge.hpp"

#include <algorithm>

namespace holdfast::judging {
namespace {

/// At the same time ends come before beginnings: a lock goes from one caller of a process to the next at
/// once.
bool ends(history::event event) noexcept {
  return event == history::event::released || event == history::event::lost ||
         event == history::event::paused;
}

struct later {
  bool operator()(record const& one, record const& other) const noexcept {
    if (one.t != other.t) return one.t > other.t;
    return ends(one.event) < ends(other.event);
  }
};

}  // namespace

merge::merge(tables& known, std::vector<std::string> const& paths, std::size_t kept_back, hosts expected)
    : known_{known}, kept_back_{kept_back}, expected_{expected} {
  for (auto const& path : paths) sources_.push_back({.file = std::make_unique<history_file>(known, path)});
}

std::optional<record> merge::next() {
  while (!sources_.empty() && heap_.size() <= kept_back_) read_one();
  if (heap_.empty()) return std::nullopt;
  std::ranges::pop_heap(heap_, later{});
  auto const result = heap_.back();
  heap_.pop_back();
  if (result.t < newest_given_) {
    throw unreadable{known_.files[result.file] + ", line " + std::to_string(result.line) +
                     ": it is out of order: it was written behind more than " + std::to_string(kept_back_) +
                     " lines that are newer; --window says how many are kept back"};
  }
  newest_given_ = result.t;
  ++count_;
  return result;
}

/// From the file that is the furthest behind.
void merge::read_one() {
  auto const from = std::ranges::min_element(sources_, {}, &source::newest);
  auto line = from->file->next();
  if (!line) {
    sources_.erase(from);
    return;
  }
  to_common_clock(*line);
  from->newest = std::max(from->newest, line->t);
  heap_.push_back(*line);
  std::ranges::push_heap(heap_, later{});
  if (known_.machines.size() > 1 && expected_ == hosts::one) {
    throw unreadable{known_.files[line->file] + ", line " + std::to_string(line->line) +
                     ": this is a history of " + known_.clients[line->client].host +
                     ", another host than before, or of a later start of it; "
                     "say with --uncertainty by how much the clocks of the hosts may differ"};
  }
}

void merge::to_common_clock(record& line) const {
  auto const machine = known_.clients[line.client].machine;
  auto const first = std::ranges::find(known_.clients, machine, &client_facts::machine);
  auto const offset = first->wall - first->t;
  line.t += offset;
  if (line.until != 0) line.until += offset;
}

}  // namespace holdfast::judging
