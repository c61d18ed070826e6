/// Who listens to channels: the engine hears of changes in etcd as of messages of Redis.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "etcd/place.hpp"
#include "net/subscriber.hpp"

namespace holdfast::etcd {

/// All under the client's lock. A message on a channel without a listener is left out: whoever waits asks
/// from time to time.
class listeners {
 public:
  /// `uuid`: the client's.
  explicit listeners(std::string const& uuid) noexcept : uuid_{uuid} {}

  void add(std::string const& channel, net::subscriber::listener& listener);
  void remove(std::string_view channel);
  void clear() noexcept { all_.clear(); }
  [[nodiscard]] bool listen_to(std::string const& channel) const { return all_.contains(channel); }

  void notify(std::string const& channel, std::string const& message);
  /// Who waits there is to ask again.
  void wake(place const& waiter);
  /// Somebody may have asked for the lock that is held there. That is said once, so it is kept until the
  /// client listens, which is half a second after it has got its first lock.
  void notify_of_petition(place const& holder);

 private:
  std::string const& uuid_;
  std::map<std::string, net::subscriber::listener*, std::less<>> all_;
  std::set<std::string> unheard_;  ///< messages for the channel of hints
};

}  // namespace holdfast::etcd
