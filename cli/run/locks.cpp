#include "run/locks.hpp"

#include "common/exit_codes.hpp"
#include "common/output.hpp"

#include <holdfast/election.hpp>
#include <holdfast/expiring_semaphore.hpp>
#include <holdfast/fair_mutex.hpp>
#include <holdfast/multi_mutex.hpp>
#include <holdfast/mutex.hpp>
#include <holdfast/quorum_mutex.hpp>
#include <holdfast/shared_mutex.hpp>

#include <fmt/format.h>

#include <exception>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;
using wait_limit = std::optional<std::chrono::milliseconds>;

// loss_watch enforces max_hold, by the end of the command. A command that can't be killed keeps its lock, so
// the lease has no limit; except with on_lost::warn: the command then goes on without the lock.
lock_options lock_options_for(run_options const& options) {
  return {.ttl = options.ttl,
          .watchdog = options.renewed,
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
          .never_expires = busy->never_expires,
          .answered = true};
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

/// Sets the number of slots, or finds that it is the same.
void agree_on(expiring_semaphore& slots, run_name const& wanted, bool const may_change) {
  if (slots.try_set_permits(wanted.slots)) return;
  auto const before = slots.permits();
  if (before == wanted.slots) return;
  auto const name = output::quoted(wanted.name);
  if (!may_change) {
    throw failure{wrong_type,
                  fmt::format("slots of {} are {}, not {}: all callers must say the same number, or "
                              "more would run at a time than some of them allow; --set-slots "
                              "changes it",
                              name, before, wanted.slots)};
  }
  slots.set_permits(wanted.slots);
  output::note(fmt::format("slots of {} changed from {} to {}", name, before, wanted.slots));
}

class slot_run : public run_lock {
 public:
  slot_run(client& redis, run_options const& options)
      : slots_{redis, options.name, lock_options_for(options)}, count_{options.slots} {
    agree_on(slots_, names_of(options).front(), options.set_slots);
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
    if (!busy || busy->holder.owner.empty())
      return {.text = text, .identity = text, .answered = busy.has_value()};
    text += fmt::format(" by {}", busy->holder.to_string());
    auto const others = busy->taken - 1;
    if (others == 1) text += " and another one";
    if (others > 1) text += fmt::format(" and {} others", others);
    if (busy->ahead > 0) text += fmt::format(", {} ahead of you", busy->ahead);
    return {.text = text, .identity = text, .answered = true};
  }

 private:
  expiring_semaphore slots_;
  std::int64_t count_;
};

/// Several names on one server, or in one hash slot (check_fits), all or none: one lease.
class several_run : public run_lock {
 public:
  several_run(client& redis, run_options const& options)
      : lock_{redis, agreed_names(redis, options), lock_options_for(options)} {}
  void acquire(wait_limit wait, handler done, std::stop_token stop) override {
    auto take_only_part = [done = std::move(done)](std::optional<multi_lease> held,
                                                   std::exception_ptr problem) mutable {
      done(held ? std::optional{std::move(held->parts().front())} : std::nullopt, std::move(problem));
    };
    if (wait) {
      lock_.async_try_acquire_for(*wait, std::move(take_only_part), std::move(stop));
    } else {
      lock_.async_acquire(std::move(take_only_part), std::move(stop));
    }
  }
  obstacle in_the_way() override { return obstacle_of(lock_.last_busy()); }

 private:
  static std::vector<multi_name> agreed_names(client& redis, run_options const& options) {
    std::vector<multi_name> all;
    for (auto const& wanted : names_of(options)) {
      if (wanted.side == run_side::slot) {
        expiring_semaphore slots{redis, wanted.name, lock_options_for(options)};
        agree_on(slots, wanted, options.set_slots);
        all.push_back(permits(wanted.name, 1, wanted.slots));
      } else {
        all.push_back(wanted.side == run_side::shared ? read(wanted.name) : write(wanted.name));
      }
    }
    return all;
  }

  multi_mutex lock_;
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
  if (!options.with.empty()) return std::make_unique<several_run>(redis, options);
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
  auto title = title_of(names_of(options).front());
  for (auto const& other : options.with)
    title += (&other == &options.with.front()  ? " with "
              : &other == &options.with.back() ? " and "
                                               : ", ") +
             output::quoted(other.name);
  return title;
}

std::string title_of(run_name const& wanted) {
  return (wanted.side == run_side::slot ? "slot of " : "lock ") + output::quoted(wanted.name);
}

}  // namespace holdfast::cli
