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
#include <thread>

namespace holdfast::storm {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t permits_of_all = 3;
constexpr std::int64_t parties = 3;

/// Errors that a fault of a server, a network or a process explains.
bool is_explained(error const& problem) {
  constexpr std::array explained{errc::unreachable, errc::refused, errc::cancelled,    errc::lost,
                                 errc::closed,      errc::expired, errc::unreplicated, errc::broken};
  return std::ranges::any_of(explained, [&](errc code) { return problem.code() == code; });
}

/// The same name in all processes, and another one each `period`: what was left in the old one by processes
/// that were killed doesn't matter any more.
std::string name_of_the_time(char const* kind, std::chrono::nanoseconds period) {
  return std::string{"storm:"} + kind + ':' + std::to_string(test::boot_now() / period.count());
}

}  // namespace

offer offer_of(std::string_view kinds) {
  if (kinds == "quorum") return offer::quorum;
  return kinds == "etcd" ? offer::etcd : offer::all;
}

deeds::deeds(client& redis, board& shared, offer kinds, lock_options options, dice choices,
             std::stop_token stop)
    : redis_{redis},
      board_{shared},
      kinds_{kinds},
      dice_{choices},
      stop_{std::move(stop)},
      options_{options} {}

lock_options deeds::some_options(offer kinds, dice& by) {
  constexpr std::array ttls{400ms, 700ms, 1'000ms};
  constexpr std::array whole_seconds{1'000ms, 2'000ms};  // etcd has no others
  lock_options result;
  result.ttl = kinds == offer::etcd ? by.of(whole_seconds) : by.of(ttls);
  if (by.one_in(4)) result.on_destroy = release::async;
  if (by.one_in(6)) result.handoff_limit = 0;
  return result;
}

namespace {
struct choice {
  char const* name;
  void (deeds::*run)();
};
}  // namespace

void deeds::do_one() {
  static constexpr std::array all{choice{"mutex", &deeds::do_mutex},
                                  choice{"mutex", &deeds::do_mutex},
                                  choice{"mutex, async", &deeds::do_mutex_asynchronously},
                                  choice{"fair", &deeds::do_fair},
                                  choice{"fair", &deeds::do_fair},
                                  choice{"recursive", &deeds::do_recursive},
                                  choice{"shared", &deeds::do_shared},
                                  choice{"shared", &deeds::do_shared},
                                  choice{"upgrade", &deeds::do_upgrade},
                                  choice{"permits", &deeds::do_permits},
                                  choice{"semaphore", &deeds::do_semaphore},
                                  choice{"multi", &deeds::do_several},
                                  choice{"election", &deeds::do_election},
                                  choice{"barrier", &deeds::do_barrier},
                                  choice{"latch", &deeds::do_latch},
                                  choice{"condition", &deeds::do_condition},
                                  choice{"redisson", &deeds::do_redisson}};
  static constexpr std::array voted{choice{"quorum", &deeds::do_quorum}};
  static constexpr std::array on_etcd{choice{"mutex", &deeds::do_mutex},
                                      choice{"mutex", &deeds::do_mutex},
                                      choice{"mutex, async", &deeds::do_mutex_asynchronously},
                                      choice{"fair", &deeds::do_fair},
                                      choice{"fair", &deeds::do_fair},
                                      choice{"recursive", &deeds::do_recursive},
                                      choice{"shared", &deeds::do_shared},
                                      choice{"shared", &deeds::do_shared},
                                      choice{"permits", &deeds::do_permits},
                                      choice{"permits", &deeds::do_permits},
                                      choice{"multi", &deeds::do_several_to_write},
                                      choice{"election", &deeds::do_election},
                                      choice{"barrier", &deeds::do_barrier},
                                      choice{"latch", &deeds::do_latch}};
  auto const& chosen = kinds_ == offer::quorum ? voted.front()
                       : kinds_ == offer::etcd ? dice_.of(on_etcd)
                                               : dice_.of(all);
  under_way_ = chosen.name;
  try {
    (this->*chosen.run)();
  } catch (error const& problem) {
    if (!is_explained(problem)) throw;
    ++board_.content().refused;
    std::this_thread::sleep_for(dice_.between(10ms, 200ms));
  }
  under_way_ = "nothing";
}

/// Mostly short; sometimes so long that a lock which is forgotten shows: see terrain::slack.
std::chrono::milliseconds deeds::patience() {
  if (dice_.one_in(5)) return 0ms;
  auto const longest = kinds_ == offer::etcd ? 25'000ms : 9'000ms;
  return dice_.one_in(6) ? longest : dice_.between(20ms, 1'500ms);
}

/// Mostly short; sometimes longer than the ttl, so that it has to be renewed.
void deeds::hold() {
  if (stop_.stop_requested()) return;
  if (dice_.one_in(25))
    std::this_thread::sleep_for(dice_.between(options_.ttl / 2, options_.ttl * 2));
  else
    std::this_thread::sleep_for(std::chrono::microseconds{dice_.between(0, 6'000)});
}

void deeds::write(lease const& held, std::string const& name) {
  auto const at = std::ranges::find(fenced_names, name);
  if (at == fenced_names.end() || held.token() == 0) return;
  if (board_.write(static_cast<std::size_t>(at - fenced_names.begin()), held.token())) return;
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
  auto const name = "storm:mutex:" + std::to_string(dice_.between(0, 1));
  auto options = options_;
  if (dice_.one_in(10)) options.watchdog = false;
  mutex orders{redis_, name, options};
  auto held = orders.try_acquire_for(patience(), stop_);
  if (!counted(held.has_value(), deed::mutex)) return;
  use(*held, name);
}

/// Each callback comes once, whatever happens.
void deeds::do_mutex_asynchronously() {
  auto const name = "storm:mutex:" + std::to_string(dice_.between(0, 1));
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
  std::string const name{"storm:fair:0"};
  fair_mutex orders{redis_, name, options_};
  auto held = orders.try_acquire_for(patience(), stop_);
  if (!counted(held.has_value(), deed::fair)) return;
  use(*held, name);
}

void deeds::do_recursive() {
  recursive_mutex orders{redis_, "storm:recursive:0", options_};
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
  std::string const name{"storm:shared:0"};
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
  std::string const name{"storm:shared:0"};
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
  expiring_semaphore tickets{redis_, "storm:permits:0", permits_of_all, options_};
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
  std::vector<multi_name> names{holdfast::write("storm:mutex:0"), holdfast::write("storm:mutex:1")};
  if (dice_.one_in(3)) names.at(1) = holdfast::read("storm:mixed:0");
  if (dice_.one_in(3)) names.push_back(holdfast::permits("storm:mixed:1", 1, permits_of_all));
  if (dice_.one_in(2)) std::ranges::reverse(names);
  use_several(names);
}

/// On etcd, where several names are for one holder alone.
void deeds::do_several_to_write() {
  std::vector<multi_name> names{holdfast::write("storm:mutex:0"), holdfast::write("storm:mutex:1")};
  if (dice_.one_in(3)) names.at(1) = holdfast::write("storm:mixed:0");
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
  std::string const name{"storm:election:0"};
  election leading{redis_, name, options_};
  if (dice_.one_in(4)) (void)leading.leader();
  auto held = leading.try_campaign_for("somebody", patience(), stop_);
  if (!counted(held.has_value(), deed::election)) return;
  use(*held, name);
}

void deeds::do_barrier() {
  barrier meeting{redis_, "storm:barrier:0", parties, {.ttl = options_.ttl}};
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
  std::string const name{"storm:condition:0"};
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
  auto const name = "storm:quorum:" + std::to_string(dice_.between(0, 1));
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
      fair_mutex orders{redis_, "storm:rfair:0", options};
      took(orders.try_acquire_for(patience(), stop_));
      return;
    }
    case 2: {
      shared_mutex orders{redis_, "storm:rshared:0", options};
      took(dice_.one_in(3) ? orders.try_acquire_for(patience(), stop_)
                           : orders.try_acquire_shared_for(patience(), stop_));
      return;
    }
    case 3:
      options.fenced = true;
      [[fallthrough]];
    default: {
      mutex orders{redis_, options.fenced ? "storm:rfenced:0" : "storm:rmutex:0", options};
      took(orders.try_acquire_for(patience(), stop_));
      return;
    }
  }
}

}  // namespace holdfast::storm
