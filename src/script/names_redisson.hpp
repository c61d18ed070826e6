/// Every key and channel name of Redisson's wire, in one place. Like Redisson, prefixed() and suffixed() look
/// for the character `{` anywhere in the name, whether or not it begins a tag.
#pragma once

#include <string>
#include <string_view>

namespace holdfast::names::redisson {

inline std::string prefixed(std::string_view prefix, std::string_view name) {
  std::string result{prefix};
  if (name.find('{') == std::string_view::npos) return result.append(":{").append(name).append("}");
  return result.append(":").append(name);
}

inline std::string suffixed(std::string_view name, std::string_view suffix) {
  std::string result;
  if (name.find('{') == std::string_view::npos)
    return result.append("{").append(name).append("}:").append(suffix);
  return result.append(name).append(":").append(suffix);
}

inline std::string lock_channel(std::string_view name) { return prefixed("redisson_lock__channel", name); }

/// The channel of one waiter of a fair lock.
inline std::string waiter_channel(std::string_view name, std::string_view owner) {
  return lock_channel(name).append(":").append(owner);
}

/// A list of owners, and a sorted set of the times at which each counts as dead.
inline std::string fair_queue(std::string_view name) { return prefixed("redisson_lock_queue", name); }
inline std::string fair_timeouts(std::string_view name) { return prefixed("redisson_lock_timeout", name); }

inline std::string token(std::string_view name) { return prefixed("redisson_lock_token", name); }

inline std::string rw_channel(std::string_view name) { return prefixed("redisson_rwlock", name); }

/// The time to live of one hold of a reader. `hold` counts from 1; Holdfast only uses the first.
inline std::string reader_timeout(std::string_view name, std::string_view owner, int hold = 1) {
  return suffixed(name, owner).append(":rwlock_timeout:").append(std::to_string(hold));
}

/// The channel of both kinds of semaphore.
inline std::string semaphore_channel(std::string_view name) { return prefixed("redisson_sc", name); }

/// The permits that are held: a sorted set of ids, scored by their expiry times.
inline std::string permits(std::string_view name) { return suffixed(name, "timeout"); }

inline std::string latch_channel(std::string_view name) {
  return std::string{"redisson_countdownlatch__channel__{"}.append(name).append("}");
}

/// Not of Redisson; beside an object without owners. Marks a request as carried out, so that it may be sent
/// again.
inline std::string done(std::string_view name, std::string_view owner) {
  return suffixed(name, "holdfast_done").append(":").append(owner);
}

}  // namespace holdfast::names::redisson
