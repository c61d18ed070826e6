/// The contract of the read-write lock's scripts, as rows and as the steps of the reference vectors: the
/// state of a lock before and after a call. As in contract.hpp, each call of a row is made twice.
#pragma once

#include "contract/contract.hpp"

namespace holdfast::contract::rw {

// The owners of the reference vectors.
inline constexpr std::string_view a = "11111111-1111-1111-1111-111111111111:1";
inline constexpr std::string_view a_writing = "11111111-1111-1111-1111-111111111111:1:write";
inline constexpr std::string_view b = "22222222-2222-2222-2222-222222222222:7";
inline constexpr std::string_view b_writing = "22222222-2222-2222-2222-222222222222:7:write";
inline constexpr std::string_view c = "22222222-2222-2222-2222-222222222222:8";

/// One hold of a reader, with a key of its own.
struct hold {
  std::string_view reader;
  int number = 1;
  std::int64_t ttl = full_ttl;
};

/// The whole state of a lock.
struct state {
  std::string_view mode{};  ///< empty: the lock is free
  std::vector<std::pair<std::string_view, int>> fields{};
  std::int64_t ttl = full_ttl;
  std::vector<hold> holds{};
};

struct outcome {
  testing::Matcher<raw_reply const&> reply;
  state after{};
  std::vector<std::string> messages{};
};

struct row {
  std::string name;
  state given{};
  holdfast::call call;
  outcome expect;
  std::optional<outcome> again{};  ///< default: the same as `expect`, without messages
};

inline std::ostream& operator<<(std::ostream& out, row const& test_case) { return out << test_case.name; }

/// A server with one lock, whose state a test sets directly or step by step. Checks every key and every
/// message.
class table {
 public:
  explicit table(state const& given = {}, std::string_view name = "rw");

  /// Makes the call, and checks the reply, the state and the messages.
  void step(std::string_view title, holdfast::call const& call, outcome const& wanted);
  /// The same, with the call made twice, as after a connection that broke before the reply came.
  void step_twice(std::string_view title, holdfast::call const& call, outcome const& wanted);

  [[nodiscard]] raw_redis& raw() { return raw_; }

 private:
  void put(state const& given);
  void check(state const& wanted);

  std::string name_;
  raw_redis raw_;
  subscription subscription_;
};

void check(row const& test_case);

// Replies and messages.
testing::Matcher<raw_reply const&> is_granted(std::int64_t tokens = 1);
testing::Matcher<raw_reply const&> is_busy_with(testing::Matcher<std::string> const& owner,
                                                std::int64_t pttl = full_ttl);
/// The reply to a reader's renewal: the ttl of the lock had been cut to `left`.
testing::Matcher<raw_reply const&> was_cut_to(std::int64_t left);
std::string wake_one_message(std::string_view name = "rw");
std::string wake_all_message(std::string_view name = "rw");

// Calls.
call acquire_read(std::string_view owner, std::int64_t ttl = full_ttl, std::string_view name = "rw");
call release_read(std::string_view owner, std::string_view name = "rw");
call acquire_write(std::string_view owner, std::int64_t ttl = full_ttl, std::string_view name = "rw");
call release_write(std::string_view owner, std::string_view name = "rw");
call pass_write(std::string_view owner, std::string_view next, bool listening = true,
                std::string_view name = "rw");
call abandon_lock(std::string_view owner, std::string_view name = "rw");
call renew_read(std::vector<std::string_view> const& owners, std::int64_t ttl = full_ttl,
                std::string_view name = "rw");
call renew_write(std::vector<std::string_view> const& owners, std::int64_t ttl = full_ttl,
                 std::string_view name = "rw");
call downgrade(std::string_view owner, std::int64_t ttl = full_ttl, std::string_view name = "rw");
call force(std::string_view field = {}, std::string_view name = "rw");
/// With the option wake::poll: publishes nothing.
call quiet(call (*operation)(engine::owned, engine::release_policy), std::string_view owner);

inline std::string name_of(testing::TestParamInfo<row> const& info) { return info.param.name; }

}  // namespace holdfast::contract::rw
