// A history is there before the cluster hears of what it says.

#include "store.hpp"
#include "support/eventually.hpp"
#include "support/process.hpp"

#include <gmock/gmock.h>

#include <holdfast/client.hpp>
#include <holdfast/mutex.hpp>

#include <optional>
#include <string>

namespace holdfast::test {
namespace {

using testing::HasSubstr;

/// FOUND 483: who was killed between the two seemed to hold the lock beside the next holder.
TEST(etcd_history, is_written_before_the_release_is_sent) {
  the_store().set_terms(1, 1);
  temporary_folder folder;
  client etcd{"etcd://memory", {.patience = wait_limit, .history = folder / "history"}};
  mutex lock{etcd, "written", {.ttl = 9s}};
  auto held = lock.acquire();
  std::optional<std::string> then;
  the_store().before_next_removal([&] { then = content_of(folder / "history"); });
  EXPECT_EQ(held.release(), release_result::released);
  ASSERT_TRUE(then);
  EXPECT_THAT(*then, HasSubstr(R"("e":"released")"));
}

}  // namespace
}  // namespace holdfast::test
