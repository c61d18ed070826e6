/// Every key and channel name of the plain wire, in one place.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/hash_slot.hpp"

namespace holdfast::names {

/// A key or channel beside the lock's own, in the same hash slot wherever a tag can bring it there, and with
/// the name, or `{` and the name, at its beginning: so rights to a prefix of names cover all that belongs to
/// them.
///
/// A name without braces becomes the tag. Any other name is used as it is, before two colons: with a tag of
/// its own it keeps its slot, and the lock "{a}" never shares a side key with the lock "a".
inline std::string beside(std::string_view name, std::string_view what) {
  std::string result;
  if (name.find_first_of("{}") == std::string_view::npos) {
    result.append("{").append(name).append("}:");
  } else {
    result.append(name).append("::");
  }
  return result.append(what);
}

/// The fencing token counter.
inline std::string token_counter(std::string_view name) { return beside(name, "holdfast_token"); }

/// The waiting owners: a sorted set, scored by the ticket that says since when each waits.
inline std::string queue(std::string_view name) { return beside(name, "holdfast_queue"); }

/// Of a master that votes: who got its vote by asking again, and which ask that was.
inline std::string newest_ask(std::string_view name) { return beside(name, "holdfast_newest_ask"); }

/// The newest token that came with a write to a fenced resource.
inline std::string fence_mark(std::string_view resource) { return beside(resource, "holdfast_fence"); }

/// That one request of a client wrote to a fenced resource, in the slot of its mark.
inline std::string fence_done(std::string_view resource, std::string_view client_uuid, std::uint64_t number) {
  return beside(resource, "holdfast_fence_done")
      .append(":")
      .append(client_uuid)
      .append(":")
      .append(std::to_string(number));
}

/// That somebody who releases the lock by force asks this owner to let go.
inline std::string asked(std::string_view lock, std::string_view owner) {
  return beside(lock, "holdfast_asked").append(":").append(owner);
}

/// What a client says of itself: a hash. In a slot of its own, since it belongs to no lock.
inline std::string client_record(std::string_view client_uuid) {
  return std::string{"holdfast_client:"}.append(client_uuid);
}

/// Do all keys of the name share its hash slot? Otherwise a cluster refuses every script on it, on either
/// wire: a name with braces needs a tag in them.
[[nodiscard]] constexpr bool fits_in_a_slot(std::string_view name) noexcept {
  return name.find_first_of("{}") == std::string_view::npos || hash_tag(name).size() != name.size();
}

/// The channel on which one client is given hints about what it holds. Anybody who knows its uuid may be
/// allowed to publish there, so nothing that is said there is believed.
inline std::string inbox(std::string_view client_uuid) {
  return std::string{"holdfast_inbox:"}.append(client_uuid);
}

/// The channel on which one client is told that it's its turn for this lock. Beside the lock's keys: so
/// whoever can publish there may use the lock.
inline std::string inbox(std::string_view client_uuid, std::string_view lock) {
  return beside(lock, "holdfast_inbox").append(":").append(client_uuid);
}

}  // namespace holdfast::names
