/// The contract of the scripts over several names, as tables like those of one name: see contract.hpp.
#pragma once

#include <array>

#include "contract/contract.hpp"

namespace holdfast::contract {

/// The names of all rows: in the order in which the scripts get them.
inline constexpr std::array<std::string_view, 3> three_names{"a", "b", "c"};

/// Beyond this an owner goes short, and a waiter is granted what it is told of. Long, so that no row depends
/// on how fast it runs: from 10 to 20 s one keeps what it gets, from 20 to 40 s it doesn't.
inline constexpr std::chrono::seconds short_after{10};

/// One name, before or after the call.
struct one_name {
  std::string_view lock{};
  std::int64_t ttl = 20'000;
  std::vector<waiting> queue{};
  std::int64_t tokens = 0;  ///< taken from its counter
};

using all_names = std::array<one_name, 3>;

struct outcome {
  testing::Matcher<raw_reply const&> reply;
  all_names then{};
  std::vector<std::string> messages{};
};

/// Each call is made a second time, as after a connection that broke before the reply came: unless `again`
/// says otherwise this sends no message and changes neither locks nor queues.
struct several_row {
  std::string name;
  all_names given{};
  std::vector<std::string_view> listening{};
  holdfast::call call;
  outcome expect;
  std::optional<outcome> again{};
};

inline std::ostream& operator<<(std::ostream& out, several_row const& one) { return out << one.name; }

call acquire_all(engine::acquire_request how);
call release_all(std::string_view owner);
call pass_all(std::string_view owner, std::string_view next, int tokens = 1);
call abandon_all(std::string_view owner);
/// Of these names, for each owner.
call renew_all(std::vector<std::pair<std::vector<std::string>, std::string_view>> const& leases);

void check(several_row const& one);

inline std::string title_of(testing::TestParamInfo<several_row> const& info) { return info.param.name; }

}  // namespace holdfast::contract
