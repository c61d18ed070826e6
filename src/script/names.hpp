/// Every key and channel name of the plain wire, in one place.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "base/hash_slot.hpp"

namespace holdfast::names {

/// A key or channel beside the lock's own, in the same hash slot wherever a tag can bring it there. It begins
/// with the name, or with `{` and the name, so rights to a prefix of names cover all their side keys.
///
/// A name without braces becomes the tag. Any other name is used unchanged, before two colons: a name with a
/// tag keeps its slot, and the lock "{a}" never shares a side key with the lock "a".
inline std::array<std::string_view, 4> parts_beside(std::string_view name, std::string_view suffix) {
  constexpr auto none = std::string_view::npos;
  auto const becomes_the_tag = name.find('{') == none && name.find('}') == none;  // each is one memchr
  if (becomes_the_tag) return {"{", name, "}:", suffix};
  return {"", name, "::", suffix};
}
inline std::string beside(std::string_view name, std::string_view suffix) {
  std::string result;
  result.reserve(name.size() + suffix.size() + 3);
  for (auto const part : parts_beside(name, suffix)) result.append(part);
  return result;
}

/// Side keys that calls name often: see holdfast::key.
enum class side_key : std::uint8_t { none, counter, queue, readers, permit_queue, permits };
[[nodiscard]] constexpr std::string_view suffix_of(side_key which) noexcept {
  constexpr std::array<std::string_view, 6> suffixes{"",
                                                     "holdfast_token",
                                                     "holdfast_queue",
                                                     "holdfast_readers",
                                                     "holdfast_permit_queue",
                                                     "holdfast_permits"};
  return suffixes[static_cast<std::size_t>(which)];
}
inline std::string beside(std::string_view name, side_key which) { return beside(name, suffix_of(which)); }

/// The fencing token counter.
inline std::string token_counter(std::string_view name) { return beside(name, side_key::counter); }

/// The waiting owners: a sorted set, scored by a ticket that gives the time since which each waits.
inline std::string queue(std::string_view name) { return beside(name, side_key::queue); }

/// The readers that have the lock: a sorted set, scored by the time until which each does.
inline std::string readers(std::string_view name) { return beside(name, side_key::readers); }

/// What the owner id of a reader ends in, in all keys.
constexpr std::string_view reader_suffix{":r"};

/// The same for an upgrade lease, which is one of the readers.
constexpr std::string_view upgrade_suffix{":u"};

/// The same, in the queue, for who has the upgrade lease and waits to write.
constexpr std::string_view upgrading_suffix{":w"};

/// The same, among permits, for who has them without a lease.
constexpr std::string_view lasting_suffix{":l"};

/// The same id without that ending, as a writer of the client would have it.
[[nodiscard]] constexpr std::string_view without_suffix(std::string_view owner) noexcept {
  for (auto const suffix : {reader_suffix, upgrade_suffix, upgrading_suffix}) {
    if (owner.ends_with(suffix)) return owner.substr(0, owner.size() - suffix.size());
  }
  return owner;
}

/// A writer at the head of the queue was told to ask, a moment ago.
inline std::string doubt(std::string_view name) { return beside(name, "holdfast_doubt"); }

/// Who last gave up to upgrade its lease.
inline std::string gave_up(std::string_view name) { return beside(name, "holdfast_gave_up"); }

/// What the lock's key holds in place of an owner id while readers have it.
constexpr std::string_view held_by_readers{"holdfast_readers"};
/// How the text of the key begins while one owner alone has one permit, followed by how many there are, a
/// space, and the owner.
constexpr std::string_view held_by_one_permit{"holdfast_permit "};

/// What the leader of an election says of itself: a hash. The channel for those who observe it has the same
/// name.
inline std::string leader(std::string_view name) { return beside(name, "holdfast_leader"); }

/// The owners that wait for permits: a queue of their own, since what they wait for is no lock.
inline std::string permit_queue(std::string_view name) { return beside(name, side_key::permit_queue); }

/// How many permits there are, where somebody has said so.
inline std::string permits(std::string_view name) { return beside(name, side_key::permits); }

/// What the first member of a set of permits begins with; their number follows.
constexpr std::string_view permits_marker{"holdfast_permits:"};

/// On a master of a quorum: the owner that got its vote by a repeated request, and that request's number.
inline std::string newest_ask(std::string_view name) { return beside(name, "holdfast_newest_ask"); }

/// The newest token that came with a write to a fenced resource.
inline std::string fence_mark(std::string_view resource) { return beside(resource, "holdfast_fence"); }

/// Marks one request of a client as having written to a fenced resource, in the slot of the fence mark.
inline std::string fence_done(std::string_view resource, std::string_view client_uuid, std::uint64_t number) {
  return beside(resource, "holdfast_fence_done")
      .append(":")
      .append(client_uuid)
      .append(":")
      .append(std::to_string(number));
}

/// A request to this owner to release the lock, set before a release by force.
inline std::string asked(std::string_view lock, std::string_view owner) {
  return beside(lock, "holdfast_asked").append(":").append(owner);
}

/// For what the threads wait that hold the lock by that owner id; without one, what all such keys begin with.
inline std::string blocked(std::string_view lock) { return beside(lock, "holdfast_blocked"); }
inline std::string blocked(std::string_view lock, std::string_view owner) {
  return blocked(lock).append(":").append(owner);
}

/// The channel on which all clients that wait for one thing are told: a latch that opens, a generation of a
/// barrier that ends.
inline std::string inbox_of_all(std::string_view name) {
  return beside(name, "holdfast_inbox").append(":all");
}

/// Begins the names of the marks that say that a request was carried out, so that it may be sent again.
inline std::string done_prefix(std::string_view name) { return beside(name, "holdfast_done").append(":"); }

/// Who has counted a latch down: a sorted set, scored by the time in microseconds.
inline std::string counted(std::string_view latch) { return beside(latch, "holdfast_counted"); }

/// Who has arrived at a barrier: a sorted set, scored by the time until which each counts.
inline std::string arrived(std::string_view barrier) { return beside(barrier, "holdfast_arrived"); }

/// The last arrival from one place of a client.
inline std::string seat(std::string_view barrier, std::string_view client_uuid, std::string_view number) {
  return beside(barrier, "holdfast_seat").append(":").append(client_uuid).append(":").append(number);
}

/// Who waits on the condition of a lock: a sorted set, scored by the time since which each does.
inline std::string condition(std::string_view lock) { return beside(lock, "holdfast_condition"); }

/// Until when each of them counts as alive: a sorted set, with those that were notified and haven't asked
/// yet.
inline std::string condition_until(std::string_view lock) { return beside(lock, "holdfast_condition_until"); }

/// The record of the last run of a command under this lock: a hash.
inline std::string last_run(std::string_view lock) { return beside(lock, "holdfast_last_run"); }

/// A client's description of itself: a hash. In a slot of its own, since it belongs to no lock.
inline std::string client_record(std::string_view client_uuid) {
  return std::string{"holdfast_client:"}.append(client_uuid);
}

/// True if all keys of the name share its hash slot. Otherwise a cluster refuses every script on the name, on
/// either wire: a name with braces needs a tag in them.
[[nodiscard]] constexpr bool fits_in_a_slot(std::string_view name) noexcept {
  return name.find_first_of("{}") == std::string_view::npos || hash_tag(name).size() != name.size();
}

/// The channel on which a client receives hints about the locks that it holds. Any client that knows the uuid
/// may be allowed to publish there, so its messages are not trusted.
inline std::string hints(std::string_view client_uuid) {
  return std::string{"holdfast_inbox:"}.append(client_uuid);
}

/// The channel on which a client is told that it is next for this lock. Beside the lock's keys: a client that
/// can publish there may use the lock anyway.
inline std::string inbox(std::string_view client_uuid, std::string_view lock) {
  return beside(lock, "holdfast_inbox").append(":").append(client_uuid);
}

}  // namespace holdfast::names
