#include "run.hpp"

#include "acquire.hpp"
#include "boot_time.hpp"
#include "child.hpp"
#include "duration.hpp"
#include "exit_codes.hpp"
#include "output.hpp"
#include "run_lock.hpp"
#include "server_choice.hpp"
#include "server_place.hpp"
#include "signals.hpp"
#include "supervise.hpp"
#include "terminal.hpp"

#include <holdfast/client.hpp>

#include <fmt/format.h>

#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;

/// A release that isn't answered in this time ends with the ttl; nobody wants to wait for that.
constexpr auto release_limit = 2s;

release_result give_back(lease held, signals const& desk) {
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
    auto const left = end - std::chrono::steady_clock::now();
    if (left <= 0s) return release_result::unknown;
    desk.wake_in(left);
    if (signals::is_ending(desk.wait())) return release_result::unknown;
  }
}

/// Nobody else is to have the lock for a while yet. Where it was taken by force it goes back like any other:
/// somebody wants it now.
release_result finish(run_options const& options, lease held, std::chrono::nanoseconds const started,
                      signals const& desk) {
  bool const forced = held.lost_because() == loss_cause::forced;
  if (options.keep && !forced) return held.keep_until_expiry();
  auto const left = std::chrono::ceil<std::chrono::milliseconds>(options.once_per - (boot_time() - started));
  if (options.once_per == 0ms || left <= 0ms || forced) return give_back(std::move(held), desk);
  return held.keep_for(left);
}

/// The exit code, once the release has told what the holder could not know: that the lock went while the
/// command ran.
int conclude(run_options const& options, supervision const& seen, release_result const released) {
  auto const name = title_of(options);
  switch (released) {
    case release_result::kept:
      output::tell(fmt::format(
          "{} kept: it comes free {}", name,
          options.keep ? fmt::format("when its ttl ({}) is over", to_string(options.ttl))
                       : fmt::format("{} after the command was started", to_string(options.once_per))));
      break;
    case release_result::released:
      output::tell(fmt::format("{} released", name));
      break;
    case release_result::unknown:
      output::note(
          fmt::format("{}: the release was not confirmed; the lock ends with its ttl ({}) at the latest",
                      name, to_string(options.ttl)));
      break;
    case release_result::lost:
      if (seen.lost) break;
      output::error(
          fmt::format("{} was lost while the command ran: at the release it was no longer ours; "
                      "another holder may have run at the same time",
                      name));
      return options.policy == on_lost::warn ? seen.code : lost;
  }
  return seen.lost && options.policy != on_lost::warn ? lost : seen.code;
}

int say_busy(run_options const& options, std::string const& why) {
  if (options.once_per == 0ms) {
    output::error(why);
    return busy;
  }
  output::tell("skipped: " + why);
  return ok;
}

/// A lock of Redisson's format has no tokens.
std::vector<std::string> environment_for(run_options const& options, lease const& held) {
  std::vector<std::string> all{fmt::format("HOLDFAST_NAME={}", options.name),
                               fmt::format("HOLDFAST_OWNER={}", held.owner())};
  if (held.token() != 0) all.push_back(fmt::format("HOLDFAST_TOKEN={}", held.token()));
  return all;
}

int run_under(run_lock& lock, std::string const& server, run_options const& options, signals const& desk,
              terminal const& tty, inherited_files const& files) {
  auto granted = acquire(lock, options, desk, server);
  if (!granted.busy.empty()) return say_busy(options, granted.busy);
  if (!granted.held) return granted.code;
  auto held = std::move(*granted.held);
  auto const started = boot_time();
  output::tell(fmt::format("{} acquired{}", title_of(options),
                           held.token() == 0 ? "" : fmt::format(", token {}", held.token())));

  supervision seen;
  try {
    child command{
        {.command = options.command, .environment = environment_for(options, held)}, desk, tty, files};
    seen = supervise(command, held, options, desk, tty);
  } catch (failure const&) {
    // Nothing has run, so there is nothing to keep others from either.
    static_cast<void>(give_back(std::move(held), desk));
    throw;
  }
  return conclude(options, seen, finish(options, std::move(held), started, desk));
}

}  // namespace

int run(run_options const& options) {
  inherited_files const files;
  auto const url = choose_server(options.url);
  check_fits(options, server_place{url}.kind());
  terminal const tty;
  signals const desk;
  client redis{url, {.name = "holdfast-run", .label = options.label, .log = output::hook()}};
  auto const lock = make_run_lock(redis, options);
  return run_under(*lock, redis.url(), options, desk, tty, files);
}

}  // namespace holdfast::cli
