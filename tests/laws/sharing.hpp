/// Two clients with a shared_mutex, on either wire.
#pragma once

#include "law.hpp"

#include "script/names.hpp"

namespace holdfast::test {

class shared_on_either_wire : public testing::TestWithParam<wire> {
 protected:
  [[nodiscard]] bool on_redisson() const { return GetParam() == wire::redisson; }
  [[nodiscard]] client connect() const {
    // The recheck is so long that only a message wakes a waiter in time.
    return client{server_.url(), with_long_timeouts({.recheck = 30s, .wire = GetParam()})};
  }
  [[nodiscard]] bool is_in(lease const& holder) {
    if (on_redisson()) return raw_.command({"HEXISTS", "m", holder.owner()}).integer == 1;
    if (raw_.get("m") == holder.owner()) return true;
    return raw_.get("m") == names::held_by_readers &&
           !raw_.command({"ZSCORE", readers, holder.owner()}).text.empty();
  }
  /// Takes a reader's hold away.
  void delete_hold(lease const& reader) {
    if (on_redisson()) {
      raw_.del("{m}:" + reader.owner() + ":rwlock_timeout:1");
    } else {
      raw_.command({"ZREM", readers, reader.owner()});
    }
  }
  /// Of several readers the others' time is over, or they have gone.
  [[nodiscard]] bool only_one_hold_lasts() {
    if (on_redisson()) return raw_.keys("*:rwlock_timeout:1").size() == 1;
    auto const time = raw_.command({"TIME"}).elements;
    auto const now_ms = time.at(0).text + time.at(1).text.substr(0, time.at(1).text.size() < 6 ? 0 : 3);
    return raw_.command({"ZCOUNT", readers, now_ms, "+inf"}).integer == 1;
  }
  /// Whoever isn't in the queue yet is overtaken; whoever has no open inbox yet is passed over by a release.
  [[nodiscard]] bool waits(client& redis) {
    auto const inbox = names::inbox(redis.uuid(), "m");
    return eventually([&] {
      if (redis.stats().waits != 1) return false;
      return on_redisson() || (raw_.listeners(inbox) >= 1 && raw_.command({"ZCARD", queue}).integer >= 1);
    });
  }
  [[nodiscard]] subject const& reader() const { return on_redisson() ? redisson_reader : shared_reader; }

  static constexpr char readers[] = "{m}:holdfast_readers";
  static constexpr char queue[] = "{m}:holdfast_queue";
  deployment_under_test server_{};
  raw_servers raw_ = server_.raw();
  client first_client_ = connect();
  client second_client_ = connect();
  shared_mutex m_{first_client_, "m"};
  /// In the first millisecond of a hold on the plain wire others of its client share it, whoever waits: not
  /// here.
  shared_mutex unshared_{
      first_client_, "m", {.handoff_limit = on_redisson() ? lock_options{}.handoff_limit : 0}};
  shared_mutex remote_{second_client_, "m"};
};

}  // namespace holdfast::test
