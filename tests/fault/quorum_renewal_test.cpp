/// A renewal that a holder asks for while a majority of the masters that vote is away.
#include "quorum.hpp"

#include <atomic>
#include <exception>
#include <system_error>
#include <thread>

namespace holdfast::test {
namespace {

using quorum = five_masters;

TEST_F(quorum, renewal_that_is_asked_for_waits_through_an_outage) {
  client redis{masters_.url(), {.connect_timeout = 300ms, .reply_timeout = 300ms}};
  quorum_mutex m{redis, "orders", {.ttl = 60s}};
  auto lease = m.acquire();
  for (auto const i : {0u, 1u, 2u}) masters_[i].freeze();
  auto refusing = masters_[3].raw();
  refusing.command({"CONFIG", "SET", "busy-reply-threshold", "10"});
  auto const script = std::jthread{[this] { masters_[3].raw().command({"EVAL", "while true do end", "0"}); }};
  ASSERT_TRUE(eventually([&] { return refusing.command({"GET", "x"}).text.rfind("BUSY", 0) == 0; }));
  std::atomic<bool> over = false;
  std::exception_ptr failure;
  lease.async_renew([&](std::exception_ptr reason) {
    failure = std::move(reason);
    over = true;
  });
  EXPECT_TRUE(always(2s, [&] { return !over; })) << "for longer than a majority needs to be missed";
  refusing.command({"SCRIPT", "KILL"});
  for (auto const i : {0u, 1u, 2u}) masters_[i].thaw();
  ASSERT_TRUE(eventually([&] { return over.load(); }));
  EXPECT_FALSE(failure);
  EXPECT_TRUE(lease.valid());
}

TEST_F(quorum, renewal_that_waits_through_an_outage_ends_with_its_lease) {
  client redis{masters_.url(), {.connect_timeout = 300ms, .reply_timeout = 300ms}};
  quorum_mutex m{redis, "orders", {.ttl = 60s}};
  auto lease = m.acquire();
  for (auto const i : {0u, 1u, 2u}) masters_[i].freeze();
  std::atomic<int> ends = 0;
  std::error_code how;
  lease.async_renew([&](std::exception_ptr const& reason) {
    how = failure_of([&] { std::rethrow_exception(reason); }).code;
    ++ends;
  });
  EXPECT_TRUE(always(1s, [&] { return ends == 0; }));
  lease.async_release({});
  EXPECT_TRUE(eventually([&] { return ends == 1; }));
  EXPECT_EQ(how, errc::lost);
  for (auto const i : {0u, 1u, 2u}) masters_[i].thaw();
}
}  // namespace
}  // namespace holdfast::test
