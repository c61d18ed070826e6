/// The contract of the scripts of semaphores and latches on Redisson's wire: vectors V12 to V14 of the
/// reference, step by step. Each step runs on a real server, and every request is sent twice.
#pragma once

#include <map>
#include <set>

#include "contract/contract.hpp"
#include "script/names_redisson.hpp"
#include "sync/idempotency_marks.hpp"

namespace holdfast::contract {

/// The keys of a server with their values: texts unchanged, members of sorted sets in order, in hexadecimal
/// digits. Without the idempotency marks, which only Holdfast writes.
using keys_and_values = std::map<std::string, std::string>;

class redisson_numbers : public testing::Test {
 protected:
  using reply_matcher = testing::Matcher<raw_reply const&>;

  explicit redisson_numbers(std::string channel) : channel_{std::move(channel)} {}

  /// Runs the call twice, as after a connection that broke before the reply came. The first call publishes
  /// exactly `payloads` on the channel. The second call replies `again`, publishes nothing and changes
  /// nothing.
  void run(call const& script_call, reply_matcher const& reply, std::vector<std::string> const& payloads,
           reply_matcher const& again);
  void run(call const& script_call, reply_matcher const& reply,
           std::vector<std::string> const& payloads = {}) {
    run(script_call, reply, payloads, reply);
  }

  [[nodiscard]] keys_and_values state();
  /// The server's clock, since the epoch.
  [[nodiscard]] std::int64_t now_ms();
  void command(words const& arguments) {
    ASSERT_FALSE(raw_.command(arguments).is_error()) << arguments.front();
  }

  /// Sets the first value of an absent number, and publishes `message`.
  call try_set(std::int64_t number, std::int64_t message, std::string_view description);

  /// The idempotency mark of a new request.
  [[nodiscard]] std::string const& new_mark();

  static reply_matcher granted() { return is_list({0, 1}); }
  static reply_matcher busy(testing::Matcher<std::int64_t> const& pttl = no_ttl) {
    return is_busy(pttl, -1, 0, "", -1, 0);
  }

  std::string const name_ = "orders";
  std::string const channel_;
  test::redis_server& server_ = empty_server();
  raw_redis raw_ = server_.raw();
  subscription messages_{server_};  ///< to all channels

 private:
  std::set<std::string> marks_;
};

}  // namespace holdfast::contract
