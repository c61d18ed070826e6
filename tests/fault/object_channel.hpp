/// A channel of an object in a cluster, without a client.
#pragma once

#include "net/broken_connections.hpp"
#include "net/deployment_url.hpp"
#include "reactor/moved_clock.hpp"
#include "topology/make_deployment.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

namespace holdfast::test {

/// As of Redisson's, heard over connections of its own.
class object_channel final : public net::subscriber::listener {
 public:
  object_channel(std::string const& url, std::string const& name) : url_{net::parse_deployment_url(url)} {
    reactor::lock const hold{loop_.mutex()};
    servers_->listen(name, holdfast::topology::channel_of::object, *this);
  }
  ~object_channel() override {
    reactor::lock hold{loop_.mutex()};
    loop_.stop(hold);
    servers_->shut(std::make_shared<error const>(errc::closed, "the test is over"));
    hold.unlock();
  }

  [[nodiscard]] bool open() {
    return after_a_moment([this] { return open_; });
  }
  /// Nothing is to come any more behind the end of its connections, which goes before it does.
  [[nodiscard]] bool still_when_shut() {
    reactor::lock const hold{loop_.mutex()};
    servers_->shut(std::make_shared<error const>(errc::closed, "the test is over"));
    return reactor::moved_clock::next_timer(loop_) == time_point::max();
  }
  [[nodiscard]] bool heard() {
    return after_a_moment([this] { return heard_; });
  }

 private:
  void on_subscribed() override { open_ = true; }
  void on_closed() noexcept override { open_ = false; }
  void on_message(std::string_view) override { heard_ = true; }
  void on_refused(std::string const& text) override { ADD_FAILURE() << text; }

  /// Connections are looked after meanwhile.
  template <class F>
  [[nodiscard]] bool after_a_moment(F f) {
    reactor::lock hold{loop_.mutex()};
    reactor::blocked_thread caller;
    reactor::timer bell{[&] { loop_.wake(caller); }};
    loop_.arm(bell, boot_clock::now() + std::chrono::milliseconds{5});
    loop_.wait(hold, caller);
    hold.lock();
    return f();
  }

  reactor::loop loop_;
  net::deployment_url url_;
  net::broken_connections loose_ends_{{}};
  net::settings settings_{.server = url_.server,
                          .client_name = "object",
                          .connect_timeout = std::chrono::seconds{20},
                          .reply_timeout = std::chrono::seconds{20},
                          .limits = {},
                          .known_broken = &loose_ends_};
  client_stats stats_;
  std::unique_ptr<holdfast::topology::deployment> servers_ = holdfast::topology::make_deployment(
      loop_, url_, settings_, stats_,
      {.moved = [](std::string const&) {}, .broken = [] {}, .warning = [](std::string const&) {}});
  bool open_ = false;
  bool heard_ = false;
};

}  // namespace holdfast::test
