/// What the commands of the module leave in a server, to compare it with what others have heard of them.
#pragma once

#include "module/module_test.hpp"

#include <map>

namespace holdfast::module_test {

/// The value of each key as text, and when it expires.
inline std::map<std::string, std::string> contents(raw_redis& raw) {
  std::map<std::string, std::string> all;
  for (auto const& key : raw.keys()) {
    auto text = raw.command({"TYPE", key}).text;
    for (auto const& part : {raw.command({"GET", key}), raw.command({"HGETALL", key}),
                             raw.command({"ZRANGE", key, "0", "-1", "WITHSCORES"})}) {
      if (part.is_error()) continue;
      text += " " + part.text;
      for (auto const& element : part.elements) text += " " + element.text;
    }
    all[key] = text + " until " + std::to_string(raw.command({"PEXPIRETIME", key}).integer);
  }
  return all;
}

inline words fair_acquire(std::string const& owner) {
  return {"HOLDFAST.FAIR.ACQUIRE",
          "3",
          "f",
          "{f}:holdfast_token",
          "{f}:holdfast_queue",
          owner,
          "30000",
          "1",
          "join",
          "",
          "0",
          "20000",
          "PUBLISH"};
}

/// Takes, queues, grants, passes, renews and gives back, and leaves something of each behind.
inline void use(test::redis_server const& server) {
  auto raw = server.raw();
  auto const run = [&raw](words const& command) {
    EXPECT_FALSE(raw.command(command).is_error()) << command[0];
  };
  auto listener = server.raw();
  listener.command({"SUBSCRIBE", "{a}:holdfast_inbox:aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa"});
  run(acquire(caller));
  run(acquire(rival));
  run(acquire(waiter));
  run(renew(caller));
  run(release(caller, "0"));  // rival's process is gone, so the waiter has it
  EXPECT_EQ(raw.get("a"), waiter);
  run(acquire(rival));
  run({"HOLDFAST.EXCLUSIVE.ABANDON", "3", "a", "{a}:holdfast_token", "{a}:holdfast_queue", rival, "0",
       "20000", "PUBLISH"});
  run(acquire(caller));
  run(fair_acquire(caller));
  run(fair_acquire(rival));
  run({"HOLDFAST.FAIR.PASS", "3", "f", "{f}:holdfast_token", "{f}:holdfast_queue", caller, "20000", "PUBLISH",
       waiter, "30000", "1", "0"});
  run({"HOLDFAST.TAKE_SHARED", "m", std::string{caller} + ":r", "30000"});
  run({"HOLDFAST.TAKE_SHARED", "m", std::string{rival} + ":r", "40000"});
  run({"HOLDFAST.SHARED.RENEW", "2", "m", "{m}:holdfast_readers", "50000", std::string{rival} + ":r"});
  run({"HOLDFAST.GIVE_SHARED", "m", std::string{caller} + ":r"});
  run({"HOLDFAST.TAKE_PERMITS", "p", caller, "2", "30000", "5"});
  run({"HOLDFAST.TAKE_PERMITS", "p", rival, "1", "30000", "5"});
  run({"HOLDFAST.TAKE_PERMITS", "p", waiter, "2", "30000", "5"});
  run({"HOLDFAST.PERMITS.RENEW", "1", "p", "40000", rival});
  run({"HOLDFAST.GIVE_PERMITS", "p", caller});
  run({"HOLDFAST.REDISSON_LOCK.ACQUIRE", "1", "r", caller, "30000", "1"});
  run({"HOLDFAST.REDISSON_LOCK.RENEW", "1", "r", "40000", "at least", caller});
  run({"HOLDFAST.REDISSON_LOCK.ACQUIRE", "1", "s", caller, "30000", "1"});
  run({"HOLDFAST.REDISSON_LOCK.RELEASE", "1", "s", caller, "PUBLISH", "channel"});
  run({"SET", "gone", caller});
  run({"HOLDFAST.EXCLUSIVE.RELEASE_UNWANTED", "2", "gone", "{gone}:holdfast_queue", caller});
  run({"SET", "k", "x"});
  run({"CAS", "k", "x", "y", "PX", "50000"});
  run({"CAS", "k", "y", "z", "KEEPTTL"});
}

}  // namespace holdfast::module_test
