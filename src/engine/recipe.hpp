/// What differs between kinds of lock: how each makes its requests. No I/O.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/requests.hpp"
#include "history/words.hpp"
#include "script/call.hpp"

namespace holdfast::engine {

/// Which callers of one process may hold it at the same time.
enum class sharing {
  exclusive,    ///< one caller: it passes from one to the next
  shared,       ///< any number; callers close together share one acquisition (readers)
  counted,      ///< any number, each with an acquisition of its own (permits)
  open_to_all,  ///< no holder: all waiters go through when it opens (a latch)
};

/// In which order a lock's callers and waiters get it: who owns the place in the server's queue.
enum class order {
  barging,  ///< the client's queue: its first caller by then uses it, and newcomers may overtake anyway
  strict,   ///< the caller: it is given up with the caller, and the next caller takes its own
};

/// The holders for whose releases a waiting caller waits: until all of them have given the lock back, it
/// doesn't get it.
enum class blocked_by : std::uint8_t {
  unknown,  ///< others may be enough, or nobody is known: the kind takes no part in looking for deadlocks
  writer,   ///< the one holder; readers may be in the way for another reason
  upgrade,  ///< the same, and the reader that has the upgrade lease
  others,   ///< all readers but the one that has the upgrade lease, who is the caller itself
  all,      ///< all that hold it
};

/// join_time of readers that go in the order of arrival: those that come later ask the server, which knows of
/// the writers that wait.
inline constexpr milliseconds join_time_of_readers{1};

/// What differs for a lock over several names. It is granted name by name, so a message that grants one name
/// only means "ask again". When one name is lost, the others still have to be given back.
struct lock_names {
  std::size_t (*count)(std::string_view name);
  std::string_view (*first)(std::string_view name);
  std::vector<std::string_view> (*all)(std::string_view name);
  std::string (*title)(std::string_view name);  ///< the lock's name in messages
  /// How each is held, as the scripts say it; null: all in one way.
  std::vector<std::string_view> (*kinds)(std::string_view name) = nullptr;
};

/// The additional requests where several masters vote, each of which has its own copy of the lock.
struct voting {
  /// Gives back a vote that isn't enough, and keeps the place in the queue, if there is a ticket. Sends no
  /// message. The number is newer than the vote's request, and older than any request that follows.
  call (*yield)(owned, std::string_view ticket, std::uint64_t number);
  /// Raises a token counter to `token`, while the vote is the owner's. Replies the counter; 0: the vote isn't
  /// the owner's. Null: the kind has no tokens.
  call (*raise)(owned, std::int64_t token) = nullptr;
  /// Gives up the place in the queue, and nothing else. Null: there are no queues.
  call (*leave)(owned) = nullptr;
};

/// One kind of lock on one wire format. All calls may be sent twice: the second finds the effect of the
/// first. Their replies have one format for all kinds: see replies.hpp.
struct recipe {
  history::kind kind = history::kind::mutex;  ///< in a history
  engine::order order = order::barging;
  engine::sharing sharing = sharing::exclusive;
  engine::blocked_by blocked_by = blocked_by::unknown;
  /// How long callers may join an acquisition, where they share; handoff_time may say less. What is joined
  /// for long keeps waiters elsewhere out.
  std::chrono::nanoseconds join_time = std::chrono::nanoseconds::max();
  bool leased = true;  ///< a grant is held, renewed and released; otherwise it is the caller's for good
  /// Without being leased it stays in the server until somebody gives it back. Only the answer to a request
  /// makes it stay; what a message grants runs out.
  bool lasts = false;
  /// Searches find its names by their token counters: see token_counters.
  bool found_by_counter = false;
  bool queues = true;  ///< a request with `join` leaves an entry in a queue in the server
  /// Waiters are counted in the server: requests `join` also where no messages wake the waiter.
  bool counts_waiters = false;
  bool scriptless = false;  ///< it can be had from servers without scripts, too
  /// It is for etcd, whose backend makes all requests by itself: the functions below are null, or only say
  /// that there is such a request.
  bool on_etcd = false;
  call (*acquire)(std::string_view name, acquire_request const&);
  /// Takes the lock if it is free, without a script: {OK or nil, token counter}, raised by one if the lock is
  /// exclusive; and whether there is a queue, where the order is strict. It tells less than `acquire`, and
  /// isn't sent twice: see fast_path. Null: there is no such request.
  transaction (*fast_acquire)(std::string_view name, acquire_request const&) = nullptr;
  call (*release)(owned, release_policy) = nullptr;  ///< null, as renew: a grant isn't held
  /// Releases the lock if nobody waits for it, and replies 2 otherwise. Null: there is no such request.
  call (*fast_release)(owned) = nullptr;
  /// Releases the leases without waiters, of many in one request; null: there is no such request.
  call (*release_unwanted)(std::span<owned const>) = nullptr;
  call (*pass)(owned, release_policy,
               acquire_request const& next) = nullptr;  ///< null: there is no such request
  call (*abandon)(owned, release_policy) = nullptr;     ///< null: a request leaves no traces
  call (*renew)(milliseconds ttl, std::span<owned const>) = nullptr;
  /// Sets the last ttl of a kept lease; null: renew does. For kinds whose renewals never shorten a ttl.
  call (*set_ttl)(milliseconds ttl, std::span<owned const>) = nullptr;
  /// The other side of a lock whose format has no place to say that somebody waits: see
  /// acquire_requests::gives_way. Null: there is no other side, or the server keeps the order.
  recipe const* other_side = nullptr;
  lock_names const* several = nullptr;  ///< null: it has one name
  voting const* votes = nullptr;        ///< null: a single deployment has it, and decides
  /// The channels that tell a waiter to ask again; null: the inbox that its client has for the lock.
  std::vector<std::string> (*channels)(std::string_view name, std::string_view owner) = nullptr;
  /// The value for an owner in Redis; null: the owner id itself.
  std::string (*id_of)(std::string_view owner) = nullptr;

  /// Where the order is strict, a channel that the recipe names belongs to one place in the queue.
  [[nodiscard]] bool channel_for_each_place() const noexcept {
    return channels != nullptr && order == order::strict;
  }
  /// The name of a queue, or its first one: all names of a queue are in one slot.
  [[nodiscard]] std::string_view first_name(std::string_view name) const {
    return several == nullptr ? name : several->first(name);
  }
  /// All names of a queue. Throws std::bad_alloc.
  [[nodiscard]] std::vector<std::string_view> all_names(std::string_view name) const {
    return several == nullptr ? std::vector{name} : several->all(name);
  }
};

}  // namespace holdfast::engine
