/// A renewal that is asked for by hand.
#include "fault.hpp"

namespace holdfast::test {
namespace {

class renewal_by_hand : public fault {};

TEST_F(renewal_by_hand, fails_when_only_the_one_before_it_is_answered) {
  auto const known = learn(server_);
  std::atomic<int> renewals = 0;
  flaky_proxy proxy{server_.socket_path()};
  client redis{proxy.url(), with_long_timeouts({.cas = cas::lua})};
  mutex m{redis, "orders", {.ttl = 3s, .renew_every = 1s}};
  proxy.decide([&](request const& r) {
    if (kind_of(r) != known.renew) return fate::pass();
    return ++renewals == 1 ? fate::delay_reply(500ms) : fate::swallow();
  });
  auto lease = m.acquire();
  ASSERT_TRUE(eventually([&] { return renewals == 1; }));
  auto const f = failure_of([&] { lease.renew(); });
  EXPECT_EQ(f.code, errc::unreachable) << f;
  EXPECT_TRUE(f.mentions("orders")) << f;
  EXPECT_EQ(renewals, 2) << "its own";
  EXPECT_FALSE(lease.valid()) << "it was waited for until the deadline, which the first one had moved";
}

}  // namespace
}  // namespace holdfast::test
