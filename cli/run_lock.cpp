#include "run_lock.hpp"

#include "output.hpp"

#include <holdfast/expiring_semaphore.hpp>
#include <holdfast/fair_mutex.hpp>
#include <holdfast/mutex.hpp>
#include <holdfast/quorum_mutex.hpp>
#include <holdfast/shared_mutex.hpp>

#include <fmt/format.h>

#include <utility>

namespace holdfast::cli {
namespace {

using patience = std::optional<std::chrono::milliseconds>;

// The watch over max_hold is ours; the lease's own limit is there in case that we are stuck.
lock_options terms_of(run_options const& how) {
  return {.ttl = how.ttl,
          .renew_every = how.renew_every,
          .max_hold = how.max_hold,
          .fsynced = how.fsynced,
          .replicas = how.replicas,
          .wire = how.wire};
}

/// A mutex of any kind, or the writer of a shared_mutex.
template <class Lock>
class exclusive_run : public run_lock {
 public:
  exclusive_run(client& redis, run_options const& how) : lock_{redis, how.name, terms_of(how)} {}
  void acquire(patience wait, handler done, std::stop_token stop) override {
    if (wait) {
      lock_.async_try_acquire_for(*wait, std::move(done), std::move(stop));
    } else {
      lock_.async_acquire(std::move(done), std::move(stop));
    }
  }
  std::string why_busy() override {
    auto const by = lock_.last_busy();
    return by ? by->to_string() : std::string{};
  }

 private:
  Lock lock_;
};

class shared_run : public run_lock {
 public:
  shared_run(client& redis, run_options const& how) : lock_{redis, how.name, terms_of(how)} {}
  void acquire(patience wait, handler done, std::stop_token stop) override {
    if (wait) {
      lock_.async_try_acquire_shared_for(*wait, std::move(done), std::move(stop));
    } else {
      lock_.async_acquire_shared(std::move(done), std::move(stop));
    }
  }
  std::string why_busy() override {
    auto const by = lock_.last_busy();
    return by ? by->to_string() : std::string{};
  }

 private:
  shared_mutex lock_;
};

class slot_run : public run_lock {
 public:
  slot_run(client& redis, run_options const& how)
      : slots_{redis, how.name, terms_of(how)}, count_{how.slots} {
    if (slots_.try_set_permits(count_)) return;
    auto const before = slots_.permits();
    if (before == count_) return;
    slots_.set_permits(count_);
    output::note(fmt::format("slots of {} changed from {} to {}", output::quoted(how.name), before, count_));
  }
  void acquire(patience wait, handler done, std::stop_token stop) override {
    if (wait) {
      slots_.async_try_acquire_for(*wait, std::move(done), std::move(stop));
    } else {
      slots_.async_acquire(std::move(done), std::move(stop));
    }
  }
  std::string why_busy() override {
    return count_ == 1 ? "its only slot is taken" : fmt::format("all {} slots are taken", count_);
  }

 private:
  expiring_semaphore slots_;
  std::int64_t count_;
};

}  // namespace

std::unique_ptr<run_lock> make_run_lock(client& redis, run_options const& how) {
  if (quorum_mutex::is_for(redis)) return std::make_unique<exclusive_run<quorum_mutex>>(redis, how);
  switch (how.side) {
    case run_side::shared:
      return std::make_unique<shared_run>(redis, how);
    case run_side::exclusive:
      return std::make_unique<exclusive_run<shared_mutex>>(redis, how);
    case run_side::slot:
      return std::make_unique<slot_run>(redis, how);
    case run_side::alone:
      break;
  }
  if (how.fair) return std::make_unique<exclusive_run<fair_mutex>>(redis, how);
  return std::make_unique<exclusive_run<mutex>>(redis, how);
}

std::string title_of(run_options const& how) {
  return (how.side == run_side::slot ? "slot of " : "lock ") + output::quoted(how.name);
}

}  // namespace holdfast::cli
