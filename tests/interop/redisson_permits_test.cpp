/// Redisson itself, without Holdfast: its semaphores and its latch.
#include "interop.hpp"

namespace holdfast::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::Gt;
using testing::IsEmpty;
using testing::Le;
using testing::SizeIs;

constexpr auto never = "922337203685477";

class redisson_permits : public with_redisson {
 protected:
  std::string score(std::string const& set, std::string const& member) {
    return raw_.command({"ZSCORE", set, member}).text;
  }
};

INSTANTIATE_TEST_SUITE_P(all, redisson_permits,
                         testing::Values(redisson_version::current, redisson_version::v3_27_2),
                         name_of_version);

/// The sixteen bytes on the wire of an id of the API.
std::string bytes_of(std::string const& id) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < id.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(id.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

TEST_P(redisson_permits, of_a_semaphore_are_a_number) {
  redisson java{server_, GetParam()};
  auto const java_semaphore = java.semaphore("sem");
  EXPECT_EQ(java_semaphore.try_acquire(), "false");
  EXPECT_EQ(java_semaphore.set(5), "true");
  EXPECT_EQ(java_semaphore.set(9), "false");
  EXPECT_EQ(java_semaphore.try_acquire(3), "true");
  EXPECT_EQ(java_semaphore.try_acquire(3), "false");
  EXPECT_EQ(java_semaphore.try_acquire(3, 50ms), "false");
  EXPECT_EQ(raw_.get("sem"), "2");
  EXPECT_EQ(raw_.pttl("sem"), -1);
  EXPECT_EQ(java_semaphore.release(2), "ok");
  EXPECT_EQ(java_semaphore.add(3), "ok");
  EXPECT_EQ(java_semaphore.available(), "7");
  EXPECT_EQ(java_semaphore.add(-10), "ok");
  EXPECT_EQ(raw_.get("sem"), "-3");
  EXPECT_EQ(java_semaphore.drain(), "-3");
  EXPECT_EQ(raw_.get("sem"), "0");
  EXPECT_EQ(java_semaphore.release_if_exists(4),
            GetParam() == redisson_version::current ? "true" : "unsupported");
  EXPECT_EQ(java_semaphore.remove(), "true");
  EXPECT_THAT(keys(), IsEmpty());
}

TEST_P(redisson_permits, of_a_semaphore_wake_who_waits_for_them) {
  redisson holder{server_, GetParam()};
  redisson other{server_, GetParam()};
  EXPECT_EQ(holder.semaphore("sem").set(1), "true");
  EXPECT_EQ(holder.semaphore("sem").acquire(), "ok");
  auto const waiting = other.semaphore("sem").acquire();
  EXPECT_TRUE(always(300ms, [&] { return !waiting.is_answered(); }));
  EXPECT_EQ(holder.semaphore("sem").release(), "ok");
  EXPECT_EQ(waiting, "ok");
  EXPECT_EQ(raw_.get("sem"), "0");
}

TEST_P(redisson_permits, that_expire_have_sixteen_bytes_each_in_a_sorted_set) {
  redisson java{server_, GetParam()};
  auto const java_permits = java.permits("pes");
  EXPECT_EQ(java_permits.set(2), "true");
  auto const lasting = java_permits.acquire().answer();
  EXPECT_THAT(lasting, SizeIs(32));
  EXPECT_THAT(sorted_set("{pes}:timeout"), ElementsAre(bytes_of(lasting)));
  EXPECT_EQ(score("{pes}:timeout", bytes_of(lasting)), never);
  auto const leased = java_permits.try_acquire(1s, 60s).answer();
  EXPECT_EQ(raw_.get("pes"), "0");
  EXPECT_EQ(java_permits.try_acquire(50ms, 1s), "none");
  if (GetParam() == redisson_version::current) {
    EXPECT_THAT(java_permits.lease(leased).number(), AllOf(Gt(50'000), Le(60'000)));
    EXPECT_EQ(java_permits.lease(lasting), "-1");
  } else {
    EXPECT_EQ(java_permits.lease(leased), "unsupported");
  }
  redisson other{server_, GetParam()};
  EXPECT_EQ(other.permits("pes").release(leased), "ok") << "whoever knows the id may give it back";
  EXPECT_EQ(other.permits("pes").try_release(leased), "false");
  EXPECT_EQ(java_permits.set_lease(lasting, 60s), "true");
  EXPECT_EQ(java_permits.release(lasting), "ok");
  EXPECT_EQ(java_permits.available(), "2");
  EXPECT_EQ(java_permits.release(lasting).answer().rfind("error ", 0), 0u);
  EXPECT_THAT(keys(), ElementsAre("pes"));
}

TEST_P(redisson_permits, that_expired_are_had_by_who_waits) {
  redisson java{server_, GetParam()};
  auto const java_permits = java.permits("pes");
  EXPECT_EQ(java_permits.set(1), "true");
  auto const first = java_permits.acquire(300ms).answer();
  auto const second = java_permits.by(2).acquire().answer();
  EXPECT_THAT(second, SizeIs(32));
  EXPECT_EQ(java_permits.try_release(first), "false");
  EXPECT_THAT(sorted_set("{pes}:timeout"), ElementsAre(bytes_of(second)));
}

TEST_P(redisson_permits, of_none_open_a_latch) {
  redisson java{server_, GetParam()};
  redisson other{server_, GetParam()};
  auto const java_latch = java.latch("cdl");
  EXPECT_EQ(java_latch.set(2), "true");
  EXPECT_EQ(java_latch.set(5), "false");
  EXPECT_EQ(raw_.get("cdl"), "2");
  auto const waiting = other.latch("cdl").await();
  EXPECT_EQ(other.latch("cdl").by(2).await(50ms), "false");
  EXPECT_EQ(java_latch.count_down(), "ok");
  EXPECT_EQ(java_latch.count(), "1");
  EXPECT_TRUE(always(200ms, [&] { return !waiting.is_answered(); }));
  EXPECT_EQ(other.latch("cdl").by(2).count_down(), "ok");
  EXPECT_EQ(waiting, "ok");
  EXPECT_THAT(keys(), IsEmpty());
  EXPECT_EQ(java_latch.await(), "ok");
  EXPECT_EQ(java_latch.count_down(), "ok");
  EXPECT_EQ(java_latch.count(), "0");
}

}  // namespace
}  // namespace holdfast::test
