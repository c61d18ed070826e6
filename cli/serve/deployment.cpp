#include "serve/deployment.hpp"

#include "common/boot_time.hpp"
#include "common/output.hpp"
#include "probe/lock_survey.hpp"
#include "probe/named_servers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <utility>

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;

constexpr auto follow_interval = 250ms;
constexpr auto search_interval = 1s;
/// Where there are more locks, the server is asked for their ttls each so many rounds only.
constexpr std::size_t always_with_ttl = 1'000;
constexpr int rounds_without_ttl = 6;
/// Requests a second, on average: under 200 together.
constexpr std::size_t follow_rate = 146;
constexpr std::size_t search_rate = 36;
constexpr std::size_t other_search_rate = 16;
/// How many locks are felt before those that have changed are looked at, and told.
constexpr std::size_t felt_at_once = 3'400;
/// Redisson's locks, and permits without a lease, are found by a search of their own, which costs the server
/// more.
constexpr auto other_search_interval = 10s;
constexpr auto longest_break = 60s;
constexpr std::chrono::nanoseconds longest_search_break = 5s;
/// A lock that nobody uses is shown so long as one that was released.
constexpr auto shown_unused = 30s;
constexpr auto answer_timeout = 2s;

client_options survey_options() {
  return {.name = "holdfast-serve",
          .connect_timeout = answer_timeout,
          .reply_timeout = answer_timeout,
          .log = output::hook()};
}

/// So long that no more than `rate` are sent in a second.
std::chrono::nanoseconds rest_after(std::size_t const requests, std::size_t const rate,
                                    std::chrono::nanoseconds const took,
                                    std::chrono::nanoseconds const shortest) {
  std::chrono::nanoseconds const for_rate = std::chrono::nanoseconds{1s} * requests / rate - took;
  return std::min<std::chrono::nanoseconds>(std::max(shortest, for_rate), longest_break);
}

deployment::day_time present_time() {
  return std::chrono::floor<std::chrono::microseconds>(std::chrono::system_clock::now());
}

}  // namespace

deployment::deployment(std::size_t const number, std::string const& url, store_limits const limits,
                       event_feed& feed)
    : id_{fmt::format("d{}", number)},
      on_etcd_{probe::named_servers{url}.kind() == probe::deployment_kind::etcd},
      feed_{feed},
      redis_{url, survey_options()},
      store_{redis_.url(), limits},
      errands_{redis_},
      slow_errands_{redis_} {
  condition_.since = present_time();
  condition_.trouble = "not asked yet";
  follower_ = std::jthread{[this](std::stop_token const& stop) { follow(stop); }};
  searcher_ = std::jthread{[this](std::stop_token const& stop) { search(stop); }};
}

deployment::~deployment() {
  for (auto* const each : {&follower_, &searcher_}) each->request_stop();
}

deployment::condition deployment::now() const {
  std::lock_guard const hold{mutex_};
  return condition_;
}

bool deployment::rest(std::stop_token const& stop, time const duration) {
  std::unique_lock hold{mutex_};
  changed_.wait_for(hold, stop, duration, [this] { return !wanted_.empty(); });
  return !stop.stop_requested();
}

/// Tells open pages when it changes whether the server can be asked. `trouble`: why it can't; empty: it can.
void deployment::note(std::string trouble) {
  {
    std::lock_guard const hold{mutex_};
    bool const reachable = trouble.empty();
    condition_.trouble = std::move(trouble);
    if (condition_.reachable == reachable) return;
    condition_.reachable = reachable;
    condition_.since = present_time();
  }
  feed_.publish("deployments", "{}");
}

/// A server that refuses can be asked. Returns whether the work was done.
bool deployment::try_to(std::function<void()> const& work) {
  try {
    work();
    note({});
    return true;
  } catch (error const& problem) {
    bool const refused = problem.code() == errc::unauthorized || problem.code() == errc::refused;
    note(refused ? "" : problem.what());
    if (!refused) return false;
    std::lock_guard const hold{mutex_};
    condition_.left_out = problem.what();
  } catch (std::exception const& problem) {
    note(problem.what());
  }
  return false;
}

