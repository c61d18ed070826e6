/// The contract of the read-write lock's scripts, as rows and as the steps of the reference vectors: what a
/// lock looks like before and after a call, whoever made it. Rows make their calls twice, as those of
/// contract.hpp.
#pragma once

#include "contract/contract.hpp"

namespace holdfast::contract::rw {

// The owners of the reference vectors.
inline constexpr std::string_view a = "11111111-1111-1111-1111-111111111111:1";
inline constexpr std::string_view a_writing = "11111111-1111-1111-1111-111111111111:1:write";
inline constexpr std::string_view b = "22222222-2222-2222-2222-222222222222:7";
inline constexpr std::string_view b_writing = "22222222-2222-2222-2222-222222222222:7:write";
inline constexpr std::string_view c = "22222222-2222-2222-2222-222222222222:8";

/// One hold of a reader, as its own key has it.
struct hold {
  std::string_view reader;
  int number = 1;
  std::int64_t ttl = full_ttl;
};

/// All that there is of a lock.
struct state {
  std::string_view mode{};  ///< empty: it is free
  std::vector<std::pair<std::string_view, int>> fields{};
  std::int64_t ttl = full_ttl;
  std::vector<hold> holds{};
};

struct outcome {
  testing::Matcher<raw_reply const&> reply;
  state then{};
  std::vector<std::string> messages{};
};

struct row {
  std::string name;
  state given{};
  holdfast::call call;
  outcome expect;
  std::optional<outcome> again{};  ///< the same as `expect`, without messages
};

inline std::ostream& operator<<(std::ostream& out, row const& one) { return out << one.name; }

/// A server with a lock that is made by hand, or step by step. Looks at every key and every message.
class table {
 public:
  explicit table(state const& given = {}, std::string_view name = "rw");

  /// Makes the call and checks all that is then.
  void step(std::string_view what, holdfast::call const& call, outcome const& wanted);
  /// The same, and once more, as after a connection that broke before the reply came.
  void step_twice(std::string_view what, holdfast::call const& call, outcome const& wanted);

  [[nodiscard]] raw_redis& raw() { return raw_; }

 private:
  void put(state const& given);
  void check(state const& wanted);

  std::string name_;
  raw_redis raw_;
  ears heard_;
};

void check(row const& one);

// Replies and messages.
testing::Matcher<raw_reply const&> is_granted(std::int64_t tokens = 1);
testing::Matcher<raw_reply const&> is_busy_with(testing::Matcher<std::string> const& owner,
                                                std::int64_t pttl = full_ttl);
/// To a renewal of one who reads: the lock was to end so soon.
testing::Matcher<raw_reply const&> was_cut_to(std::int64_t left);
std::string one_may_ask(std::string_view name = "rw");
std::string all_may_ask(std::string_view name = "rw");

// Calls.
call reads(std::string_view owner, std::int64_t ttl = full_ttl, std::string_view name = "rw");
call stops_reading(std::string_view owner, std::string_view name = "rw");
call writes(std::string_view owner, std::int64_t ttl = full_ttl, std::string_view name = "rw");
call stops_writing(std::string_view owner, std::string_view name = "rw");
call passes_on(std::string_view owner, std::string_view next, bool listening = true,
               std::string_view name = "rw");
call gives_up(std::string_view owner, std::string_view name = "rw");
call goes_on_reading(std::vector<std::string_view> const& owners, std::int64_t ttl = full_ttl,
                     std::string_view name = "rw");
call goes_on_writing(std::vector<std::string_view> const& owners, std::int64_t ttl = full_ttl,
                     std::string_view name = "rw");
call only_reads_now(std::string_view owner, std::int64_t ttl = full_ttl, std::string_view name = "rw");
call is_forced(std::string_view field = {}, std::string_view name = "rw");
/// As the option wake::poll has it: nobody is told.
call quietly(call (*what)(engine::owned, engine::release_policy), std::string_view owner);

inline std::string name_of(testing::TestParamInfo<row> const& info) { return info.param.name; }

}  // namespace holdfast::contract::rw
