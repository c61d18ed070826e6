/// The contract of the scripts of semaphores and latches on Redisson's wire: vectors V12 to V14 of its
/// behaviour, step by step, each step on a real server and every request sent twice.
#pragma once

#include <map>
#include <set>

#include "contract/contract.hpp"
#include "script/names_redisson.hpp"
#include "sync/idempotency_marks.hpp"

namespace holdfast::contract {

/// What a server has: texts as they are, of sorted sets the members in order, in hexadecimal digits. Without
/// the notes of requests, which are ours alone.
using keys_and_values = std::map<std::string, std::string>;

class redisson_numbers : public testing::Test {
 protected:
  using reply_matcher = testing::Matcher<raw_reply const&>;

  explicit redisson_numbers(std::string channel) : channel_{std::move(channel)} {}

  /// Runs it twice, as after a connection that broke before the reply came. The first one tells `payloads` on
  /// the channel, and nothing else; the second one replies `again`, tells nothing and changes nothing.
  void run(call const& what, reply_matcher const& reply, std::vector<std::string> const& payloads,
           reply_matcher const& again);
  void run(call const& what, reply_matcher const& reply, std::vector<std::string> const& payloads = {}) {
    run(what, reply, payloads, reply);
  }

  [[nodiscard]] keys_and_values state();
  /// Of the server's clock, since the epoch.
  [[nodiscard]] std::int64_t now_ms();
  void command(words const& what) { ASSERT_FALSE(raw_.command(what).is_error()) << what.front(); }

  /// Gives a number that isn't there yet its first value, and tells `message`.
  call try_set(std::int64_t number, std::int64_t message, std::string_view what);

  /// The note of a new request.
  [[nodiscard]] std::string const& new_note();

  static reply_matcher granted() { return is_list({0, 1}); }
  static reply_matcher busy(testing::Matcher<std::int64_t> const& pttl = no_ttl) {
    return is_busy(pttl, -1, 0, "", -1, 0);
  }

  std::string const name_ = "orders";
  std::string const channel_;
  test::redis_server& server_ = empty_server();
  raw_redis raw_ = server_.raw();
  ears messages_{server_};  ///< hear everything

 private:
  std::set<std::string> notes_;
};

}  // namespace holdfast::contract
