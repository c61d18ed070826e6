/// The allowed range of every option that is a time.
#pragma once

#include <holdfast/error.hpp>
#include <holdfast/fence.hpp>
#include <holdfast/inspect.hpp>
#include <holdfast/options.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

namespace holdfast {

/// Both ends are allowed. No computation with these times overflows, not even the sum of several of them and
/// a point in time.
template <class Options>
struct time_range {
  char const* name;
  milliseconds Options::* option;
  milliseconds least;
  milliseconds most;
};

namespace ranges {

using namespace std::chrono_literals;

inline constexpr milliseconds year = 365 * 24h;
/// The limit of to_wait(), too.
inline constexpr milliseconds century = 100 * year;

/// Nothing of a time that no lease has: permits without a lease have so much (wire/plain/permits.cpp).
[[nodiscard]] constexpr std::optional<milliseconds> left_of_lease(milliseconds left) noexcept {
  return left > year ? std::nullopt : std::optional{left};
}

inline constexpr std::array of_locks{
    time_range<lock_options>{"ttl", &lock_options::ttl, 10ms, year},
    time_range<lock_options>{"renew_every", &lock_options::renew_every, 0ms, year / 2},
    time_range<lock_options>{"max_hold", &lock_options::max_hold, 0ms, century},
    time_range<lock_options>{"starvation_limit", &lock_options::starvation_limit, 0ms, year},
    time_range<lock_options>{"handoff_time", &lock_options::handoff_time, 0ms, year},
    time_range<lock_options>{"poll_floor", &lock_options::poll_floor, 1ms, year},
    time_range<lock_options>{"poll_cap", &lock_options::poll_cap, 1ms, year}};

inline constexpr std::array of_clients{
    time_range<client_options>{"connect_timeout", &client_options::connect_timeout, 1ms, year},
    time_range<client_options>{"patience", &client_options::patience, 0ms, year},
    time_range<client_options>{"reply_timeout", &client_options::reply_timeout, 10ms, year},
    time_range<client_options>{"recheck", &client_options::recheck, 10ms, 30s}};

inline constexpr std::array of_fences{
    time_range<fence_options>{"remember", &fence_options::remember, 0ms, century}};

inline constexpr std::array of_force{time_range<force_options>{"grace", &force_options::grace, 0ms, year}};

/// "10 ms", "30 s", "365 days".
[[nodiscard]] std::string in_words(milliseconds time);

/// Throws std::errc::invalid_argument for the first time that is out of its range. `title(name)` is the text
/// by which messages call the option.
template <class Options, std::size_t N, class Title>
void check(Options const& given, std::array<time_range<Options>, N> const& table, Title title) {
  for (auto const& range : table) {
    auto const time = given.*range.option;
    if (range.least <= time && time <= range.most) continue;
    throw error{std::errc::invalid_argument, title(range.name) + " must be from " + in_words(range.least) +
                                                 " to " + in_words(range.most) + ", not " + in_words(time)};
  }
}

}  // namespace ranges
}  // namespace holdfast
