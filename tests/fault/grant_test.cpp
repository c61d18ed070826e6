#include <gtest/gtest.h>

#include <holdfast/client.hpp>
#include <holdfast/mutex.hpp>
#include <future>

#include "support/eventually.hpp"
#include "support/redis_server.hpp"

namespace {

using namespace holdfast;
using namespace std::chrono_literals;

TEST(renewal, turns_a_grant_into_a_full_lease_though_others_are_due_later) {
  test::redis_server server;
  auto raw = server.raw();
  client holder{server.url()};
  client winner{server.url()};
  mutex held{holder, "orders:42", {.starvation_limit = 0ms}};
  mutex wanted{winner, "orders:42"};
  mutex other{winner, "other"};
  auto first = held.acquire();
  auto granted = std::async(std::launch::async, [&] { return wanted.acquire(); });
  ASSERT_TRUE(test::eventually(3s, [&] {
    return raw.command({"ZCARD", "holdfast_queue:{orders:42}"}).integer == 1 && !raw.client_ids("pubsub").empty();
  }));
  auto const long_lease = other.acquire();  // its renewal is due in 10 s
  (void)first.release();
  auto lease = granted.get();
  EXPECT_TRUE(test::eventually(3s, [&] { return lease.remaining() > 20s; })) << "never renewed";
  EXPECT_TRUE(lease.valid());
}


}  // namespace
