#include "run/repetition.hpp"

namespace holdfast::cli {
namespace {

/// A command that worked for so long isn't one that fails at once, again and again.
constexpr std::chrono::seconds long_enough{30};

}  // namespace

std::optional<std::chrono::nanoseconds> repetition::after(turn const& last) {
  if (when_ == run_again::no || last.told_to_end) return std::nullopt;
  // A first turn that doesn't get the lock ends as without --again: the server, or an option, may be wrong.
  if (!last.ran && !has_run_) return std::nullopt;
  if (last.ran && !last.lost && when_ == run_again::on_loss) return std::nullopt;
  has_run_ = true;
  if (last.held_for >= long_enough) pause_.reset();
  return pause_.next(random_);
}

}  // namespace holdfast::cli
