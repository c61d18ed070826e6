/// Observes the locks repeatedly in the background, for `holdfast top`.
#pragma once

#include "top/model.hpp"

#include <holdfast/client.hpp>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::cli {

/// Two threads. One searches all keys for locks repeatedly, with pauses that leave the server nine tenths of
/// its time when a search takes long. The other observes the most contended locks again each interval, unless
/// the search is fast enough to do the same. Requests to an unreachable server are repeated.
class top_watch {
 public:
  struct picture {
    std::vector<top_row> rows{};
    std::string trouble{};  ///< the last error, or what was left out; empty after a success
    bool searched = false;  ///< all keys were searched once
  };

  top_watch(std::string const& url, std::string pattern, std::string wire,
            std::chrono::milliseconds interval);
  /// Waits for the running requests: some seconds at most, when the server doesn't answer.
  ~top_watch();
  top_watch(top_watch const&) = delete;
  top_watch& operator=(top_watch const&) = delete;

  [[nodiscard]] picture now() const;
  /// Pauses or continues the observation.
  void pause();
  void go_on();
  [[nodiscard]] std::string const& server() const noexcept { return redis_.url(); }

  /// Without threads, for printed tables: searches twice, an interval apart, and observes the most contended
  /// locks several times in between. Throws errors; `trouble` tells what could not be searched.
  [[nodiscard]] static picture look_for(client& redis, std::string const& pattern, std::string const& wire,
                                        std::chrono::milliseconds interval);

 private:
  using time = top_model::time;

  void search(std::stop_token const& stop);
  void refresh(std::stop_token const& stop);
  /// Returns false when the thread is to stop.
  [[nodiscard]] bool rest(std::stop_token const& stop, std::chrono::nanoseconds duration);
  template <class Look>
  void try_to(Look look);

  client redis_;
  std::string const pattern_;
  std::string const wire_;
  std::chrono::milliseconds const interval_;

  mutable std::mutex mutex_;  ///< guards what follows; not held while the server is asked
  std::condition_variable_any changed_;
  top_model model_;
  std::string trouble_;
  std::string left_out_;  ///< of the last search
  bool searched_ = false;
  bool paused_ = false;

  std::jthread searcher_;
  std::jthread refresher_;
};

}  // namespace holdfast::cli
