/// Callers of locks over several names, in an etcd in memory.
#pragma once

#include "store.hpp"
#include "support/eventually.hpp"

#include <gtest/gtest.h>

#include <holdfast/client.hpp>
#include <holdfast/error.hpp>
#include <holdfast/multi_mutex.hpp>

#include <atomic>
#include <cstddef>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::test {

class etcd_multi_faults : public testing::Test {
 protected:
  etcd_multi_faults() { the_store().set_terms(1, 1); }

  static std::size_t places(std::string const& name) { return the_store().keys(name + "/").size(); }
  /// A caller in a thread of its own, who takes a and b of these names, and holds them until it is told to
  /// go. It gives up at its end.
  class waiter {
   public:
    waiter(client& from, std::string const& name)
        : thread_{[this, &from, name](std::stop_token const& stop) {
            multi_mutex both{from, {name + "_a", name + "_b"}, {.ttl = 3s}};
            try {
              auto held = both.acquire(stop);
              entered_ = true;
              EXPECT_TRUE(eventually([&] { return stop.stop_requested(); }));
              EXPECT_TRUE(held.valid());
              EXPECT_EQ(held.release(), release_result::released);
            } catch (error const&) {
              return;  // nobody waits for it any more
            }
          }} {}
    [[nodiscard]] bool entered() const { return entered_; }
    void go() {
      thread_.request_stop();
      thread_.join();
    }

   private:
    std::atomic<bool> entered_ = false;
    std::jthread thread_;
  };

  /// Those that stand aside as that name is busy.
  static std::vector<std::string> aside(std::string const& name) {
    return the_store().keys(name + ":holdfast_aside:");
  }

  client etcd_{"etcd://memory", {.patience = wait_limit}};
  client other_{"etcd://memory", {.patience = wait_limit}};
};

}  // namespace holdfast::test
