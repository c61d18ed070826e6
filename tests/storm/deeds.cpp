#include "deeds.hpp"

#include "support/judge.hpp"

#include <holdfast/barrier.hpp>
#include <holdfast/condition.hpp>
#include <holdfast/election.hpp>
#include <holdfast/expiring_semaphore.hpp>
#include <holdfast/fair_mutex.hpp>
#include <holdfast/latch.hpp>
#include <holdfast/multi_mutex.hpp>
#include <holdfast/mutex.hpp>
#include <holdfast/quorum_mutex.hpp>
#include <holdfast/recursive_mutex.hpp>
#include <holdfast/semaphore.hpp>
#include <holdfast/shared_mutex.hpp>

#include <algorithm>
#include <array>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>

namespace holdfast::storm {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t permits_of_all = 3;
constexpr std::int64_t parties = 3;

/// The same name in all processes, and another one each `period`: what was left in the old one by processes
/// that were killed doesn't matter any more.
std::string name_of_the_time(char const* kind, std::chrono::nanoseconds period) {
  return std::string{"storm:"} + kind + ':' + std::to_string(test::boot_now() / period.count());
}

/// Of a fenced name: storm:<kind>:<number>.
std::size_t resource_of(std::string_view name) {
  auto const from = std::string_view{"storm:"}.size();
  auto const colon = name.rfind(':');
  auto const kind = std::ranges::find(fenced_kinds, name.substr(from, colon - from));
  auto const number = static_cast<std::size_t>(name.back() - '0');
  if (kind == fenced_kinds.end() || number >= names_of_a_kind)
    throw std::logic_error{std::string{name} + " is no name of the fenced store"};
  return static_cast<std::size_t>(kind - fenced_kinds.begin()) * names_of_a_kind + number;
}
static_assert(fenced_kinds.size() * names_of_a_kind <= most_resources);

}  // namespace

std::string name_of(std::string_view kind, std::int64_t number) {
  return "storm:" + std::string{kind} + ':' + std::to_string(number);
}

void deeds::write(lease const& held, std::string const& name) {
  if (held.token() == 0 || board_.write(resource_of(name), held.token())) return;
  auto& broken = held.valid() ? board_.content().broken : board_.content().stale;
  ++broken;
}

void deeds::use(lease& held, std::string const& name) {
  if (!held.valid()) return;
  write(held, name);
  hold();
  write(held, name);  // whoever was frozen meanwhile comes late
  if (held.lost().stop_requested()) ++board_.content().lost;
  switch (dice_.between(1, 8)) {
    case 1:
      held.async_release({});
      return;
    case 2:
      held = {};
      return;
    case 3:
      if (dice_.one_in(10)) {
        held.keep_for(dice_.between(1ms, 50ms));
        return;
      }
      [[fallthrough]];
    default:
      held.release();
  }
}

bool deeds::counted(bool got, deed what) {
  if (got)
    board_.count(what);
  else
    ++board_.content().busy;
  return got;
}

void deeds::do_mutex() {
  auto const name = some_name("mutex", 2);
  auto options = options_;
  if (dice_.one_in(10)) options.watchdog = false;
  mutex orders{redis_, name, options};
  auto held = orders.try_acquire_for(patience(), stop_);
  if (!counted(held.has_value(), deed::mutex)) return;
  use(*held, name);
}

/// Each callback comes once, whatever happens.
void deeds::do_mutex_asynchronously() {
  auto const name = some_name("mutex", 2);
  auto const answer = std::make_shared<std::promise<std::optional<lease>>>();
  auto answered = answer->get_future();
  {
    mutex orders{redis_, name, options_};
    orders.async_try_acquire_for(
        patience(),
        [answer](std::optional<lease> got, std::exception_ptr problem) {
          if (problem)
            answer->set_exception(problem);
          else
            answer->set_value(std::move(got));
        },
        stop_);
  }
  auto held = answered.get();
  if (!counted(held.has_value(), deed::mutex)) return;
  use(*held, name);
}

void deeds::do_fair() {
  auto const name = some_name("fair");
  fair_mutex orders{redis_, name, options_};
  auto held = orders.try_acquire_for(patience(), stop_);
  if (!counted(held.has_value(), deed::fair)) return;
  use(*held, name);
}

void deeds::do_recursive() {
  recursive_mutex orders{redis_, some_name("recursive"), options_};
  if (!counted(orders.try_lock_for(patience()), deed::recursive)) return;
  std::unique_lock const outer{orders, std::adopt_lock};
  auto const mine = orders.current();
  if (orders.try_lock()) {
    std::unique_lock const inner{orders, std::adopt_lock};
    hold();
  }
  if (mine.lost().stop_requested()) ++board_.content().lost;
}

void deeds::do_shared() {
  auto const name = some_name("shared");
  shared_mutex orders{redis_, name, options_};
  auto const reads = !dice_.one_in(3);
  auto held =
      reads ? orders.try_acquire_shared_for(patience(), stop_) : orders.try_acquire_for(patience(), stop_);
  if (!counted(held.has_value(), reads ? deed::read : deed::write)) return;
  if (reads) {
    hold();
  } else if (kinds_ != offer::etcd && dice_.one_in(5)) {
    write(*held, name);
    *held = orders.downgrade(std::move(*held));
    hold();
  } else {
    use(*held, name);
  }
}

