#include "run/wait_report.hpp"

#include "common/boot_time.hpp"
#include "common/output.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;

constexpr auto first_look = 1s;
constexpr auto first_look_when_verbose = 200ms;
constexpr auto between_looks = 1s;
/// Where only a key that never expires is worth a line.
constexpr auto between_rare_looks = 10s;

constexpr auto unanswered = "nothing ";  // no identity of an obstacle ends with a space

}  // namespace

wait_report::wait_report(run_lock& lock, std::string const& title, std::string const& server)
    : lock_{lock},
      title_{title},
      server_{server},
      shown_{output::verbose() || isatty(STDERR_FILENO) == 1},
      verbose_{output::verbose()},
      next_{boot_time() + (verbose_ ? std::chrono::nanoseconds{first_look_when_verbose} : first_look)} {}

std::chrono::nanoseconds wait_report::pause() const {
  return std::max<std::chrono::nanoseconds>(next_ - boot_time(), 1ms);
}

void wait_report::look() {
  if (boot_time() < next_) return;
  auto const found = lock_.in_the_way();
  next_ = boot_time() + (shown_ ? std::chrono::nanoseconds{between_looks} : between_rare_looks);
  auto const identity = found.text.empty() ? unanswered : found.identity;
  bool const warning = found.never_expires && !warned_;
  if (!warning && (!shown_ || identity == said_)) return;
  said_ = identity;
  warned_ = found.never_expires;
  auto line = fmt::format("waiting for {}: {}", title_,
                          found.text.empty() ? server_ + " has not answered yet" : found.text);
  if (warning) line += ", so this wait ends only when somebody deletes the key, or --wait is over";
  if (verbose_) {
    output::info(line);
  } else {
    output::note(line);
  }
}

}  // namespace holdfast::cli
