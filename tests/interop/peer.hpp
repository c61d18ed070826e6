/// Locks of other libraries, each in a process of its own that a test drives; peers/README.md has the
/// protocol.
#pragma once

#include "support/cluster_servers.hpp"
#include "support/independent_servers.hpp"
#include "support/line_process.hpp"
#include "support/redis_server.hpp"
#include "support/sentinel_servers.hpp"

#include <chrono>
#include <concepts>
#include <condition_variable>
#include <iosfwd>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace holdfast::test {

/// A request to a peer, and its answer when that comes: comparing a call with a text waits for the answer.
///
///   EXPECT_EQ(java_lock.try_lock(), "true");
///   auto const waiting = java_lock.by(2).lock();
///   EXPECT_FALSE(waiting.is_answered());
///   EXPECT_EQ(waiting, "ok");
class [[nodiscard]] call {
 public:
  [[nodiscard]] bool is_answered() const;
  /// Throws std::runtime_error if no answer comes in time, or if the peer has ended.
  std::string answer(std::chrono::milliseconds within = std::chrono::seconds{20}) const;
  [[nodiscard]] long long number() const { return std::stoll(answer()); }

  friend bool operator==(call const& c, std::string_view expected) { return c.answer() == expected; }
  friend std::ostream& operator<<(std::ostream& out, call const& c);

 private:
  friend class peer;
  struct answers {
    std::mutex guard;
    std::condition_variable changed;
    std::map<int, std::string> by_id;
    bool gone = false;
  };
  call(std::shared_ptr<answers> from, int id, std::string request_text)
      : answers_{std::move(from)}, id_{id}, request_{std::move(request_text)} {}

  std::shared_ptr<answers> answers_;
  int id_;
  std::string request_;
};

/// The location of Redis for a peer, in the words of peers/README.md. The servers must listen on TCP.
class redis_location {
 public:
  redis_location(redis_server const& server);          // NOLINT(google-explicit-constructor): the usual case
  redis_location(independent_servers const& masters);  // NOLINT(google-explicit-constructor)
  redis_location(cluster_servers& cluster);            // NOLINT(google-explicit-constructor)
  redis_location(sentinel_servers& watched);           // NOLINT(google-explicit-constructor)

  /// A cluster in which messages go to all nodes (Redisson's ShardedSubscriptionMode.OFF, and before 3.22).
  [[nodiscard]] redis_location without_shards() const;

  [[nodiscard]] std::string const& words() const { return words_; }

 private:
  void add(redis_server const& server);

  std::string words_{};
};

class peer {
 public:
  [[nodiscard]] static bool is_prepared(std::string const& name);

  /// `name` is the peer's folder in build/peers. Returns when the peer is ready.
  peer(std::string const& name, redis_location const& redis, std::vector<std::string> arguments = {});
  ~peer();  ///< kills it
  peer(peer const&) = delete;
  peer& operator=(peer const&) = delete;

  /// Calls of one `thread` run one after the other, calls of different threads run concurrently.
  template <class... Arguments>
  call request(int thread, std::string_view kind, std::string_view name, std::string_view verb,
               Arguments const&... arguments) {
    return send(thread, {std::string{kind}, std::string{name}, std::string{verb}, word(arguments)...});
  }

  [[nodiscard]] std::string const& version() const { return version_; }
  [[nodiscard]] pid_t pid() const { return process_.pid(); }
  void freeze() const { process_.freeze(); }
  void thaw() const { process_.thaw(); }
  void kill9() { process_.kill9(); }

 private:
  call send(int thread, std::vector<std::string> const& words);
  void listen();

  static std::string word(std::chrono::milliseconds time) { return std::to_string(time.count()); }
  static std::string word(std::integral auto number) { return std::to_string(number); }
  static std::string word(std::string const& text) { return text; }

  line_process process_;
  std::string version_;
  int last_id_ = 0;
  std::shared_ptr<call::answers> answers_ = std::make_shared<call::answers>();
  std::jthread listener_;
};

/// The lock that every peer has: with a fixed lease.
class plain_lock {
 public:
  plain_lock(peer& peer_process, std::string name, int thread = 1)
      : peer_{&peer_process}, name_{std::move(name)}, thread_{thread} {}

  call try_lock(std::chrono::milliseconds wait, std::chrono::milliseconds lease) const {
    return peer_->request(thread_, "lock", name_, "try-lock", wait, lease);
  }
  call unlock() const { return peer_->request(thread_, "lock", name_, "unlock"); }
  /// Reads the counter and writes it, one higher: as two commands, under the lock, `times` times.
  call increment(std::string const& counter, int times, std::chrono::milliseconds lease) const {
    return peer_->request(thread_, "lock", name_, "increment", counter, times, lease);
  }

 private:
  peer* peer_;
  std::string name_;
  int thread_;
};

}  // namespace holdfast::test