void deeds::do_upgrade() {
  auto const name = some_name("shared");
  shared_mutex orders{redis_, name, options_};
  auto held = orders.try_acquire_upgrade_for(patience(), stop_);
  if (!counted(held.has_value(), deed::upgrade)) return;
  hold();
  if (dice_.one_in(2) && orders.try_upgrade_for(*held, patience(), stop_)) {
    board_.count(deed::write);
    write(*held, name);
    if (dice_.one_in(3)) *held = orders.downgrade_to_upgrade(std::move(*held));
    hold();
  } else if (dice_.one_in(3)) {
    *held = orders.downgrade(std::move(*held));
    hold();
  }
}

void deeds::do_permits() {
  expiring_semaphore tickets{redis_, some_name("permits"), permits_of_all, options_};
  auto held = tickets.try_acquire_for(patience(), dice_.between(1, 2), stop_);
  if (!counted(held.has_value(), deed::permits)) return;
  hold();
}

/// Nobody gives back the permits of a process that is killed, so the semaphore is another one after a while.
void deeds::do_semaphore() {
  semaphore tickets{redis_, name_of_the_time("semaphore", 4s)};
  tickets.try_set_permits(permits_of_all);
  auto const wanted = dice_.between(1, 2);
  if (!counted(tickets.try_acquire_for(std::min(patience(), 1'500ms), wanted, stop_), deed::semaphore))
    return;
  hold();
  tickets.release(wanted);
}

void deeds::do_several() {
  auto const first = sprints_ ? 2 : 0;
  std::vector<multi_name> names{holdfast::write(name_of("mutex", first)),
                                holdfast::write(name_of("mutex", first + 1))};
  if (dice_.one_in(3)) names.at(1) = holdfast::read(name_of("mixed", first));
  if (dice_.one_in(3)) names.push_back(holdfast::permits(name_of("mixed", first + 1), 1, permits_of_all));
  if (dice_.one_in(2)) std::ranges::reverse(names);
  use_several(names);
}

/// On etcd, where several names are for one holder alone.
void deeds::do_several_to_write() {
  auto const first = sprints_ ? 2 : 0;
  std::vector<multi_name> names{holdfast::write(name_of("mutex", first)),
                                holdfast::write(name_of("mutex", first + 1))};
  if (dice_.one_in(3)) names.at(1) = holdfast::write(name_of("mixed", first));
  if (dice_.one_in(2)) std::ranges::reverse(names);
  use_several(names);
}

void deeds::use_several(std::vector<multi_name> const& names) {
  multi_mutex orders{redis_, names, options_};
  auto held = orders.try_acquire_for(patience(), stop_);
  if (!counted(held.has_value(), deed::several)) return;
  hold();
  held->release();
}

void deeds::do_election() {
  auto const name = some_name("election");
  election leading{redis_, name, options_};
  if (dice_.one_in(4)) (void)leading.leader();
  auto held = leading.try_campaign_for("somebody", patience(), stop_);
  if (!counted(held.has_value(), deed::election)) return;
  use(*held, name);
}

void deeds::do_barrier() {
  barrier meeting{redis_, name_of("barrier", 0), parties, {.ttl = options_.ttl}};
  (void)counted(meeting.try_arrive_and_wait_for(std::min(patience() + 50ms, 2'000ms), stop_).has_value(),
                deed::barrier);
}

void deeds::do_latch() {
  latch ready{redis_, name_of_the_time("latch", 2s)};
  ready.try_set_count(parties);
  if (dice_.one_in(2)) ready.count_down();
  (void)counted(ready.wait_for(std::min(patience(), 2'000ms), stop_), deed::latch);
}

void deeds::do_condition() {
  auto const name = name_of("condition", 0);
  mutex orders{redis_, name, options_};
  condition changed{redis_, name};
  if (dice_.one_in(2)) {
    (void)(dice_.one_in(2) ? changed.notify_one() : changed.notify_all());
    return;
  }
  auto held = orders.try_acquire_for(patience(), stop_);
  if (!held) {
    ++board_.content().busy;
    return;
  }
  write(*held, name);
  (void)changed.wait_for(*held, dice_.between(20ms, 800ms));
  board_.count(deed::condition);
  use(*held, name);
}

void deeds::do_quorum() {
  auto const name = some_name("quorum", 2);
  quorum_mutex orders{redis_, name, options_};
  auto held = orders.try_acquire_for(patience(), stop_);
  if (!counted(held.has_value(), deed::quorum)) return;
  use(*held, name);
}

void deeds::do_redisson() {
  auto options = options_;
  options.wire = wire::redisson;
  auto const took = [&](std::optional<lease> held) {
    if (!counted(held.has_value(), deed::redisson)) return;
    hold();
    held->release();
  };
  switch (dice_.between(1, 4)) {
    case 1: {
      fair_mutex orders{redis_, some_name("rfair"), options};
      took(orders.try_acquire_for(patience(), stop_));
      return;
    }
    case 2: {
      shared_mutex orders{redis_, some_name("rshared"), options};
      took(dice_.one_in(3) ? orders.try_acquire_for(patience(), stop_)
                           : orders.try_acquire_shared_for(patience(), stop_));
      return;
    }
    case 3:
      options.fenced = true;
      [[fallthrough]];
    default: {
      mutex orders{redis_, some_name(options.fenced ? "rfenced" : "rmutex"), options};
      took(orders.try_acquire_for(patience(), stop_));
      return;
    }
  }
}

}  // namespace holdfast::storm
