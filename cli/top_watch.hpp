/// Looking at the locks again and again, in the background, for `holdfast top`.
#pragma once

#include "top_model.hpp"

#include <holdfast/client.hpp>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::cli {

/// Two threads: one searches all keys for locks, over and over, with pauses that leave the server nine tenths
/// of the time for others when a search takes long; the other looks again at the most contended ones, each
/// interval, unless the search is so quick that it does the same. A server that can't be asked is asked
/// again.
class top_watch {
 public:
  struct picture {
    std::vector<top_row> rows{};
    std::string trouble{};  ///< what failed last, or was left out; empty once all worked again
    bool searched = false;  ///< all keys were looked at once
  };

  top_watch(std::string const& url, std::string pattern, std::string wire,
            std::chrono::milliseconds interval);
  /// Waits for what is under way: at the most some seconds, when the server doesn't answer.
  ~top_watch();
  top_watch(top_watch const&) = delete;
  top_watch& operator=(top_watch const&) = delete;

  [[nodiscard]] picture now() const;
  /// Looks no further, or goes on.
  void pause();
  void go_on();
  [[nodiscard]] std::string const& server() const noexcept { return redis_.url(); }

  /// Without threads, for those who print: finds all, finds all again so much later, and meanwhile looks at
  /// the most contended some times. Throws what fails; what couldn't be searched for is in `trouble`.
  [[nodiscard]] static picture look_for(client& redis, std::string const& pattern, std::string const& wire,
                                        std::chrono::milliseconds interval);

 private:
  using time = top_model::time;

  void search(std::stop_token const& stop);
  void refresh(std::stop_token const& stop);
  /// False when it is to stop.
  [[nodiscard]] bool rest(std::stop_token const& stop, std::chrono::nanoseconds how_long);
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
