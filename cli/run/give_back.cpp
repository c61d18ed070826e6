#include "run/give_back.hpp"

#include "common/duration.hpp"
#include "common/output.hpp"
#include "run/locks.hpp"

#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <mutex>
#include <utility>

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;

/// An unconfirmed release ends with the ttl.
constexpr auto release_limit = 2s;

}  // namespace

release_result give_back(lease held, signals const& receiver) {
  struct outcome {
    std::mutex guard;
    bool known = false;
    release_result result = release_result::unknown;
  };
  auto const shared = std::make_shared<outcome>();
  held.async_release([shared](release_result const result) {
    {
      std::scoped_lock const hold{shared->guard};
      shared->known = true;
      shared->result = result;
    }
    signals::wake();
  });
  auto const end = std::chrono::steady_clock::now() + release_limit;
  for (;;) {
    {
      std::scoped_lock const hold{shared->guard};
      if (shared->known) return shared->result;
    }
    auto const remaining = end - std::chrono::steady_clock::now();
    if (remaining <= 0s) return release_result::unknown;
    receiver.wake_in(remaining);
    if (signals::is_ending(receiver.wait())) return release_result::unknown;
  }
}

void note_unconfirmed_release(run_options const& options) {
  output::note(fmt::format("{}: the release was not confirmed; the lock ends with its ttl ({}) at the latest",
                           title_of(options), to_string(options.ttl)));
}

}  // namespace holdfast::cli
