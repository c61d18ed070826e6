/// What visitors want to know of one Redis, and have done there, one after the other.
#pragma once

#include "serve/http_message.hpp"

#include <holdfast/client.hpp>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>

namespace holdfast::cli {

/// Has a thread, which asks the server. Thread-safe.
class errands {
 public:
  /// May throw holdfast::error.
  using job = std::function<std::string(client&)>;

  explicit errands(client& redis);

  /// Does the job soon, and answers with its text, as JSON. An answer to the same `key` that is not older
  /// than `fresh`, or that was made while this one waited, is given again; without a key none is. 503 if too
  /// many wait, or the server doesn't answer.
  void ask(std::string key, std::chrono::milliseconds fresh, job work, responder respond);
  /// No answer from before is given to whoever asks from now on.
  void forget();

 private:
  struct order {
    std::string key{};
    std::chrono::milliseconds fresh{};
    job work{};
    responder respond{};
  };
  struct answered {
    std::chrono::nanoseconds at{};
    shared_text text{};
  };

  void serve(std::stop_token const& stop);
  [[nodiscard]] http_response answer(order const& asked);
  [[nodiscard]] std::deque<order> take_alike(std::string const& key);

  client& redis_;
  std::mutex mutex_;  ///< guards what follows
  std::condition_variable_any changed_;
  std::deque<order> orders_{};
  std::unordered_map<std::string, answered> answers_{};
  std::uint64_t forgotten_ = 0;  ///< how often
  std::jthread thread_;
};

}  // namespace holdfast::cli
