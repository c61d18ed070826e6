#include "engine/lease_state.hpp"

#include <exception>
#include <utility>

#include "engine/client_constants.hpp"

namespace holdfast::engine {

bool lease_state::valid() const noexcept { return remaining().count() > 0; }

std::chrono::nanoseconds lease_state::remaining() const noexcept {
  if (status() != state::held || queue_->client().forked()) return {};
  auto const end = time_point{boot_clock::duration{deadline_.load(std::memory_order_acquire)}};
  return std::max(end - boot_clock::now(), std::chrono::nanoseconds{0});
}

lease_state::loss_notice& lease_state::notice() {
  auto& own_extras = more();
  if (!own_extras.notice) {
    auto created = std::make_shared<loss_notice>();
    own_extras.notify.emplace_back([created] {
      // Destroyed here, without the client's lock, which their captures may need.
      auto listeners = std::exchange(created->listeners, {});
      if (created->cause == loss_cause::none) return;
      if (created->stop.stop_possible()) created->stop.request_stop();
      std::exception_ptr first;  // for the log: one that throws keeps the others from nothing
      for (auto& listener : listeners) {
        try {
          listener(created->cause);
        } catch (...) {
          if (!first) first = std::current_exception();
        }
      }
      if (first) std::rethrow_exception(first);
    });
    own_extras.notice = std::move(created);
  }
  return *own_extras.notice;
}

std::stop_token lease_state::stop_token() {
  auto& stop = notice().stop;
  if (stop.stop_possible()) return stop.get_token();
  if (status() == state::lost) {  // and its listeners may be running
    std::stop_source over;
    over.request_stop();
    return over.get_token();
  }
  stop = std::stop_source{};
  return stop.get_token();
}

reactor::loop::calls lease_state::lose(loss_cause cause) noexcept {
  cause_.store(cause, std::memory_order_release);
  state_.store(state::lost, std::memory_order_release);
  if (extras_ && extras_->notice) extras_->notice->cause = cause;
  return drop_listeners();
}

reactor::loop::calls lease_state::set_warning(time_point when, move_only_function<void()>&& f) {
  auto given = std::make_shared<warning>();
  reactor::loop::calls ready;
  ready.emplace_back([given] {
    auto warn = std::exchange(given->callback, {});
    if (!given->cancelled) warn();
  });
  more().warn_at = when;
  given->callback = std::move(f);
  auto before = drop_warning();
  extras_->warn = std::move(ready);
  extras_->warned = std::move(given);
  return before;
}

reactor::loop::calls lease_state::drop_warning() noexcept {
  if (extras_->warned) extras_->warned->cancelled = true;
  extras_->warned.reset();
  return std::exchange(extras_->warn, {});
}

reactor::loop::calls lease_state::drop_listeners() noexcept {
  if (!extras_) return {};
  auto all = std::exchange(extras_->notify, {});
  all.splice(all.end(), drop_warning());
  return all;
}

void lease_state::take_listeners(lease_state& other) {
  on_destroy = other.on_destroy.load();
  if (!other.extras_) return;
  auto& from = *other.extras_;
  auto& to = more();
  to.notice.swap(from.notice);
  to.notify.swap(from.notify);
  if (from.warn_at == time_point::max()) return;
  to.warn_at = to.limit - (from.limit - from.warn_at);
  to.warned.swap(from.warned);
  to.warn.swap(from.warn);
  from.warn_at = time_point::max();
}

lease_state_ptr lease_state::latest() {
  lease_state_ptr result{this};
  while (result->extras_ && result->extras_->heir) result = result->extras_->heir;
  return result;
}

std::string shown_name(lease_state const& lease) {
  auto const& queue = lease.queue();
  return queue.lock_recipe().several == nullptr ? queue.name() : queue.title();
}

std::string shown_owner(lease_state const& lease) {
  auto const& queue = lease.queue();
  auto owner = queue.client().owner_id(lease.number());
  auto const id_of = queue.lock_recipe().id_of;
  return id_of == nullptr ? owner : id_of(owner);
}

}  // namespace holdfast::engine
