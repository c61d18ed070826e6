/// The synchronizers that the laws are run over, each with each way of being woken. Adding one is one line
/// in registry.cpp.
#pragma once

#include <holdfast/client.hpp>
#include <holdfast/expiring_semaphore.hpp>
#include <holdfast/fair_mutex.hpp>
#include <holdfast/multi_mutex.hpp>
#include <holdfast/mutex.hpp>
#include <holdfast/quorum_mutex.hpp>
#include <holdfast/recursive_mutex.hpp>
#include <holdfast/shared_mutex.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::test {

/// What the laws need of an exclusive synchronizer, whatever its type.
class any_lock {
 public:
  virtual ~any_lock() = default;
  virtual lease acquire(std::stop_token stop = {}) = 0;
  virtual std::optional<lease> try_acquire_for(std::chrono::nanoseconds wait, std::stop_token stop = {}) = 0;
  virtual void async_acquire(exclusive_lock::acquire_handler done, std::stop_token stop = {}) = 0;
};

/// How the lock goes from one caller of a client to the next.
enum class handoff {
  in_process,  ///< without a request
  by_server,   ///< which knows the order of all callers of all clients
};

/// What stands in the key of a lock that is held.
enum class layout {
  owner,        ///< the owner id: the plain wire
  owner_field,  ///< a hash with the owner as its field: Redisson's
  read_write,   ///< a hash with a mode, and those who are in it
};

struct subject {
  std::string_view title;
  holdfast::wake wake;
  std::unique_ptr<any_lock> (*make)(client&, std::string name, lock_options);
  handoff passing = handoff::in_process;
  test::layout layout = test::layout::owner;

  /// No tokens that grow across an empty server, no order over processes that a test could see in the plain
  /// queue, and messages that all hear who wait.
  [[nodiscard]] bool on_redisson() const noexcept { return layout != test::layout::owner; }

  friend std::ostream& operator<<(std::ostream& out, subject const& s) { return out << s.title; }
};

/// Those that are run on what is under test: of all, or the one kind that several masters vote about.
std::vector<subject> const& registry();

/// What a worker can hold besides: not exclusive, so the laws don't apply.
extern subject const shared_reader;
extern subject const a_permit;

/// Of any.
subject const& subject_titled(std::string_view title);

}  // namespace holdfast::test
