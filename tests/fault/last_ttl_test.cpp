/// The ttl of a lock that is kept.
#include "fault.hpp"

#include <future>

namespace holdfast::test {
namespace {

class last_ttl : public fault {};

TEST_F(last_ttl, is_not_overtaken_by_a_renewal_that_comes_late) {
  auto const known = learn(server_);
  std::atomic<bool> refused = false;  // a renewal, as by a server without scripts: the client resends it
  flaky_proxy proxy{server_.socket_path()};
  client redis{proxy.url(), with_long_timeouts({.cas = cas::lua})};
  mutex m{redis, "orders", {.ttl = 30s, .renew_every = 100ms}};
  proxy.decide([&](request const& r) {
    if (refused || kind_of(r) != known.renew) return fate::pass();
    refused = true;
    return fate::error("NOSCRIPT No matching script. Please use EVAL.");
  });
  auto lease = m.acquire();
  proxy.freeze_replies();
  ASSERT_TRUE(eventually([&] { return refused.load(); }));
  auto kept = std::async(std::launch::async, [&] { return lease.keep_for(1h); });
  (void)true_within(500ms, [&] {  // for a copy that would go out behind it
    auto const all = proxy.requests();
    return std::ranges::count(all, known.renew, kind_of) >= 2;
  });
  proxy.thaw();
  EXPECT_EQ(kept.get(), release_result::kept);
  redis.connect();
  EXPECT_GT(raw_.pttl("orders"), 1'000'000);
}

}  // namespace
}  // namespace holdfast::test
