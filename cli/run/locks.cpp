#include "run/locks.hpp"

#include "common/exit_codes.hpp"
#include "common/output.hpp"

#include <holdfast/election.hpp>
#include <holdfast/expiring_semaphore.hpp>
#include <holdfast/fair_mutex.hpp>
#include <holdfast/mutex.hpp>
#include <holdfast/quorum_mutex.hpp>
#include <holdfast/shared_mutex.hpp>

#include <fmt/format.h>

#include <string>
#include <utility>

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;
using wait_limit = std::optional<std::chrono::milliseconds>;

// loss_watch enforces max_hold, by the end of the command. A command that can't be killed keeps its lock, so
// the lease has no limit; but with on_lost::warn, where the command goes on without the lock.
lock_options lock_options_for(run_options const& options) {
  return {.ttl = options.ttl,
          .max_hold = options.policy == on_lost::warn ? options.max_hold : 0ms,
          .fsynced = options.fsynced,
          .replicas = options.replicas,
          .wire = options.wire,
          .detect_deadlock = options.detect_deadlock};
}

obstacle obstacle_of(std::optional<busy_info> const& busy) {
  if (!busy) return {};
  return {.text = busy->to_string(),
          .identity = fmt::format("{} {}", busy->holder.to_string(), busy->ahead),
          .never_expires = busy->never_expires};
}

/// A mutex of any kind, or the writer of a shared_mutex.
template <class Lock>
class exclusive_run : public run_lock {
 public:
  exclusive_run(client& redis, run_options const& options)
      : lock_{redis, options.name, lock_options_for(options)} {}
  void acquire(wait_limit wait, handler done, std::stop_token stop) override {
    if (wait) {
      lock_.async_try_acquire_for(*wait, std::move(done), std::move(stop));
    } else {
      lock_.async_acquire(std::move(done), std::move(stop));
    }
  }
  obstacle in_the_way() override { return obstacle_of(lock_.last_busy()); }

 private:
  Lock lock_;
};

class shared_run : public run_lock {
 public:
  shared_run(client& redis, run_options const& options)
      : lock_{redis, options.name, lock_options_for(options)} {}
  void acquire(wait_limit wait, handler done, std::stop_token stop) override {
    if (wait) {
      lock_.async_try_acquire_shared_for(*wait, std::move(done), std::move(stop));
    } else {
      lock_.async_acquire_shared(std::move(done), std::move(stop));
    }
  }
  obstacle in_the_way() override { return obstacle_of(lock_.last_busy()); }

 private:
  shared_mutex lock_;
};

class slot_run : public run_lock {
 public:
  slot_run(client& redis, run_options const& options)
      : slots_{redis, options.name, lock_options_for(options)}, count_{options.slots} {
    if (slots_.try_set_permits(count_)) return;
    auto const before = slots_.permits();
    if (before == count_) return;
    if (!options.set_slots) {
      throw failure{wrong_type,
                    fmt::format("slots of {} are {}, not {}: all callers must say the same number, or "
                                "more would run at a time than some of them allow; --set-slots "
                                "changes it",
                                output::quoted(options.name), before, count_)};
    }
    slots_.set_permits(count_);
    output::note(
        fmt::format("slots of {} changed from {} to {}", output::quoted(options.name), before, count_));
  }
  void acquire(wait_limit wait, handler done, std::stop_token stop) override {
    if (wait) {
      slots_.async_try_acquire_for(*wait, std::move(done), std::move(stop));
    } else {
      slots_.async_acquire(std::move(done), std::move(stop));
    }
  }
  obstacle in_the_way() override {
    auto text = count_ == 1 ? "its only slot is taken" : fmt::format("all {} slots are taken", count_);
    auto const busy = slots_.last_busy();
    if (!busy || busy->holder.owner.empty()) return {.text = text, .identity = text};
    text += fmt::format(" by {}", busy->holder.to_string());
    auto const others = busy->taken - 1;
    if (others == 1) text += " and another one";
    if (others > 1) text += fmt::format(" and {} others", others);
    if (busy->ahead > 0) text += fmt::format(", {} ahead of you", busy->ahead);
    return {.text = text, .identity = text};
  }

 private:
  expiring_semaphore slots_;
  std::int64_t count_;
};

class lead_run : public run_lock {
 public:
  lead_run(client& redis, run_options const& options)
      : election_{redis, options.name, lock_options_for(options)}, value_{*options.lead_value} {}
  void acquire(wait_limit wait, handler done, std::stop_token stop) override {
    if (wait) {
      election_.async_try_campaign_for(value_, *wait, std::move(done), std::move(stop));
    } else {
      election_.async_campaign(value_, std::move(done), std::move(stop));
    }
  }
  obstacle in_the_way() override { return obstacle_of(election_.last_busy()); }

 private:
  election election_;
  std::string value_;
};

}  // namespace

std::unique_ptr<run_lock> make_run_lock(client& redis, run_options const& options) {
  if (options.lead_value) return std::make_unique<lead_run>(redis, options);
  if (quorum_mutex::is_for(redis)) return std::make_unique<exclusive_run<quorum_mutex>>(redis, options);
  switch (options.side) {
    case run_side::shared:
      return std::make_unique<shared_run>(redis, options);
    case run_side::exclusive:
      return std::make_unique<exclusive_run<shared_mutex>>(redis, options);
    case run_side::slot:
      return std::make_unique<slot_run>(redis, options);
    case run_side::alone:
      break;
  }
  if (options.fair) return std::make_unique<exclusive_run<fair_mutex>>(redis, options);
  return std::make_unique<exclusive_run<mutex>>(redis, options);
}

std::string title_of(run_options const& options) {
  if (options.lead_value) return "lead of " + output::quoted(options.name);
  return (options.side == run_side::slot ? "slot of " : "lock ") + output::quoted(options.name);
}

}  // namespace holdfast::cli
