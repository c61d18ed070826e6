/// The watches of places: of the key before it, or of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "etcd/channel.hpp"
#include "etcd/listeners.hpp"
#include "etcd/messages.hpp"
#include "etcd/place.hpp"
#include "reactor/reactor.hpp"

namespace holdfast::etcd {

/// Behind watches that have ended, for a member may be restarting, until what was watched is looked at.
inline constexpr milliseconds pause_without_watches{100};

/// Whoever waits watches the key before its own, or as many as it needs, and is to ask again when one of them
/// is deleted. Whoever has held a lock for some time watches its own. All under the client's lock.
class watching {
 public:
  /// `ask_about_leases`: the key of a holder is gone, or may be.
  watching(reactor::loop& loop, channel& over, listeners& to, std::function<void()> ask_about_leases);

  /// For another watch on the channel.
  [[nodiscard]] std::uint64_t new_number() noexcept { return ++last_number_; }

  void watch(place_ptr const& from, std::string const& key, std::int64_t from_revision);
  void watch_own(place_ptr const& holder);
  [[nodiscard]] static bool watches_own(place const& holder) noexcept;
  /// All its keys were read in that revision, and are as it has made them. A watch that begins behind it
  /// tells nothing of what was written before.
  void note_read(place& holder, std::vector<key_value> const& keys, std::int64_t revision);
  /// Each of these keys for its end, and `size` for any change; what else it has watched, no longer. With a
  /// `beginning` also all keys that begin so, for the end of any of them.
  void watch_all(place_ptr const& from, std::vector<std::string> const& keys, std::string const& size,
                 std::int64_t from_revision, std::string const& beginning = {});
  void unwatch(place& from);
  /// It is to ask again then, if it still waits.
  void wake_at(place_ptr const& waiter, time_point time);

  // See channel_events. A watch of somebody else is left out.
  void on_deleted(std::uint64_t number);
  void on_changed(std::uint64_t number);
  void on_over(std::uint64_t number);

  /// Nobody is woken any more.
  void stop() noexcept { again_.disarm(); }

 private:
  void add(place_ptr const& from, std::string const& key, std::string const& end, std::int64_t from_revision,
           channel::interest wanted);
  void look_again();
  static void forget(place& from, std::uint64_t number);

  reactor::loop& loop_;
  channel& channel_;
  listeners& listeners_;
  std::function<void()> const ask_about_leases_;
  std::unordered_map<std::uint64_t, place_ptr> all_;
  std::uint64_t last_number_ = 0;
  std::vector<std::weak_ptr<place>> unwatched_;  ///< those whose watch has ended, and who wait
  bool holders_unwatched_ = false;               ///< the watch of a holder's own key has ended
  reactor::timer again_{{}};
};

}  // namespace holdfast::etcd
