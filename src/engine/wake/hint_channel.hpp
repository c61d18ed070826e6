/// The channel on which a client is asked for a lock that it holds.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "engine/lock_backend.hpp"

namespace holdfast::engine {

/// Hears the hints to one client. All under the client's lock.
class hint_channel final : net::subscriber::listener {
 public:
  struct events {
    std::function<void(std::uint64_t number)> asked;
    std::function<void(std::string const& text)> refused;
  };

  hint_channel(lock_backend& backend, std::string const& uuid, events handlers);

  void open() {
    if (!refused_) backend_.listen(channel_, topology::channel_of::client, *this);
  }

 private:
  void on_subscribed() override {}
  void on_message(std::string_view message) override;
  void on_refused(std::string const& text) override;

  events events_;
  lock_backend& backend_;
  std::string channel_;
  bool refused_ = false;
};

}  // namespace holdfast::engine
