/// What the tests of Holdfast beside Redisson share: both on one server, and signs of who waits there.
#pragma once

#include "interop.hpp"
#include "support/registry.hpp"

#include <holdfast/client.hpp>

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace holdfast::test {

/// What a slow machine may take. Well below the 30 s of a lease, so that whoever waits within it was woken.
inline constexpr auto patience = 20s;

/// Something that waits while the test goes on.
template <class Wait>
[[nodiscard]] auto meanwhile(Wait wait) {
  return std::async(std::launch::async, std::move(wait));
}

template <class Result>
[[nodiscard]] bool is_over(std::future<Result> const& waiting) {
  return waiting.wait_for(0s) == std::future_status::ready;
}

/// Skipped where Redisson's peers aren't there.
class beside_redisson : public interop {
 protected:
  void SetUp() override {
    if (!peer::is_prepared(folder_of(version()))) GTEST_SKIP() << not_prepared;
  }
  [[nodiscard]] virtual redisson_version version() const = 0;

  /// A process of ours that holds or waits, to be killed. `what` is a title of the registry.
  [[nodiscard]] worker our_process(std::string_view what, std::string const& name,
                                   std::chrono::milliseconds ttl) const {
    return worker::session(url_, std::string{what}, name, ttl);
  }

  /// So many processes listen on the channel.
  [[nodiscard]] bool listen(std::string const& channel, std::int64_t processes = 1) {
    return eventually(patience, [&] { return subscribers(channel) == processes; });
  }
  [[nodiscard]] bool queue_is(std::string const& name, std::vector<std::string> const& owners) {
    return eventually(patience, [&] { return list("redisson_lock_queue:{" + name + "}") == owners; });
  }

  std::string url_ = server_.url() + "?wire=redisson";
  client redis_{url_};
  client listening_{url_,
                    {.recheck = 30s}};  ///< wakes by messages: what it would see by itself comes too late
};

/// Run with each version.
class beside_each_redisson : public beside_redisson, public testing::WithParamInterface<redisson_version> {
 protected:
  [[nodiscard]] redisson_version version() const override { return GetParam(); }
};

}  // namespace holdfast::test
