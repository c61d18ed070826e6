#include "sync/campaign.hpp"

#include <algorithm>
#include <utility>

#include "base/clock.hpp"
#include "base/thrown.hpp"
#include "engine/failure.hpp"
#include "etcd/keys.hpp"
#include "sync/options_check.hpp"
#include "wire/plain/election.hpp"

namespace holdfast::sync {
namespace {

constexpr std::size_t longest_value = 65536;

/// The value is a part of the lock, and needs no publication.
bool has_value_in_lock(election_binding const& bound) { return bound.binding.queue()->lock_recipe().on_etcd; }

void check_value(std::string_view value, election_binding const& bound) {
  auto const& name = bound.binding.name();
  check(value.size() <= longest_value, "the value of a leader of \"" + name +
                                           "\" has at most 65536 bytes, not " + std::to_string(value.size()));
  check(!has_value_in_lock(bound) || !value.starts_with(etcd::keys::mark),
        "the value of a leader of \"" + name +
            "\" can't begin with \"holdfast \" on etcd, as the keys of locks do");
}

call publication(engine::core& core, lease const& leading, std::string_view name, std::string_view value) {
  auto const& held = *engine::lease_state::behind(leading);
  auto const owner = core.constants().owner_id(held.number());
  return recipes::plain::publish({.name = name, .owner = owner}, leading.token(), value, held.options().ttl,
                                 core.publishing_now());
}

/// One try to publish: as long as any caller waits for a server that doesn't answer, and the lease may last.
scripting::send_options one_try(engine::core const& core, std::chrono::nanoseconds remaining) {
  auto const& times = core.constants().options;
  auto const patience =
      std::min<std::chrono::nanoseconds>(remaining, times.reply_timeout + times.connect_timeout);
  return {.while_down = net::retry_policy::endless, .give_up = boot_clock::now() + patience};
}

/// From now on a renewal that doesn't find the value publishes it again: a server at maxmemory may have
/// evicted it alone, or another one taken over that had the lock and not the value.
void keep_published(engine::core& core, lease const& leading, std::string const& name,
                    std::string_view value) {
  auto& held = *engine::lease_state::behind(leading);
  auto const ttl = held.options().ttl;
  auto const refused = [&core, name](net::response&& response) {
    if (response.failure || !response.reply.is_error()) return;  // the next renewal asks again
    core.warn([&] {
      return "the value of the leader is gone, and can't be published again: " +
             std::string{engine::explain(response.reply.text, name, core.constants())->what()};
    });
  };
  core.leases().on_unsaid(held, [&core, ttl, name, refused, owner = core.constants().owner_id(held.number()),
                                 term = leading.token(), text = std::string{value}] {
    auto script =
        recipes::plain::publish({.name = name, .owner = owner}, term, text, ttl, core.publishing_now());
    core.async_server_calls().ask_until_ready(std::move(script), refused, one_try(core, ttl));
  });
}

/// Whether the value is published; false: the lease is lost. Throws what a refusal means.
bool is_published(net::response const& response, std::string const& name, engine::core const& core) {
  if (response.reply.is_error()) throw error{*engine::explain(response.reply.text, name, core.constants())};
  return response.reply.integer == 1;
}

/// After a try without an answer: whether to try again with the same lease; false: the lease is lost. Throws
/// if the campaign is over.
bool goes_on(error const& failure, lease const& leading, std::optional<time_point> const end,
             std::stop_token const& stop) {
  if (!engine::is_outage(failure)) throw error{failure};
  if (!leading.valid()) return false;
  if (stop.stop_requested())
    throw error{errc::cancelled, "the campaign for \"" + leading.name() + "\" was cancelled"};
  if (end && boot_clock::now() >= *end) throw error{failure};
  return true;
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

engine::effective_options_ptr election_binding::options_for(std::string_view value) const {
  if (!has_value_in_lock(*this)) return binding.options();
  return engine::effective_options_ptr{
      new engine::effective_options{binding.options()->options, 0, std::string{value}}};
}

std::optional<lease> election_binding::campaign(std::string_view value, engine::wait_limit wait,
                                                std::stop_token const& stop) const {
  check_value(value, *this);
  auto& core = *binding.core();
  auto const end = end_of(wait);
  auto const options = options_for(value);
  for (;; wait = left_until(end)) {
    auto leading = binding.acquire_with(options, wait, stop, 1);
    if (!leading) return std::nullopt;
    if (has_value_in_lock(*this)) return leading;
    for (bool again = true; again;) {
      std::optional<net::response> answer;
      try {
        answer = core.requests().ask_until_ready(publication(core, *leading, binding.name(), value),
                                                 one_try(core, leading->remaining()));
      } catch (error const& failure) {
        again = goes_on(failure, *leading, end, stop);
        continue;
      }
      if (is_published(*answer, binding.name(), core)) {
        keep_published(core, *leading, binding.name(), value);
        return leading;
      }
      again = false;
    }
  }
}

namespace {

/// A campaign that nobody waits for.
class pending_campaign : public std::enable_shared_from_this<pending_campaign> {
 public:
  pending_campaign(std::shared_ptr<election_binding const> bound, std::string value, engine::wait_limit wait,
                   election::campaign_handler done, std::stop_token stop)
      : bound_{std::move(bound)},
        value_{std::move(value)},
        end_{end_of(wait)},
        done_{std::move(done)},
        stop_{std::move(stop)} {}

  void start(engine::wait_limit wait) {
    bound_->binding.async_acquire_with(
        bound_->options_for(value_), wait,
        [self = shared_from_this()](std::optional<lease> granted, std::exception_ptr failure) {
          self->on_acquired(std::move(granted), std::move(failure));
        },
        stop_, 1);
  }

 private:
  void on_acquired(std::optional<lease> granted, std::exception_ptr failure) {
    if (!granted) {
      done_(std::nullopt, std::move(failure));
      return;
    }
    leading_ = std::move(*granted);
    if (has_value_in_lock(*bound_)) {
      done_(std::move(leading_), nullptr);
      return;
    }
    attempt([this] { publish(); });
  }

  void publish() {
    auto& core = *bound_->binding.core();
    core.async_server_calls().ask_until_ready(
        publication(core, leading_, bound_->binding.name(), value_),
        [self = shared_from_this()](net::response&& response) { self->on_response(std::move(response)); },
        one_try(core, leading_.remaining()));
  }

  void on_response(net::response&& response) {
    auto const& binding = bound_->binding;
    attempt([&] {
      if (response.failure && goes_on(*response.failure, leading_, end_, stop_)) {
        publish();
        return;
      }
      if (!response.failure && is_published(response, binding.name(), *binding.core())) {
        keep_published(*binding.core(), leading_, binding.name(), value_);
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

  std::shared_ptr<election_binding const> bound_;
  std::string value_;
  std::optional<time_point> end_;
  election::campaign_handler done_;
  std::stop_token stop_;
  lease leading_{};
  bool published_ = false;
};

}  // namespace

void async_campaign(std::shared_ptr<election_binding const> bound, std::string value, engine::wait_limit wait,
                    election::campaign_handler done, std::stop_token stop) {
  check_handler(done, bound->binding.name());
  check_value(value, *bound);
  std::make_shared<pending_campaign>(std::move(bound), std::move(value), wait, std::move(done),
                                     std::move(stop))
      ->start(wait);
}

}  // namespace holdfast::sync
