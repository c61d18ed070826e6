/// Redisson in a process of its own. Its objects have the names of Redisson's API.
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

/// An object of Redisson, used by one of its threads (the first, unless by() says otherwise).
template <class Self>
class r_object {
 public:
  r_object(peer& peer_process, std::string kind, std::string name)
      : peer_{&peer_process}, kind_{std::move(kind)}, name_{std::move(name)} {}

  [[nodiscard]] Self by(int thread) const {
    auto copy = static_cast<Self const&>(*this);
    copy.thread_ = thread;
    return copy;
  }
  /// Redisson's id of this thread on the wire: "uuid:threadId".
  [[nodiscard]] std::string owner() const { return peer_->request(thread_, "client", "-", "owner").answer(); }

 protected:
  template <class... Arguments>
  call request(std::string_view verb, Arguments const&... arguments) const {
    return peer_->request(thread_, kind_, name_, verb, arguments...);
  }

 private:
  peer* peer_;
  std::string kind_;
  std::string name_;
  int thread_ = 1;
};

/// RLock and its subtypes. Without a lease, the watchdog renews.
class r_lock : public r_object<r_lock> {
 public:
  using milliseconds = std::chrono::milliseconds;
  using r_object::r_object;

  call lock() const { return request("lock"); }
  call lock(milliseconds lease) const { return request("lock", lease); }
  call try_lock() const { return request("try-lock"); }
  call try_lock(milliseconds wait) const { return request("try-lock", wait); }
  call try_lock(milliseconds wait, milliseconds lease) const { return request("try-lock", wait, lease); }
  call unlock() const { return request("unlock"); }
  call force_unlock() const { return request("force-unlock"); }
  call is_locked() const { return request("is-locked"); }
  call is_held() const { return request("is-held"); }
  call hold_count() const { return request("hold-count"); }
  call ttl() const { return request("ttl"); }
  /// Reads the counter and writes it, one higher: as two commands, under the lock, `times` times.
  call increment(std::string const& counter, int times) const { return request("increment", counter, times); }

  // RFencedLock only.
  call lock_token() const { return request("lock-token"); }
  call try_lock_token(milliseconds wait, milliseconds lease) const {
    return request("try-lock-token", wait, lease);
  }
  call token() const { return request("token"); }
};

class r_semaphore : public r_object<r_semaphore> {
 public:
  using milliseconds = std::chrono::milliseconds;
  using r_object::r_object;

  call set(int permits) const { return request("set", permits); }
  call acquire(int permits = 1) const { return request("acquire", permits); }
  call try_acquire(int permits = 1) const { return request("try-acquire", permits); }
  call try_acquire(int permits, milliseconds wait) const { return request("try-acquire", permits, wait); }
  call release(int permits = 1) const { return request("release", permits); }
  call release_if_exists(int permits) const { return request("release-if-exists", permits); }
  call add(int permits) const { return request("add", permits); }
  call drain() const { return request("drain"); }
  call available() const { return request("available"); }
  call remove() const { return request("delete"); }
};

/// RPermitExpirableSemaphore. The answer to an acquisition is the permit's id, or "none".
class r_permits : public r_object<r_permits> {
 public:
  using milliseconds = std::chrono::milliseconds;
  using r_object::r_object;

  call set(int permits) const { return request("set", permits); }
  call acquire() const { return request("acquire"); }
  call acquire(milliseconds lease) const { return request("acquire", lease); }
  call try_acquire(milliseconds wait) const { return request("try-acquire", wait); }
  call try_acquire(milliseconds wait, milliseconds lease) const {
    return request("try-acquire", wait, lease);
  }
  call release(std::string const& id) const { return request("release", id); }
  call try_release(std::string const& id) const { return request("try-release", id); }
  call add(int permits) const { return request("add", permits); }
  call available() const { return request("available"); }
  call lease(std::string const& id) const { return request("lease", id); }
  call set_lease(std::string const& id, milliseconds lease) const { return request("set-lease", id, lease); }
  call remove() const { return request("delete"); }
};

class r_latch : public r_object<r_latch> {
 public:
  using r_object::r_object;

  call set(int count) const { return request("set", count); }
  call count_down() const { return request("count-down"); }
  call await() const { return request("await"); }
  call await(std::chrono::milliseconds wait) const { return request("await", wait); }
  call count() const { return request("count"); }
  call remove() const { return request("delete"); }
};

class redisson : public peer {
 public:
  redisson(redis_location const& redis, redisson_version version,
           std::chrono::milliseconds watchdog = std::chrono::seconds{30})
      : peer{folder_of(version), redis, {std::to_string(watchdog.count())}} {}

  [[nodiscard]] r_lock lock(std::string name) { return {*this, "lock", std::move(name)}; }
  [[nodiscard]] r_lock fair_lock(std::string name) { return {*this, "fair", std::move(name)}; }
  [[nodiscard]] r_lock spin_lock(std::string name) { return {*this, "spin", std::move(name)}; }
  [[nodiscard]] r_lock fenced_lock(std::string name) { return {*this, "fenced", std::move(name)}; }
  [[nodiscard]] r_lock read_lock(std::string name) { return {*this, "read", std::move(name)}; }
  [[nodiscard]] r_lock write_lock(std::string name) { return {*this, "write", std::move(name)}; }
  [[nodiscard]] r_lock non_reentrant_lock(std::string name) {
    return {*this, "non-reentrant", std::move(name)};
  }
  /// RedissonMultiLock over ordinary locks: "a,b,c".
  [[nodiscard]] r_lock multi_lock(std::string names) { return {*this, "multi", std::move(names)}; }
  /// RedissonRedLock over the locks of this name on all masters.
  [[nodiscard]] r_lock red_lock(std::string name) { return {*this, "red", std::move(name)}; }
  [[nodiscard]] r_semaphore semaphore(std::string name) { return {*this, "semaphore", std::move(name)}; }
  [[nodiscard]] r_permits permits(std::string name) { return {*this, "permits", std::move(name)}; }
  [[nodiscard]] r_latch latch(std::string name) { return {*this, "latch", std::move(name)}; }

  /// The uuid of this client. The owner() of an object consists of it and the thread.
  [[nodiscard]] std::string id() { return request(1, "client", "-", "id").answer(); }
};

}  // namespace holdfast::test
