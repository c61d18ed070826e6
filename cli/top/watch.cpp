#include "top/watch.hpp"

#include "common/boot_time.hpp"
#include "probe/lock_survey.hpp"
#include "show/lock_search.hpp"

#include <holdfast/inspect.hpp>

#include <algorithm>
#include <exception>
#include <functional>
#include <utility>

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;

/// Short, since the user of a screen expects a prompt message.
constexpr auto watch_timeout = 1s;
/// A limit, since the names are refreshed one after the other.
constexpr std::size_t refreshed_at_once = 100;
/// Observations within the interval from which printed rates are estimated.
constexpr int looks_between = 9;
constexpr std::size_t refreshed_between = 20;
constexpr auto idle_time = 5s;
constexpr auto longest_rest = 60s;

client_options options() {
  return {.name = "holdfast-top", .connect_timeout = watch_timeout, .reply_timeout = watch_timeout};
}

/// Calls `see` with each of them until it returns false; on etcd several come with one request, as in the
/// search. A key that the user has no right to is left out: the search reports it.
void look_at(client& redis, std::vector<std::string> const& names,
             std::function<bool(lock_on_wires const&)> const& see) {
  probe::lock_survey survey{redis};
  if (survey.on_etcd()) {
    survey.look(names, [&](lock_state const& lock) { return see({.plain = lock}); });
    return;
  }
  for (auto const& name : names) {
    try {
      if (!see(peek_on_wires(redis, name))) return;
    } catch (error const& problem) {
      if (problem.code() != errc::unauthorized) throw;
    }
  }
}

}  // namespace

top_watch::top_watch(std::string const& url, std::string pattern, std::string wire,
                     std::chrono::milliseconds const interval)
    : redis_{url, options()}, pattern_{std::move(pattern)}, wire_{std::move(wire)}, interval_{interval} {
  redis_.connect();  // an initial error is reported without a screen
  searcher_ = std::jthread{[this](std::stop_token const& stop) { search(stop); }};
  refresher_ = std::jthread{[this](std::stop_token const& stop) { refresh(stop); }};
}

top_watch::~top_watch() {
  searcher_.request_stop();
  refresher_.request_stop();
}

top_watch::picture top_watch::now() const {
  std::lock_guard const hold{mutex_};
  return {.rows = model_.rows(boot_time()),
          .trouble = trouble_.empty() ? left_out_ : trouble_,
          .searched = searched_};
}

void top_watch::pause() {
  std::lock_guard const hold{mutex_};
  paused_ = true;
}

void top_watch::go_on() {
  {
    std::lock_guard const hold{mutex_};
    paused_ = false;
  }
  changed_.notify_all();
}

bool top_watch::rest(std::stop_token const& stop, std::chrono::nanoseconds const duration) {
  std::unique_lock hold{mutex_};
  changed_.wait_for(hold, stop, duration, [] { return false; });
  changed_.wait(hold, stop, [this] { return !paused_; });
  return !stop.stop_requested();
}

/// Shows an error; the loop tries again.
template <class Look>
void top_watch::try_to(Look const look) {
  std::string trouble;
  try {
    look();
  } catch (std::exception const& problem) {
    trouble = problem.what();
  }
  std::lock_guard const hold{mutex_};
  trouble_ = std::move(trouble);
}

void top_watch::search(std::stop_token const& stop) {
  for (bool goes_on = true; goes_on;) {
    auto const began = boot_time();
    try_to([&] {
      auto left_out = find_locks(redis_, pattern_, wire_, [&](lock_state const& lock) {
        std::lock_guard const hold{mutex_};
        model_.saw(lock, boot_time());
        return !stop.stop_requested() && !paused_;
      });
      std::lock_guard const hold{mutex_};
      if (paused_) return;
      searched_ = true;
      left_out_ = std::move(left_out);
      // The search has ended and did not find these: they are not held any more.
      model_.forget_idle(std::min<time>(began, boot_time() - idle_time));
    });
    auto const took = boot_time() - began;
    goes_on = rest(stop, std::max<time>(interval_ - took, std::min<time>(took * 9, longest_rest)));
  }
}

void top_watch::refresh(std::stop_token const& stop) {
  while (rest(stop, interval_)) {
    // Skips the locks that the search has just observed.
    auto const old = boot_time() - interval_ * 3 / 4;
    std::vector<std::string> names;
    {
      std::lock_guard const hold{mutex_};
      names = model_.older_than(old, refreshed_at_once);
    }
    if (names.empty()) continue;
    try_to([&] {
      look_at(redis_, names, [&](lock_on_wires const& found) {
        std::lock_guard const hold{mutex_};
        model_.saw_again(found, boot_time());
        return !stop.stop_requested();
      });
    });
  }
}

top_watch::picture top_watch::look_for(client& redis, std::string const& pattern, std::string const& wire,
                                       std::chrono::milliseconds const interval) {
  top_model model;
  auto const find_all = [&] {
    return find_locks(redis, pattern, wire, [&](lock_state const& lock) {
      model.saw(lock, boot_time());
      return true;
    });
  };
  auto const look_again = [&](time const before, std::size_t const at_most) {
    look_at(redis, model.older_than(before, at_most), [&](lock_on_wires const& found) {
      model.saw_again(found, boot_time());
      return true;
    });
  };
  (void)find_all();
  auto const end = boot_time() + interval;
  for (int i = 0; i != looks_between; ++i) {
    std::this_thread::sleep_for(interval / (looks_between + 1));
    look_again(boot_time(), refreshed_between);
  }
  std::this_thread::sleep_for(end - boot_time());
  auto left_out = find_all();
  look_again(end, model.size());  // for the locks that are neither held nor waited for at this moment
  return {.rows = model.rows(boot_time()), .trouble = std::move(left_out), .searched = true};
}

}  // namespace holdfast::cli
