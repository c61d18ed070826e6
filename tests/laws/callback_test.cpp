/// What a callback may do to its client.
#include <atomic>
#include <stdexcept>

#include "law.hpp"

namespace holdfast::test {
namespace {

TEST(callback, that_throws_is_logged_and_harms_nobody) {
  served server;
  std::atomic<int> complaints = 0;
  client redis{server.url(), {.log = [&](log_level level, std::string_view) {
                 if (level == log_level::error) ++complaints;
               }}};
  mutex m{redis, "orders"};
  m.async_acquire([](std::optional<lease>, std::exception_ptr const&) { throw std::runtime_error{"mine"}; });
  EXPECT_TRUE(eventually([&] { return complaints == 1; }));
  EXPECT_TRUE(m.try_acquire_for(20s)) << "the lease that the callback dropped is released";
}

TEST(callback, may_use_the_client_and_wait_for_it) {
  served server;
  client redis{server.url(), unhurried()};
  mutex outer{redis, "outer"};
  mutex inner{redis, "inner"};
  std::atomic<bool> both = false;
  outer.async_acquire([&](std::optional<lease> first, std::exception_ptr const&) {
    auto const second = inner.try_acquire_for(20s);
    both = first && second;
  });
  EXPECT_TRUE(eventually([&] { return both.load(); }));
}

}  // namespace
}  // namespace holdfast::test