void deployment::follow(std::stop_token const& stop) {
  probe::lock_survey survey{redis_};
  time pause{};
  for (int round = 0; rest(stop, pause); ++round) {
    auto const began = boot_time();
    auto const sent = survey.requests();
    (void)try_to([&] { feel_all(survey, stop, round); });
    auto const took = boot_time() - began;
    // A slow server isn't asked without a break.
    auto const least = std::max<time>(took / 4, follow_interval - took);
    pause = rest_after(survey.requests() - sent, follow_rate, took, least);
  }
}

void deployment::feel_all(probe::lock_survey& survey, std::stop_token const& stop, int const round) {
  std::vector<std::string> names;
  std::vector<std::string> wanted;
  std::vector<std::string> traced;
  {
    std::lock_guard const hold{mutex_};
    names = store_.names();
    wanted = std::exchange(wanted_, {});
    traced = expected_traces_.take_due(store_, boot_time());
  }
  auto const sent_before = survey.requests();
  bool const with_ttl = names.size() <= always_with_ttl || round % rounds_without_ttl == 0;
  look(survey, wanted);
  look(survey, traced, false);
  for (std::span<std::string const> rest{names}; !rest.empty() && !stop.stop_requested();) {
    auto const some = rest.first(std::min(rest.size(), felt_at_once));
    rest = rest.subspan(some.size());
    feel(survey, some, with_ttl);
  }
  // Without locks it is found out all the same whether the server can be asked.
  if (names.empty()) (void)survey.feel(std::vector<std::string>{"holdfast"}, probe::pulse_scope::state);
  std::vector<std::string> gone;
  {
    std::lock_guard const hold{mutex_};
    gone = store_.forget_idle(boot_time() - shown_unused);
    if (pulses_.size() > 2 * names.size() + 1'000)
      std::erase_if(pulses_, [this](auto const& each) { return !store_.knows(each.first); });
    condition_.requests += survey.requests() - sent_before;
  }
  if (!gone.empty()) {
    json object;
    object.set("deployment", id_).set("gone", json{gone});
    feed_.publish("gone", object.line());
  }
}

void deployment::feel(probe::lock_survey& survey, std::span<std::string const> const names,
                      bool const with_ttl) {
  auto const felt =
      survey.feel(names, with_ttl ? probe::pulse_scope::state_and_ttl : probe::pulse_scope::state);
  note({});  // to look closer at many may take long
  std::vector<std::string> closer;
  std::vector<std::size_t> states;  // of these
  {
    auto const now = boot_time();
    std::lock_guard const hold{mutex_};
    for (std::size_t i = 0; i != names.size(); ++i) {
      auto const known = pulses_.find(names[i]);
      if (known != pulses_.end() && known->second == felt[i].state) {
        store_.still(names[i], felt[i].in_use, felt[i].ttl, now);
      } else {
        closer.push_back(names[i]);
        states.push_back(felt[i].state);
      }
    }
  }
  look(survey, closer);
  std::lock_guard const hold{mutex_};
  // Only now: should the server go away meanwhile, these are looked at again.
  for (std::size_t i = 0; i != closer.size(); ++i) pulses_[closer[i]] = states[i];
}

/// Calls `look` with a function that takes each lock.
template <class Look>
void deployment::tell_of(Look const look) {
  lock_news seen;
  auto const each = [this, &seen](lock_state const& lock) {
    see(lock, seen);
    if (seen.enough()) publish(seen);
  };
  try {
    look(each);
  } catch (error const&) {
    publish(seen);  // it is known by now, so no later look would tell it
    throw;
  }
  publish(seen);
}

void deployment::look(probe::lock_survey& survey, std::span<std::string const> const names,
                      bool const later) {
  tell_of([&](auto const& tell) {
    survey.look(names, [&](lock_state const& lock) {
      tell(lock);
      if (later && survey.expects_trace_of(lock)) {
        std::lock_guard const hold{mutex_};
        expected_traces_.add(lock, boot_time());
      }
      return true;
    });
  });
}

void deployment::see(lock_state const& lock, lock_news& seen) {
  std::lock_guard const hold{mutex_};
  seen.add(store_, lock, boot_time(), present_time());
}

void deployment::publish(lock_news& seen) {
  auto told = std::exchange(seen, {});
  if (told.empty()) return;
  json object;
  {
    std::lock_guard const hold{mutex_};
    object = told.to_json(store_, id_, boot_time());
  }
  auto const line = object.line();
  if (line.size() <= lock_news::longest_event) return feed_.publish("locks", line);
  feed_.publish("reset", "{}");
}

void deployment::search(std::stop_token const& stop) {
  probe::lock_survey survey{redis_};
  for (time others_due{};;) {
    auto const began = boot_time();
    auto const sent = survey.requests();
    bool const with_others = !on_etcd_ && began >= others_due;
    effort others;
    bool const done = try_to([&] { others = find_all(survey, stop, with_others); });
    if (done && with_others) {
      auto const least = std::max<time>(others.took * 4, other_search_interval);
      others_due = boot_time() + rest_after(others.requests, other_search_rate, {}, least);
    }
    auto const took = boot_time() - began - others.took;
    auto pause = rest_after(survey.requests() - sent - others.requests, search_rate, took,
                            std::max<time>(took * 4, search_interval));
    // Thousands of new names at once may exceed the rate: the next one would wait for most of a minute.
    if (done) pause = std::min(pause, longest_search_break);
    std::unique_lock hold{mutex_};
    changed_.wait_for(hold, stop, pause, [] { return false; });
    if (stop.stop_requested()) return;
  }
}

/// Returns what the search for others took.
deployment::effort deployment::find_all(probe::lock_survey& survey, std::stop_token const& stop,
                                        bool const with_others) {
  auto const sent_before = survey.requests();
  auto const meet = [&](std::vector<std::string> const& found) {
    std::vector<std::string> unknown;
    {
      std::lock_guard const hold{mutex_};
      std::ranges::copy_if(found, std::back_inserter(unknown),
                           [this](std::string const& name) { return !store_.knows(name); });
    }
    std::ranges::sort(unknown);
    unknown.erase(std::ranges::unique(unknown).begin(), unknown.end());
    std::vector<std::string> in_use;
    auto const felt = survey.feel(unknown, probe::pulse_scope::state);
    {
      // What is looked at now needs no look again until it changes.
      std::lock_guard const hold{mutex_};
      for (std::size_t i = 0; i != unknown.size(); ++i) {
        if (!felt[i].in_use) continue;
        pulses_[unknown[i]] = felt[i].state;
        in_use.push_back(std::move(unknown[i]));
      }
    }
    look(survey, in_use);
    return !stop.stop_requested();
  };
  survey.find_names(meet);
  std::string left_out;
  auto const began = boot_time();
  auto const sent_for_names = survey.requests();
  if (with_others && !stop.stop_requested()) {
    try {
      tell_of([&](auto const& tell) {
        survey.find_others(meet, [&](lock_state const& lock) {
          if (!is_followed(lock)) tell(lock);
          return !stop.stop_requested();
        });
      });
    } catch (error const& problem) {
      if (problem.code() != errc::unauthorized && problem.code() != errc::refused) throw;
      left_out = fmt::format("not all of Redisson's wire was searched: {}", problem.what());
    }
  }
  effort const others{.took = boot_time() - began, .requests = survey.requests() - sent_for_names};
  std::lock_guard const hold{mutex_};
  if (auto const count = store_.take_left_out(); count != 0)
    left_out = "there are more locks than this page keeps: some are left out";
  if (with_others || on_etcd_ || !left_out.empty()) condition_.left_out = std::move(left_out);
  condition_.searched = true;
  condition_.requests += survey.requests() - sent_before;
  return others;
}

/// The thread that follows may have looked later than this was seen, so it looks again if that differs.
bool deployment::is_followed(lock_state const& lock) {
  std::lock_guard const hold{mutex_};
  auto const* const known = store_.find(lock.name, lock.wire);
  if (known == nullptr) return false;
  if (!changes(known->state, lock, 0ns).empty()) wanted_.push_back(lock.name);
  return true;
}

void deployment::look_soon(std::string name) {
  errands_.forget();
  {
    std::lock_guard const hold{mutex_};
    wanted_.push_back(std::move(name));
  }
  changed_.notify_all();
}

}  // namespace holdfast::cli
