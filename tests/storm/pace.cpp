/// Which deed comes next, how long its lock is waited for and held, and when a thread sprints.
#include "deeds.hpp"

#include "support/judge.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <thread>

namespace holdfast::storm {
namespace {

using namespace std::chrono_literals;

/// Errors that a fault of a server, a network or a process explains.
bool is_explained(error const& problem) {
  constexpr std::array explained{errc::unreachable, errc::refused, errc::cancelled,    errc::lost,
                                 errc::closed,      errc::expired, errc::unreplicated, errc::broken};
  return std::ranges::any_of(explained, [&](errc code) { return problem.code() == code; });
}

}  // namespace

offer offer_of(std::string_view kinds) {
  if (kinds == "quorum") return offer::quorum;
  return kinds == "etcd" ? offer::etcd : offer::all;
}

lock_options some_options(offer kinds, dice& by) {
  constexpr std::array ttls{400ms, 700ms, 1'000ms};
  constexpr std::array whole_seconds{1'000ms, 2'000ms};  // etcd has no others
  lock_options result;
  result.ttl = kinds == offer::etcd ? by.of(whole_seconds) : by.of(ttls);
  if (by.one_in(4)) result.on_destroy = release::async;
  if (by.one_in(6)) result.handoff_limit = 0;
  return result;
}

deeds::deeds(client& redis, board& shared, offer kinds, lock_options options, pace how, dice random,
             std::stop_token stop)
    : redis_{redis},
      board_{shared},
      kinds_{kinds},
      options_{options},
      sprints_{how == pace::sprint},
      dice_{random},
      stop_{std::move(stop)} {}

std::vector<deeds::choice> deeds::choices() const {
  enum class on : std::uint8_t { redis, etcd, both };
  struct row {
    choice what;
    on where = on::both;
    bool meets = false;  ///< it needs others who do the same, for which a sprint has no time
  };
  static constexpr std::array all{row{{"mutex", &deeds::do_mutex}},
                                  row{{"mutex", &deeds::do_mutex}},
                                  row{{"mutex, async", &deeds::do_mutex_asynchronously}},
                                  row{{"fair", &deeds::do_fair}},
                                  row{{"fair", &deeds::do_fair}},
                                  row{{"recursive", &deeds::do_recursive}},
                                  row{{"shared", &deeds::do_shared}},
                                  row{{"shared", &deeds::do_shared}},
                                  row{{"upgrade", &deeds::do_upgrade}, on::redis},
                                  row{{"permits", &deeds::do_permits}},
                                  row{{"permits", &deeds::do_permits}, on::etcd},
                                  row{{"semaphore", &deeds::do_semaphore}, on::redis},
                                  row{{"multi", &deeds::do_several}, on::redis},
                                  row{{"multi", &deeds::do_several_to_write}, on::etcd},
                                  row{{"election", &deeds::do_election}},
                                  row{{"redisson", &deeds::do_redisson}, on::redis},
                                  row{{"barrier", &deeds::do_barrier}, on::both, true},
                                  row{{"latch", &deeds::do_latch}, on::both, true},
                                  row{{"condition", &deeds::do_condition}, on::redis, true}};
  if (kinds_ == offer::quorum) return {{"quorum", &deeds::do_quorum}};
  auto const here = kinds_ == offer::etcd ? on::etcd : on::redis;
  std::vector<choice> result;
  result.reserve(all.size());
  for (auto const& each : all) {
    auto const offered = each.where == on::both || each.where == here;
    if (offered && !(sprints_ && each.meets)) result.push_back(each.what);
  }
  return result;
}

deeds::choice deeds::chosen() {
  if (choices_.size() == 1) return choices_.front();
  if (!sprints_ || dice_.one_in(4)) return dice_.of(choices_);
  // That of this second, in all processes, so that those who sprint meet.
  return choices_[static_cast<std::size_t>(test::boot_now() / std::chrono::nanoseconds{1s}.count()) %
                  choices_.size()];
}

void deeds::do_one() {
  auto const deed = chosen();
  under_way_ = deed.name;
  try {
    (this->*deed.run)();
  } catch (error const& problem) {
    if (!is_explained(problem)) throw;
    ++board_.content().refused;
    std::this_thread::sleep_for(dice_.between(10ms, 200ms));
  }
  under_way_ = "nothing";
  rest();
}

void deeds::rest() {
  if (!sprints_)
    std::this_thread::sleep_for(dice_.between(0ms, 25ms));
  else if (dice_.one_in(300))
    std::this_thread::sleep_for(dice_.between(0ms, 1'000ms));
}

std::string deeds::some_name(std::string_view kind, std::int64_t first_names) {
  auto const common = !sprints_ || dice_.one_in(50);
  return name_of(
      kind, common ? dice_.between(0, first_names - 1) : dice_.between(first_names, names_of_a_kind - 1));
}

/// Mostly short; sometimes so long that a lock which is forgotten shows: see terrain::slack.
std::chrono::milliseconds deeds::patience() {
  if (dice_.one_in(5)) return 0ms;
  if (sprints_) return dice_.between(5ms, 500ms);
  auto const longest = kinds_ == offer::etcd ? 25'000ms : 9'000ms;
  return dice_.one_in(6) ? longest : dice_.between(20ms, 1'500ms);
}

/// Mostly short; sometimes longer than the ttl, so that it has to be renewed.
void deeds::hold() {
  if (stop_.stop_requested()) return;
  if (dice_.one_in(sprints_ ? 2'500 : 25))
    std::this_thread::sleep_for(dice_.between(options_.ttl / 2, options_.ttl * 2));
  else if (!sprints_)
    std::this_thread::sleep_for(std::chrono::microseconds{dice_.between(0, 6'000)});
  else if (dice_.one_in(3))
    std::this_thread::sleep_for(std::chrono::microseconds{dice_.between(0, 300)});
}

}  // namespace holdfast::storm
