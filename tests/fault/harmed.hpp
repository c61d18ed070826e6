/// A client whose requests are disturbed in every way.
#pragma once

#include "fault.hpp"

#include <utility>

#include "script/call.hpp"

namespace holdfast::test {

class harmed : public fault {
 protected:
  explicit harmed(client_options options = {.reply_timeout = 500ms})
      : redis_{proxy_.url(), with_long_timeouts(std::move(options))} {}

  /// Runs `f` once for each disturbance of the next run of that script. The server has to know it.
  template <class F>
  void at_every_harm(script const& disturbed, F f) {
    auto const resent = redis_.stats().resent;
    for (auto const& h : harms) {
      SCOPED_TRACE(h.title);
      proxy_.once([sha = disturbed.sha1](request const& r) { return kind_of(r) == sha; }, h.effect);
      f();
      EXPECT_TRUE(has_left_nothing());
    }
    EXPECT_GE(redis_.stats().resent, resent + 4);
  }
  /// After each disturbance.
  [[nodiscard]] virtual bool has_left_nothing() { return nothing_left_behind(); }

  /// Asynchronously, since release() gives up waiting at about the reply time-out.
  static void release(lease& released) {
    std::atomic<int> outcome = -1;
    released.async_release([&](release_result r) { outcome = static_cast<int>(r); });
    ASSERT_TRUE(eventually([&] { return outcome >= 0; }));
    EXPECT_EQ(release_result{outcome.load()}, release_result::released);
  }

  flaky_proxy proxy_{server_.socket_path()};
  client redis_;
};

}  // namespace holdfast::test
