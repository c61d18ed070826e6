/// Locks on etcd as they look from outside of the engine: what src/sync, src/inspect and src/probe ask of the
/// backend. No code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <holdfast/inspect.hpp>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "etcd/barrier_viewer.hpp"
#include "etcd/fence_viewer.hpp"
#include "etcd/latch_viewer.hpp"
#include "etcd/messages.hpp"

namespace holdfast::etcd {

/// All under the client's lock. Each handler comes later, once, with the failure, or null.
class viewer {
 public:
  template <class Answer>
  using handler = std::function<void(std::shared_ptr<error const>, Answer)>;

  /// The most names of one look.
  static constexpr std::size_t names_in_one = 16;

  viewer() = default;
  viewer(viewer const&) = delete;
  viewer& operator=(viewer const&) = delete;
  virtual ~viewer() = default;

  /// These locks at one moment, with so many entries of their queues.
  virtual void look(std::vector<std::string> names, std::size_t queue_entries,
                    handler<std::vector<lock_state>> done) = 0;

  /// What is asked of a lock again and again. The values of its keys aren't read.
  struct pulse {
    std::size_t state = 0;  ///< differs when keys have come or gone, or have got other values
    bool in_use = false;
    std::string lease{};  ///< of the oldest key that has one
  };
  /// The most names of one such request.
  static constexpr std::size_t pulses_in_one = 50;
  /// These locks at one moment. It is one request.
  virtual void feel(std::vector<std::string> const& names, handler<std::vector<pulse>> done) = 0;

  /// How long these leases last; those aren't in the answer of which that isn't known. A request for each.
  using lease_times = std::map<std::string, milliseconds>;
  virtual void find_times(std::set<std::string> const& of, handler<lease_times> done) = 0;

  /// The leases of those that wait for this lock, in their order: so many at most. Their values aren't read,
  /// which may be long: of a candidate each says what it will proclaim.
  virtual void find_waiters(std::string const& name, std::size_t most,
                            handler<std::vector<std::string>> done) = 0;

  /// A part of the names, in the order of their keys.
  struct page {
    std::vector<std::string> names{};
    std::string next{};  ///< where the next part begins; empty: there is none
  };
  /// The names of locks that begin so, from `from` on (empty: from the first one on).
  virtual void find(std::string const& start, std::string const& from, handler<page> done) = 0;

  /// Who leads an election.
  struct leading {
    bool leads = false;   ///< somebody does; false: the lock is free, or held by one that is no leader
    std::string owner{};  ///< its lease
    std::int64_t term = 0;
    std::string value{};
    milliseconds left{-1};  ///< of that lease, at most; negative: nobody has the lock
  };
  /// errc::wrong_type: the key that has the lock is no place. Whoever listens to names::leader() hears when
  /// to ask again.
  virtual void read_leader(std::string const& name, handler<leading> done) = 0;

  /// Asks that holder to give the lock back. False: it doesn't have it any more.
  virtual void ask_holder(std::string const& name, hold_info const& holder, handler<bool> done) = 0;
  /// Deletes that holder's key. False: it isn't there any more.
  virtual void take(std::string const& name, hold_info const& holder, handler<bool> done) = 0;

  // Permits, whose numbers are no matter of the engine. errc::wrong_type: the name is something else.

  struct permit_counts {
    std::int64_t size = -1;  ///< -1: nobody has said so
    std::int64_t out = 0;
  };
  virtual void count_permits(std::string const& name, handler<permit_counts> done) = 0;

  enum class resizing : std::uint8_t {
    set,
    set_first,  ///< if there is no number, and no permits are out
    add,        ///< to what there is, at least to 0
  };
  /// `offered`: how many there are where nobody has said so. False: there was a number.
  virtual void resize_permits(std::string const& name, resizing how, std::int64_t number,
                              std::int64_t offered, handler<bool> done) = 0;
  /// False: that owner has none any more.
  virtual void give_back_permits(std::string const& name, std::string const& owner, handler<bool> done) = 0;

  [[nodiscard]] virtual latch_viewer& of_latches() noexcept = 0;
  [[nodiscard]] virtual fence_viewer& of_fences() noexcept = 0;
  [[nodiscard]] virtual barrier_viewer& of_barriers() noexcept = 0;

  /// What the members say of themselves.
  virtual void examine(handler<cluster_view> done) = 0;
  /// Whether this client may read, write and delete the keys of its prefix that begin so; nothing is changed.
  /// Null: it may.
  virtual void try_rights(std::string const& start, handler<std::shared_ptr<error const>> done) = 0;
};

}  // namespace holdfast::etcd
