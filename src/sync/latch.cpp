#include <holdfast/latch.hpp>

#include <algorithm>
#include <utility>

#include "base/broken.hpp"
#include "engine/access.hpp"
#include "script/names.hpp"
#include "scripts/latch.hpp"
#include "scripts/redisson_latch.hpp"
#include "sync/latches_on_etcd.hpp"
#include "sync/lock_binding.hpp"
#include "sync/options_check.hpp"
#include "sync/shared_counter.hpp"
#include "sync/wires.hpp"
#include "wire/etcd/exclusive.hpp"
#include "wire/plain/latch.hpp"
#include "wire/redisson/recipes.hpp"

namespace holdfast {
namespace {

/// The greatest integer that a number of Lua represents exactly.
constexpr std::int64_t highest_count = std::int64_t{1} << 53;

/// The message that Redisson's waiters take for "there is a count now".
constexpr std::int64_t closed_message = 1;

/// How long a latch whose time is over says so.
constexpr std::chrono::milliseconds told{std::chrono::weeks{1}};

constexpr sync::wires latch_wires{.plain = recipes::plain::latch,
                                  .redisson = recipes::redisson::latch,
                                  .fenced = nullptr,
                                  .on_etcd = &recipes::etcd::latch};

lock_options of_engine(latch_options const& options) {
  lock_options all{};
  all.wake = options.wake;
  all.poll_floor = options.poll_floor;
  all.poll_cap = options.poll_cap;
  all.wire = options.wire;
  return all;
}

/// Redisson puts braces round any name, and so a tag in the name doesn't count in the channel's.
void check_channel(engine::core const& core, std::string const& name) {
  sync::check(
      core.constants().slot_of(names::redisson::latch_channel(name)) == core.constants().slot_of(name),
      "the name \"" + name +
          "\" of a latch can't be used in a cluster: with braces in it, its channel is in another hash slot "
          "than its count. Leave the braces out");
}

}  // namespace

struct latch::impl {
  bool on_etcd;
  bool plain;
  std::chrono::milliseconds expires_after;
  sync::lock_binding binding;
  sync::shared_counter count;
  std::string counted;  ///< the key

  impl(client& redis, std::string const& name, latch_options const& options, engine::recipe const& kind)
      : on_etcd{kind.on_etcd},
        plain{&kind == &latch_wires.plain},
        expires_after{options.expires_after},
        binding{redis, name, of_engine(options), kind},
        count{binding.core(), name, sync::count_of_a_latch,
              plain ? names::inbox_of_all(name) : names::redisson::latch_channel(name),
              plain ? names::done_prefix(name) : std::string{}},
        counted{names::counted(name)} {}

  bool try_set(std::int64_t number) {
    if (on_etcd) return sync::on_etcd::set_latch(*binding.core(), binding.name(), number, expires_after);
    if (!plain) return count.try_set(number, closed_message);
    return count.change(scripts::latch::set{.latch = {binding.name()},
                                            .counted = {counted},
                                            .done = {},
                                            .answered = {},
                                            .count = number,
                                            .open_ms = expires_after.count(),
                                            .told_ms = told.count(),
                                            .done_ms = sync::idempotency_marks::kept_ms}) == 1;
  }

  /// The scripts that count down by `n`, which they note. The participant must outlive the making of the
  /// call.
  [[nodiscard]] scripts::latch::count_down counting(std::string_view participant, std::int64_t n) {
    return {.latch = {binding.name()},
            .counted = {counted},
            .done = {},
            .answered = {},
            .participant = participant,
            .n = broken("latch") ? n + 1 : n,
            .publish = count.publish(),
            .channel = count.channel(),
            .done_ms = sync::idempotency_marks::kept_ms};
  }
  [[nodiscard]] scripts::redisson_latch::count_down counting_redisson(std::int64_t n) {
    return {.counter = {binding.name()},
            .done = {},
            .answered = {},
            .n = broken("latch") ? n + 1 : n,
            .publish = count.publish(),
            .channel = count.channel(),
            .done_ms = sync::idempotency_marks::kept_ms};
  }
  void note_counting(std::int64_t n) {
    binding.core()->record_number(history::event::counted, history::kind::latch, binding.name(), n);
  }
  /// Counts down for nobody in particular: on the plain wire for another participant each time. `send` gets
  /// the script.
  template <class Send>
  void count_down(std::int64_t n, Send send) {
    sync::check_number("the number to count down", binding.name(), n, 1, highest_count);
    note_counting(n);
    if (!plain && !on_etcd) return send(counting_redisson(n));
    auto const participant = nobody_in_particular();
    if (on_etcd) return send(counting_on_etcd(participant, false, n));
    send(counting(participant, n));
  }
  [[nodiscard]] std::string nobody_in_particular() const {
    return binding.core()->constants().uuid + ":" + std::to_string(sync::next_request_number());
  }
  [[nodiscard]] static sync::on_etcd::latch_counting counting_on_etcd(std::string_view participant,
                                                                      bool named, std::int64_t n) {
    return {.participant = std::string{participant}, .named = named, .number = broken("latch") ? n + 1 : n};
  }
  /// Whatever wire it is on.
  bool change(sync::on_etcd::latch_counting const& by) {
    return sync::on_etcd::count_latch_down(*binding.core(), binding.name(), by);
  }
  template <class Script>
  bool change(Script const& script) {
    return count.change(script) == 1;
  }
  void async_change(sync::on_etcd::latch_counting const& by, wait_handler done) {
    sync::on_etcd::async_count_latch_down(binding.core(), binding.name(), by, std::move(done));
  }
  template <class Script>
  void async_change(Script const& script, wait_handler done) {
    count.async_change(script, [done = std::move(done)](auto changed, std::exception_ptr failure) mutable {
      done(changed == 1, std::move(failure));
    });
  }
  /// For a participant that has a name.
  template <class Send>
  auto count_down_by(std::string_view participant, Send send) {
    note_counting(1);
    return on_etcd ? send(counting_on_etcd(participant, true, 1)) : send(counting(participant, 1));
  }
  void check_participant(std::string_view participant) const {
    sync::check(!participant.empty() && participant.size() <= sync::longest_name,
                "a participant of the latch \"" + binding.name() + "\" needs a name of 1 to 65536 bytes");
    sync::check(plain || on_etcd,
                "the latch \"" + binding.name() +
                    "\" is on Redisson's wire, where participants have no names: count down "
                    "without one, or use wire::plain");
  }

