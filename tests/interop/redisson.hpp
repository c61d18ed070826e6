/// Redisson in a process of its own, with its objects as those who write tests know them.
#pragma once

#include "peer.hpp"

#include <ostream>
#include <string>
#include <utility>

namespace holdfast::test {

enum class redisson_version { current, v3_27_2 };

[[nodiscard]] inline std::string folder_of(redisson_version version) {
  return version == redisson_version::current ? "redisson-current" : "redisson-3.27.2";
}

inline std::ostream& operator<<(std::ostream& out, redisson_version version) {
  return out << folder_of(version);
}

/// One of their objects, used by one of their threads (the first, unless by() says otherwise).
template <class Self>
class their_object {
 public:
  their_object(peer& whose, std::string kind, std::string name)
      : peer_{&whose}, kind_{std::move(kind)}, name_{std::move(name)} {}

  [[nodiscard]] Self by(int thread) const {
    auto other = static_cast<Self const&>(*this);
    other.thread_ = thread;
    return other;
  }
  /// What Redisson calls this thread on the wire: "uuid:threadId".
  [[nodiscard]] std::string owner() const { return peer_->ask(thread_, "client", "-", "owner").answer(); }

 protected:
  template <class... Arguments>
  call ask(std::string_view verb, Arguments const&... arguments) const {
    return peer_->ask(thread_, kind_, name_, verb, arguments...);
  }

 private:
  peer* peer_;
  std::string kind_;
  std::string name_;
  int thread_ = 1;
};

/// RLock and all that are RLocks too. Without a lease, the watchdog renews.
class their_lock : public their_object<their_lock> {
 public:
  using milliseconds = std::chrono::milliseconds;
  using their_object::their_object;

  call lock() const { return ask("lock"); }
  call lock(milliseconds lease) const { return ask("lock", lease); }
  call try_lock() const { return ask("try-lock"); }
  call try_lock(milliseconds wait) const { return ask("try-lock", wait); }
  call try_lock(milliseconds wait, milliseconds lease) const { return ask("try-lock", wait, lease); }
  call unlock() const { return ask("unlock"); }
  call force_unlock() const { return ask("force-unlock"); }
  call is_locked() const { return ask("is-locked"); }
  call is_held() const { return ask("is-held"); }
  call hold_count() const { return ask("hold-count"); }
  call ttl() const { return ask("ttl"); }
  /// Reads the counter and writes it, one higher: as two commands, under the lock, and again `times` times.
  call increment(std::string const& counter, int times) const { return ask("increment", counter, times); }

  // RFencedLock only.
  call lock_token() const { return ask("lock-token"); }
  call try_lock_token(milliseconds wait, milliseconds lease) const {
    return ask("try-lock-token", wait, lease);
  }
  call token() const { return ask("token"); }
};

class their_semaphore : public their_object<their_semaphore> {
 public:
  using milliseconds = std::chrono::milliseconds;
  using their_object::their_object;

  call set(int permits) const { return ask("set", permits); }
  call acquire(int permits = 1) const { return ask("acquire", permits); }
  call try_acquire(int permits = 1) const { return ask("try-acquire", permits); }
  call try_acquire(int permits, milliseconds wait) const { return ask("try-acquire", permits, wait); }
  call release(int permits = 1) const { return ask("release", permits); }
  call release_if_exists(int permits) const { return ask("release-if-exists", permits); }
  call add(int permits) const { return ask("add", permits); }
  call drain() const { return ask("drain"); }
  call available() const { return ask("available"); }
  call remove() const { return ask("delete"); }
};

/// RPermitExpirableSemaphore. Acquiring answers with the permit's id, or "none".
class their_permits : public their_object<their_permits> {
 public:
  using milliseconds = std::chrono::milliseconds;
  using their_object::their_object;

  call set(int permits) const { return ask("set", permits); }
  call acquire() const { return ask("acquire"); }
  call acquire(milliseconds lease) const { return ask("acquire", lease); }
  call try_acquire(milliseconds wait) const { return ask("try-acquire", wait); }
  call try_acquire(milliseconds wait, milliseconds lease) const { return ask("try-acquire", wait, lease); }
  call release(std::string const& id) const { return ask("release", id); }
  call try_release(std::string const& id) const { return ask("try-release", id); }
  call add(int permits) const { return ask("add", permits); }
  call available() const { return ask("available"); }
  call lease(std::string const& id) const { return ask("lease", id); }
  call set_lease(std::string const& id, milliseconds lease) const { return ask("set-lease", id, lease); }
  call remove() const { return ask("delete"); }
};

class their_latch : public their_object<their_latch> {
 public:
  using their_object::their_object;

  call set(int count) const { return ask("set", count); }
  call count_down() const { return ask("count-down"); }
  call await() const { return ask("await"); }
  call await(std::chrono::milliseconds wait) const { return ask("await", wait); }
  call count() const { return ask("count"); }
  call remove() const { return ask("delete"); }
};

class redisson : public peer {
 public:
  redisson(whereabouts const& redis, redisson_version version,
           std::chrono::milliseconds watchdog = std::chrono::seconds{30})
      : peer{folder_of(version), redis, {std::to_string(watchdog.count())}} {}

  [[nodiscard]] their_lock lock(std::string name) { return {*this, "lock", std::move(name)}; }
  [[nodiscard]] their_lock fair_lock(std::string name) { return {*this, "fair", std::move(name)}; }
  [[nodiscard]] their_lock spin_lock(std::string name) { return {*this, "spin", std::move(name)}; }
  [[nodiscard]] their_lock fenced_lock(std::string name) { return {*this, "fenced", std::move(name)}; }
  [[nodiscard]] their_lock read_lock(std::string name) { return {*this, "read", std::move(name)}; }
  [[nodiscard]] their_lock write_lock(std::string name) { return {*this, "write", std::move(name)}; }
  [[nodiscard]] their_lock non_reentrant_lock(std::string name) {
    return {*this, "non-reentrant", std::move(name)};
  }
  /// RedissonMultiLock over ordinary locks: "a,b,c".
  [[nodiscard]] their_lock multi_lock(std::string names) { return {*this, "multi", std::move(names)}; }
  /// RedissonRedLock over the locks of that name on all masters.
  [[nodiscard]] their_lock red_lock(std::string name) { return {*this, "red", std::move(name)}; }
  [[nodiscard]] their_semaphore semaphore(std::string name) { return {*this, "semaphore", std::move(name)}; }
  [[nodiscard]] their_permits permits(std::string name) { return {*this, "permits", std::move(name)}; }
  [[nodiscard]] their_latch latch(std::string name) { return {*this, "latch", std::move(name)}; }

  /// The uuid of this client; owner() of an object has it too, and the thread.
  [[nodiscard]] std::string id() { return ask(1, "client", "-", "id").answer(); }
};

}  // namespace holdfast::test
