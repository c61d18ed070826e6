/// Hearing one channel at several masters.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/quorum/canvass.hpp"

namespace holdfast::engine {

/// The same channel at each master. It counts as heard once a majority has confirmed it, since whoever
/// releases tells a majority; a master that won't have it is left out. All under the client's lock.
class quorum_ears {
 public:
  quorum_ears(quorum_nodes& whom, std::string const& channel, topology::channel_of whose,
              net::subscriber::listener& who);
  ~quorum_ears();
  quorum_ears(quorum_ears const&) = delete;
  quorum_ears& operator=(quorum_ears const&) = delete;

  /// Where there is no connection any more, and none is being made, one is.
  void listen();

 private:
  class ear;

  void on_subscribed(ear& one);
  void on_refused(std::string const& words);

  quorum_nodes& whom_;
  std::string const channel_;
  topology::channel_of const whose_;
  net::subscriber::listener& who_;
  std::vector<std::unique_ptr<ear>> ears_;
  std::size_t open_ = 0;     ///< have confirmed it at least once
  std::size_t refused_ = 0;  ///< won't ever
};

}  // namespace holdfast::engine
