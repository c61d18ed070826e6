/// Barriers on etcd, as src/sync and src/inspect ask for them: what is no matter of the engine. No code.
#pragma once

#include <cstdint>
#include <functional>
#include <holdfast/error.hpp>
#include <memory>
#include <string>

namespace holdfast::etcd {

/// All under the client's lock. Each handler comes later, once, with the failure, or null.
class barrier_viewer {
 public:
  template <class Answer>
  using handler = std::function<void(std::shared_ptr<error const>, Answer)>;

  barrier_viewer() = default;
  barrier_viewer(barrier_viewer const&) = delete;
  barrier_viewer& operator=(barrier_viewer const&) = delete;
  virtual ~barrier_viewer() = default;

  /// The time of the arrival from that seat is up: gives it up, and says which generation has opened for it
  /// meanwhile; 0: none.
  virtual void time_up(std::string const& seat, handler<std::int64_t> done) = 0;
  /// Breaks the generation of that barrier. False: nobody has arrived for it.
  virtual void break_by_force(std::string const& name, handler<bool> done) = 0;
};

}  // namespace holdfast::etcd
