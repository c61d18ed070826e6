/// Which calls of threads may begin.
#pragma once

#include "engine/client_constants.hpp"
#include "reactor/reactor.hpp"

namespace holdfast::engine {

/// No call may begin after the end of the client, nor in a forked child: the child's client is a copy of the
/// parent's, in which nothing may be touched.
class call_gate {
 public:
  call_gate(reactor::loop& loop, client_constants const& client) noexcept : loop_{loop}, client_{client} {}

  /// Without the lock. Throws errc::forked.
  void check_process() const;

  /// `f` is called under the lock before the first work of all. Throws what `f` throws.
  void at_first_use(void (*f)()) noexcept { at_first_use_ = f; }

  // Under the lock.

  /// Throws errc::closed.
  void check_open() const;
  /// Before any work is begun: checks both, and starts the keeper, which finishes the work.
  void prepare();
  /// The same before a lock is wanted.
  void prepare_acquisition();
  /// The client is about to end: nobody gets a lock any more, but holders may go on.
  void refuse_acquisitions() noexcept { acquisitions_refused_ = true; }
  /// The client ends.
  void close() noexcept { closed_ = true; }
  [[nodiscard]] bool closed() const noexcept { return closed_; }

 private:
  reactor::loop& loop_;
  client_constants const& client_;
  void (*at_first_use_)() = nullptr;
  bool acquisitions_refused_ = false;
  bool closed_ = false;
};

}  // namespace holdfast::engine