  [[nodiscard]] std::int64_t read() {
    if (on_etcd) return sync::on_etcd::count_of_latch(*binding.core(), binding.name());
    if (!plain) return std::max<std::int64_t>(count.read().value_or(0), 0);
    auto const found = count.ask(scripts::latch::look{.latch = {binding.name()}}()).reply;
    constexpr std::size_t parts_of_closed = 6;
    return found.size() == parts_of_closed ? found[3].integer : 0;
  }

  bool open() {
    if (on_etcd) return sync::on_etcd::open_latch(*binding.core(), binding.name());
    if (plain)
      return count.change(scripts::latch::open{.latch = {binding.name()},
                                               .counted = {counted},
                                               .done = {},
                                               .answered = {},
                                               .publish = count.publish(),
                                               .channel = count.channel(),
                                               .done_ms = sync::idempotency_marks::kept_ms}) == 1;
    return count.change(scripts::redisson_latch::open{.counter = {binding.name()},
                                                      .done = {},
                                                      .answered = {},
                                                      .publish = count.publish(),
                                                      .channel = count.channel(),
                                                      .done_ms = sync::idempotency_marks::kept_ms}) == 1;
  }
};

latch::latch(client& redis, std::string name, latch_options options) {
  auto const core = engine::access::core_of(redis);
  auto const engine_options = of_engine(options);
  sync::check_length("latch", name);
  sync::check(name, engine_options);
  auto const& kind = sync::choose(latch_wires, {&name, 1}, engine_options, *core);
  sync::check(options.expires_after.count() >= 0 && options.expires_after <= std::chrono::years{1},
              "expires_after of the latch \"" + name + "\" must be from 0 to a year");
  if (&kind == &latch_wires.redisson) {
    sync::check(options.expires_after.count() == 0,
                "the latch \"" + name +
                    "\" can't expire on Redisson's wire, which has no place for its end: leave "
                    "latch_options::expires_after out, or use wire::plain");
    check_channel(*core, name);
  }
  impl_ = std::make_unique<impl>(redis, name, options, kind);
}

latch::~latch() = default;

std::string const& latch::name() const noexcept { return impl_->binding.name(); }

bool latch::try_set_count(std::int64_t count) {
  sync::check_number("the count of", name(), count, 0, highest_count);
  auto& core = *impl_->binding.core();
  core.record_number(history::event::setting, history::kind::latch, name(), count);
  if (!impl_->try_set(count)) return false;
  core.record_number(history::event::set, history::kind::latch, name(), count);
  return true;
}

void latch::count_down(std::int64_t n) {
  impl_->count_down(n, [this](auto const& script) { (void)impl_->change(script); });
}

bool latch::count_down(std::string_view participant) {
  impl_->check_participant(participant);
  return impl_->count_down_by(participant, [this](auto const& script) { return impl_->change(script); });
}

void latch::async_count_down(count_handler done, std::int64_t n) {
  sync::check_handler(done, name());
  impl_->count_down(n, [this, &done](auto const& script) {
    impl_->async_change(script, [done = std::move(done)](bool, std::exception_ptr failure) mutable {
      done(std::move(failure));
    });
  });
}

void latch::async_count_down(std::string_view participant, wait_handler done) {
  sync::check_handler(done, name());
  impl_->check_participant(participant);
  impl_->count_down_by(participant,
                       [this, &done](auto const& script) { impl_->async_change(script, std::move(done)); });
}

std::int64_t latch::count() { return impl_->read(); }

bool latch::try_wait() { return count() == 0; }

void latch::wait(std::stop_token stop) { (void)impl_->binding.take(std::nullopt, stop); }

bool latch::wait_within(std::chrono::nanoseconds time, std::stop_token stop) {
  return impl_->binding.take(time, stop) != 0;
}

void latch::arrive_and_wait(std::int64_t n, std::stop_token stop) {
  count_down(n);
  wait(std::move(stop));
}

void latch::async_wait(wait_handler done, std::stop_token stop) {
  impl_->binding.async_take(std::nullopt, std::move(done), std::move(stop));
}

bool latch::open() {
  impl_->binding.core()->record_number(history::event::opened, history::kind::latch, name(), 0);
  return impl_->open();
}

}  // namespace holdfast
