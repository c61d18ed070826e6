/// The events that open pages get, numbered, with the newest of them kept for who was away for a moment.
#pragma once

#include "serve/http_message.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::cli {

/// Thread-safe.
class event_feed {
 public:
  using sink = std::function<void(std::uint64_t, shared_text)>;

  /// `epoch` tells the numbers of this process from those of an earlier one.
  explicit event_feed(std::string epoch) : epoch_{std::move(epoch)} {}

  /// Where events go, too; before the first one.
  void send_to(sink to);
  /// `data` is one line.
  void publish(std::string_view name, std::string_view data);

  struct missed {
    std::string text{};        ///< the events since, or one that says that they aren't known
    std::uint64_t newest = 0;  ///< the number of the last of them
  };
  /// For a page that has got the event `last_id` last; empty: none.
  [[nodiscard]] missed since(std::string_view last_id) const;

 private:
  struct event {
    std::uint64_t number = 0;
    shared_text text{};
  };

  [[nodiscard]] std::string text_of(std::uint64_t number, std::string_view name, std::string_view data) const;

  std::string const epoch_;
  sink sink_{};
  mutable std::mutex mutex_;  ///< guards what follows
  std::uint64_t newest_ = 0;
  std::deque<event> kept_{};
  std::size_t kept_bytes_ = 0;
};

}  // namespace holdfast::cli
