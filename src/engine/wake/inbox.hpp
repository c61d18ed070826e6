/// The messages to one client, on channels of its own: it is its turn for a lock, or somebody asks for a lock
/// that it holds.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "engine/answers.hpp"
#include "engine/lock_backend.hpp"

namespace holdfast::engine {

/// A message in a client's inbox for one lock: "woken <number> <name>" (ask again), or "granted <number>
/// <token> <tokens> <name>" (the lock is yours, for a short while). The number is the contender's.
struct turn {
  std::uint64_t number = 0;
  std::optional<granted> grant{};
  std::string_view name{};  ///< of the lock; in the message
};
/// Nullopt: another kind of message, perhaps of a newer Holdfast.
[[nodiscard]] std::optional<turn> read_turn(std::string_view message);

/// The channel on which a client is asked for a lock that it holds: "asked <number>" (somebody releases it by
/// force: look at the key beside the lock). All under the client's lock.
class inbox final : net::subscriber::listener {
 public:
  struct events {
    std::function<void(std::uint64_t number)> asked;
    std::function<void(std::string const& text)> refused;
  };

  inbox(lock_backend& backend, std::string const& uuid, events handlers);

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
