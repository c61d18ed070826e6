/// Watches for those that observe elections.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "etcd/channel.hpp"
#include "etcd/listeners.hpp"
#include "etcd/watching.hpp"
#include "reactor/reactor.hpp"

namespace holdfast::etcd {

/// What is watched for those that listen to the channel of an election. All under the client's lock.
class observing {
 public:
  observing(reactor::loop& loop, channel& over, listeners& to, watching& numbers, std::string const& prefix);

  /// From the revision on in which an observer has seen that: the key of the leader is watched for any
  /// change, or all places for a new one, if nobody leads. Whoever joins the queue behind a leader disturbs
  /// nobody.
  void observe(std::string const& name, std::string const& first, std::int64_t revision);
  /// Nobody listens there any more.
  void stop_observing(std::string_view listened_on);

  // See channel_events. False: that watch is for something else.
  bool on_deleted(std::uint64_t watch);
  bool on_changed(std::uint64_t watch);
  bool on_over(std::uint64_t watch);

  void stop() noexcept { again_.disarm(); }

 private:
  struct observed {
    std::uint64_t watch = 0;  ///< 0: nothing by now
    std::string key{};        ///< of the leader; empty: any
  };
  using observed_map = std::map<std::string, observed, std::less<>>;

  [[nodiscard]] observed_map::iterator find(std::uint64_t watch);
  void look_again_soon();
  void notify_unwatched();

  reactor::loop& loop_;
  channel& channel_;
  listeners& listeners_;
  watching& numbers_;
  std::string const& prefix_;
  observed_map all_;
  reactor::timer again_{{}};
};

}  // namespace holdfast::etcd
