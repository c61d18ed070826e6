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
  /// Begins a renewal of the lease that the server carries out; its reply, and all later ones of the
  /// connection, are lost.
  void renew_without_reply(lease& held) {
    for (auto times = 0; times != 2; ++times) held.renew();  // the first loads the script
    auto const renewal = kind_of(proxy_.requests().back());
    proxy_.once([renewal](request const& r) { return kind_of(r) == renewal; }, fate::swallow_reply());
    held.async_renew([](std::exception_ptr const& failure) { EXPECT_FALSE(failure); });
  }
  /// Whether `convert` makes a lease of it that is held, though the renewal of the old one is under way.
  template <class F>
  void becomes_another_while_it_is_renewed(lease held, F convert) {
    renew_without_reply(held);
    held = convert(std::move(held));
    EXPECT_TRUE(held.valid());
    EXPECT_NO_THROW(held.renew());
    release(held);
    EXPECT_TRUE(has_left_nothing());
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
