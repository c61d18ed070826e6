/// The contract of the scripts over names of mixed kinds, as tables like those of one name: see contract.hpp.
#pragma once

#include "contract/contract.hpp"

namespace holdfast::contract::mixed {

/// Who has permits, or waits: an owner, how many permits it has or wants, and for how long it still has them,
/// or has waited.
struct party {
  std::string owner;
  std::int64_t amount = 1;
  std::int64_t ms = 20'000;
};

/// The state of the three names of all rows: "a" is to write, "b" to read, and of "c" two permits of three
/// are wanted. What isn't said is free.
struct state {
  std::string_view a{};           ///< who writes
  std::vector<waiter> a_waits{};  ///< the first first
  std::vector<party> b{};         ///< who reads
  std::string_view b_writer{};
  std::vector<waiter> b_waits{};
  std::vector<party> c{};  ///< who has permits
  std::vector<party> c_waits{};
  std::array<std::int64_t, 3> tokens{};  ///< taken from each counter
};

struct outcome {
  testing::Matcher<raw_reply const&> reply;
  state after{};
  std::vector<std::string> messages{};
};

/// Each call is made a second time: see several_row.
struct mixed_row {
  std::string name;
  state given{};
  std::vector<std::string_view> listening{};
  holdfast::call call;
  outcome expect;
  std::optional<outcome> again{};
  std::vector<words> setup{};  ///< additional commands
};

inline std::ostream& operator<<(std::ostream& out, mixed_row const& test_case) {
  return out << test_case.name;
}

/// An owner beyond this limit keeps what it gets: see several.hpp.
inline constexpr std::chrono::seconds starvation_limit{10};

call acquire(engine::acquire_request request);
call release(std::string_view owner);
call abandon(std::string_view owner);
call renew(std::vector<std::string_view> const& owners);

void check(mixed_row const& test_case);

inline std::string title_of(testing::TestParamInfo<mixed_row> const& info) { return info.param.name; }

}  // namespace holdfast::contract::mixed
