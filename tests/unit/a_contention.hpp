/// The waiting loop of a client for tests, with a backend that records.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/contention/contention.hpp"
#include "script/names.hpp"
#include "unit/engine_parts.hpp"

namespace holdfast::engine {

/// The loop of a client, and a queue.
class a_contention : public engine_parts {
 public:
  ~a_contention() override {
    queue_->waiters.clear();
    queue_->tries.clear();
  }

 protected:
  explicit a_contention(recipe const& lock_recipe = recipes::plain::exclusive, client_options options = {})
      : engine_parts{"redis://h:1", std::move(options)}, queue_{pin(lock_recipe)} {}

  recorded_waiter& start(lock_options const& options = {}) {
    auto& caller = *callers_.emplace_back(std::make_unique<recorded_waiter>(queue_, options));
    caller.observed = observe_caller(client_);
    loop_of_client_.membership.enter(caller, boot_clock::now());
    return caller;
  }
  recorded_waiter& start_try() {
    auto& caller = *callers_.emplace_back(std::make_unique<recorded_waiter>(queue_));
    caller.observed = observe_caller(client_);
    caller.tries_only = true;
    loop_of_client_.membership.enter(caller, boot_clock::now());
    return caller;
  }
  release_result release(recorded_waiter& holder) {
    // The answer may come after this call.
    auto const result = std::make_shared<release_result>(release_result::unknown);
    loop_of_client_.ends.release(*holder.lease, boot_clock::now(),
                                 [result](release_result found) { *result = found; });
    holder.lease.reset();
    return *result;
  }
  /// A message in the inbox that this client has for the lock.
  void message(std::string const& text) {
    backend_.channels.at(names::inbox(client_.uuid, queue_->name()))->on_message(text);
  }
  void open_channels() {
    for (auto const& [name, listener] : backend_.channels) listener->on_subscribed();
  }
  /// The caller is in the server's queue, and sleeps.
  recorded_waiter& start_and_sleep() {
    auto& caller = start();
    backend_.answer(busy_for(std::chrono::seconds{10}));
    open_channels();
    backend_.answer(busy_for(std::chrono::seconds{10}));
    (void)backend_.take_sent();
    return caller;
  }

  /// Tells the observer, if the options have one.
  [[nodiscard]] std::unique_ptr<moments> make_moments() {
    if (!client_.options.observer) return nullptr;
    return std::make_unique<moments>(nullptr, std::make_unique<observation>(loop_, client_));
  }

  std::unique_ptr<moments> const moments_ = make_moments();
  scripting::preferred_ways ways_;
  holders holders_;
  departed departed_;
  renewer renewer_{
      loop_,
      backend_,
      stats_,
      {.lost = [this](lease_state& lease, loss_cause cause,
                      time_point now) { loop_of_client_.ends.lose(lease, cause, now); },
       .outlived = [this](lease_state& lease, time_point now) { loop_of_client_.ends.take_back(lease, now); },
       .renewed =
           [this](lease_state const& lease, time_point was_until, time_point now) {
             if (moments_) moments_->renewed(lease, was_until, now);
           }}};
  acknowledgements acknowledgements_{backend_, client_};
  notifications notifications_{
      loop_,
      backend_,
      client_,
      log_,
      {.message = [this](std::string const& channel, turn_message const& read,
                         time_point now) { loop_of_client_.messages.on_message(channel, read, now); },
       .woken = [this](std::uint64_t number,
                       time_point now) { loop_of_client_.messages.on_woken(number, now); },
       .open = [this](std::uint64_t number,
                      time_point now) { loop_of_client_.messages.on_open(number, now); },
       .polling = [this] { loop_of_client_.requests.send_all_soon(boot_clock::now()); },
       .asked = {}}};
  recording_backend for_records_;
  presence presence_{loop_, for_records_, {}, [] { return false; }, [] {}};
  busy_report busy_report_{client_};
  delayed_calls delayed_{loop_};
  late_responses late_responses_;
  owed_requests owed_{loop_, client_, log_, [](owed_request const&, time_point) {}};
  kept_keys kept_keys_{backend_, client_, log_, departed_, late_responses_, presence_, delayed_, owed_};
  pending_releases pending_releases_{backend_,       client_,   log_,     stats_,
                                     notifications_, departed_, delayed_, owed_};
  contention loop_of_client_{contention_parts{.loop = loop_,
                                              .backend = backend_,
                                              .client = client_,
                                              .log = log_,
                                              .ways = ways_,
                                              .stats = stats_,
                                              .queues = queues_,
                                              .held = holders_,
                                              .past = departed_,
                                              .watchdog = renewer_,
                                              .wake = notifications_,
                                              .acknowledged = acknowledgements_,
                                              .own_presence = presence_,
                                              .report = busy_report_,
                                              .late = late_responses_,
                                              .delayed = delayed_,
                                              .kept = kept_keys_,
                                              .releases = pending_releases_,
                                              .noted = moments_.get()}};
  lock_queue_ptr queue_;
  std::vector<std::unique_ptr<recorded_waiter>> callers_;
};

}  // namespace holdfast::engine
