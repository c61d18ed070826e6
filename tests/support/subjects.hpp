/// The synchronizers that the laws are run on, each with each way to wake waiters. A new one takes one line
/// in subjects.cpp.
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

/// The functions of an exclusive synchronizer that the laws need, independent of its type.
class any_lock {
 public:
  virtual ~any_lock() = default;
  virtual lease acquire(std::stop_token stop = {}) = 0;
  virtual std::optional<lease> try_acquire_for(std::chrono::nanoseconds wait, std::stop_token stop = {}) = 0;
  virtual void async_acquire(exclusive_lock::acquire_handler done, std::stop_token stop = {}) = 0;
};

/// How a lock passes from one caller of a client to the next.
enum class handoff {
  in_process,  ///< without a request
  by_server,   ///< the server knows the order of all callers of all clients
  by_asking,   ///< each caller asks for itself, and is told to ask again
};

/// The content of the key of a held lock.
enum class layout {
  owner,        ///< the owner id: the plain wire
  owner_field,  ///< a hash with the owner as its field: Redisson's
  read_write,   ///< a hash with a mode and the holders
};

struct subject {
  std::string_view title;
  holdfast::wake wake;
  std::unique_ptr<any_lock> (*make)(client&, std::string name, lock_options);
  handoff passing = handoff::in_process;
  test::layout layout = test::layout::owner;

  /// Redisson's wire: tokens don't grow across a loss of all data, the plain queue shows no order of
  /// processes, and each message reaches all waiters.
  [[nodiscard]] bool on_redisson() const noexcept { return layout != test::layout::owner; }

  friend std::ostream& operator<<(std::ostream& out, subject const& s) { return out << s.title; }
};

/// The subjects for the deployment under test: the quorum locks on a quorum, else all others.
std::vector<subject> const& subjects();

/// More subjects for workers. They aren't exclusive, so the laws don't apply.
extern subject const shared_reader;
extern subject const redisson_reader;
extern subject const expiring_permit;
extern subject const redisson_permit;

/// Any subject, by its title.
subject const& subject_titled(std::string_view title);

}  // namespace holdfast::test
