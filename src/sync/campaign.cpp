#include "sync/campaign.hpp"

#include <algorithm>
#include <utility>

#include "base/clock.hpp"
#include "engine/failure.hpp"
#include "sync/options_check.hpp"
#include "sync/thrown.hpp"
#include "wire/plain/election.hpp"

namespace holdfast::sync {
namespace {

constexpr std::size_t longest_value = 65536;

void check_value(std::string_view value, std::string const& name) {
  check(value.size() <= longest_value, "the value of a leader of \"" + name +
                                           "\" has at most 65536 bytes, not " + std::to_string(value.size()));
}

call publication(engine::core& core, lease const& leading, std::string_view name, std::string_view value) {
  auto const& held = *engine::lease_state::behind(leading);
  auto const owner = core.owner_id(held.number());
  return recipes::plain::publish({.name = name, .owner = owner}, leading.token(), value, held.options().ttl,
                                 core.publishing_now());
}

/// It waits for the server as long as the lease may last.
scripting::send_options while_led(lease const& leading) {
  return {.while_down = net::retry_policy::endless, .give_up = boot_clock::now() + leading.remaining()};
}

/// Whether the value is published; false: the lease is lost. Throws what a refusal means.
bool is_published(net::response const& response, std::string const& name, engine::core const& core) {
  if (response.reply.is_error()) throw error{*engine::explain(response.reply.text, name, core.constants())};
  return response.reply.integer == 1;
}

/// The server couldn't be asked for as long as the lease lasted.
bool is_over(error const& failure, lease const& leading) {
  return failure.code() == errc::unreachable && !leading.valid();
}

/// The wait that is left until `end`.
engine::wait_limit left_until(std::optional<time_point> const end) {
  if (!end) return std::nullopt;
  return std::max<std::chrono::nanoseconds>(*end - boot_clock::now(), std::chrono::nanoseconds{0});
}

std::optional<time_point> end_of(engine::wait_limit const wait) {
  if (!wait) return std::nullopt;
  return boot_clock::now() + *wait;
}

}  // namespace

std::optional<lease> campaign_place::campaign(std::string_view value, engine::wait_limit wait,
                                              std::stop_token const& stop) const {
  check_value(value, binding.name());
  auto& core = *binding.core();
  auto const end = end_of(wait);
  for (;; wait = left_until(end)) {
    auto leading = binding.acquire(wait, stop);
    if (!leading) return std::nullopt;
    try {
      auto const response = core.requests().ask_until_ready(
          publication(core, *leading, binding.name(), value), while_led(*leading));
      if (is_published(response, binding.name(), core)) return leading;
    } catch (error const& failure) {
      if (!is_over(failure, *leading)) throw;
    }
  }
}

namespace {

/// A campaign that nobody waits for.
class pending_campaign : public std::enable_shared_from_this<pending_campaign> {
 public:
  pending_campaign(std::shared_ptr<campaign_place const> place, std::string value, engine::wait_limit wait,
                   election::campaign_handler done, std::stop_token stop)
      : place_{std::move(place)},
        value_{std::move(value)},
        end_{end_of(wait)},
        done_{std::move(done)},
        stop_{std::move(stop)} {}

  void start(engine::wait_limit wait) {
    place_->binding.async_acquire(
        wait,
        [self = shared_from_this()](std::optional<lease> granted, std::exception_ptr failure) {
          self->on_acquired(std::move(granted), std::move(failure));
        },
        stop_);
  }

 private:
  void on_acquired(std::optional<lease> granted, std::exception_ptr failure) {
    if (!granted) {
      done_(std::nullopt, std::move(failure));
      return;
    }
    leading_ = std::move(*granted);
    attempt([this] {
      auto& core = *place_->binding.core();
      core.async_requests().ask_until_ready(
          publication(core, leading_, place_->binding.name(), value_),
          [self = shared_from_this()](net::response&& response) { self->on_response(std::move(response)); },
          while_led(leading_));
    });
  }

  void on_response(net::response&& response) {
    auto const& binding = place_->binding;
    attempt([&] {
      if (response.failure && !is_over(*response.failure, leading_)) throw error{*response.failure};
      if (!response.failure && is_published(response, binding.name(), *binding.core())) {
        published_ = true;
        return;
      }
      leading_.async_release({});
      start(left_until(end_));
    });
    if (published_) done_(std::move(leading_), nullptr);
  }

  /// Does the next step; when that fails, the lock is given back, and the caller gets the error.
  template <class Step>
  void attempt(Step step) {
    std::exception_ptr failure;
    try {
      step();
      return;
    } catch (...) {
      failure = std::current_exception();
    }
    leading_.async_release({});
    done_(std::nullopt, std::move(failure));
  }

  std::shared_ptr<campaign_place const> place_;
  std::string value_;
  std::optional<time_point> end_;
  election::campaign_handler done_;
  std::stop_token stop_;
  lease leading_{};
  bool published_ = false;
};

}  // namespace

void async_campaign(std::shared_ptr<campaign_place const> place, std::string value, engine::wait_limit wait,
                    election::campaign_handler done, std::stop_token stop) {
  check_handler(done, place->binding.name());
  check_value(value, place->binding.name());
  std::make_shared<pending_campaign>(std::move(place), std::move(value), wait, std::move(done),
                                     std::move(stop))
      ->start(wait);
}

}  // namespace holdfast::sync
