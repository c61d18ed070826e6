/// An event loop of the program, on which a client runs instead of a thread of its own.
#pragma once

#include <holdfast/export.hpp>

#include <memory>

namespace holdfast {

/// What a client needs of an event loop of the program: that it watches one file descriptor, and calls back.
/// `run_on(io)` of <holdfast/asio.hpp> makes one of an io_context, of Boost.Asio or standalone Asio. For
/// libuv, GLib, Qt and others derive one: it takes a page (examples/event_loop.cpp).
///
///     holdfast::client redis{"redis://localhost", {}, holdfast::run_on(io)};
///
/// *What changes.* The client has no thread. Renewals, messages, time-outs and callbacks happen while the
/// program runs the event loop, on the threads that run it, and for the rest as client says:
/// - While the event loop stands still (a handler that takes long, a stop), nothing is renewed, and lost() is
///   told late. A lease that wasn't renewed in time is over at its deadline all the same: lease::valid() and
///   remaining() go by the clock. Let no handler take longer than a third of the ttl.
/// - A blocking call needs no event loop, since the thread that waits drives the client itself. So it can be
///   made on any thread, also before the event loop runs, when it has been stopped, and in one of its
///   handlers, which holds up the other handlers of that thread as any blocking call does.
/// - A callback of this client can't wait for a lock: there is no thread for the callbacks behind it. It gets
///   std::errc::resource_deadlock_would_occur at once. Those behind one that renews a lease, or downgrades
///   it, wait for its answer. Handlers of Asio's aren't such callbacks.
///
/// *Cost.* Three system calls a turn of the event loop, whatever has come by then: to wait for the
/// descriptor, to look what has come, and to wait again. A blocking call wakes the event loop once. A thread
/// is still started to resolve a host name (not for addresses and localhost), and etcd:// has those of gRPC.
///
/// *Life.* The destructor of the client, shutdown() and exit() need no event loop: what is held is given back
/// within the same bounds if it was stopped, or is gone. If the event loop ends first, the log hook is told:
/// from then on nothing is renewed, and callbacks come when a thread waits in a call of the client, or with
/// errc::closed when it ends.
///
/// *Fork.* A forked child may run, stop or destroy its copy of the event loop (an io_context is run after
/// notify_fork() only): its parent's client isn't driven there, and loses nothing by it. An event loop of
/// yours mustn't take the descriptor out of an epoll that the child shares with its parent.
class HOLDFAST_EXPORT event_loop {
 public:
  /// The client, as its event loop knows it. Both functions of a turn may call callbacks of the client. They
  /// do nothing once the client has ended, and in a forked child.
  class HOLDFAST_EXPORT guest {
   public:
    guest() = default;  ///< Made by the client.
    guest(guest const&) = delete;
    guest& operator=(guest const&) = delete;
    virtual ~guest();  ///< With the last pointer to it, perhaps after the client.

    /// The descriptor is readable, for one watch().
    virtual void on_readable() noexcept = 0;
    /// For one call_soon().
    virtual void on_called() noexcept = 0;
    /// Instead of both: the event loop ends before the client. On a thread that holds no lock of the event
    /// loop.
    virtual void on_end() noexcept = 0;
  };

  event_loop() = default;  ///< One for each client.
  event_loop(event_loop const&) = delete;
  event_loop& operator=(event_loop const&) = delete;
  virtual ~event_loop();  ///< With the last pointer to it: the client has one.

  // Called by the client, from any thread, one at a time but for leave(), and with a lock held: none of them
  // may call the guest, or wait for a thread that does.

  /// The first call, at the first use of the client: who is to be called, and for which descriptor, which
  /// stays the client's. Throws std::system_error or std::bad_alloc, and then the call of the program fails.
  virtual void join(int descriptor, std::shared_ptr<guest> client) = 0;

  /// Calls on_readable() once, as soon as the descriptor is readable; at once if it is. Only within a turn
  /// (on_readable, on_called), and not again before on_readable().
  virtual void watch() noexcept = 0;

  /// Calls on_called() once, soon, behind what the event loop is about to call already. Not again before
  /// on_called().
  virtual void call_soon() noexcept = 0;

  /// The last call: the descriptor isn't used any more when it returns, and the guest needn't be called.
  /// Without a lock; perhaps within a turn, or beside one, and again.
  virtual void leave() noexcept = 0;
};

}  // namespace holdfast
