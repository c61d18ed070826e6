/// The contract of the scripts over several names, as tables like those of one name: see contract.hpp.
#pragma once

#include <array>

#include "contract/contract.hpp"

namespace holdfast::contract {

/// The names of all rows, in the order of the scripts' keys.
inline constexpr std::array<std::string_view, 3> three_names{"a", "b", "c"};

/// An owner beyond this limit is starved, and a waiter beyond it gets a grant instead of a wake-up. Long, so
/// that no row depends on its speed: from 10 to 20 s an owner keeps the locks that it gets, from 20 to 40 s
/// it doesn't.
inline constexpr std::chrono::seconds starvation_limit{10};

/// The state of one name, before or after the call.
struct name_state {
  std::string_view lock{};
  std::int64_t ttl = 20'000;
  std::vector<waiter> queue{};
  std::int64_t tokens = 0;  ///< taken from its counter
};

using all_names = std::array<name_state, 3>;

struct outcome {
  testing::Matcher<raw_reply const&> reply;
  all_names after{};
  std::vector<std::string> messages{};
};

/// Each call is made a second time, as after a connection that broke before the reply came. Unless `again`
/// says otherwise, the second call sends no message and changes neither locks nor queues.
struct several_row {
  std::string name;
  all_names given{};
  std::vector<std::string_view> listening{};
  holdfast::call call;
  outcome expect;
  std::optional<outcome> again{};
};

inline std::ostream& operator<<(std::ostream& out, several_row const& test_case) {
  return out << test_case.name;
}

call acquire_all(engine::acquire_request request);
call release_all(std::string_view owner);
call pass_all(std::string_view owner, std::string_view next, int tokens = 1);
call abandon_all(std::string_view owner);
/// For each owner, the names of its lease.
call renew_all(std::vector<std::pair<std::vector<std::string>, std::string_view>> const& leases);

void check(several_row const& test_case);

inline std::string title_of(testing::TestParamInfo<several_row> const& info) { return info.param.name; }

}  // namespace holdfast::contract
