/// An io_context as the event loop of a client. <holdfast/asio.hpp> includes it.
#pragma once

#include <holdfast/asio_context.hpp>
#include <holdfast/error.hpp>
#include <holdfast/event_loop.hpp>
#include <holdfast/room_for_one.hpp>

#ifdef HOLDFAST_STANDALONE_ASIO
#include <asio/io_context.hpp>
#include <asio/posix/basic_stream_descriptor.hpp>
#include <asio/post.hpp>
#else
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/basic_stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#endif

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <system_error>
#include <utility>

#include <unistd.h>

namespace holdfast::inline HOLDFAST_WITH_ASIO {

namespace asio_parts {

class io_context_loop final : public event_loop,
                              public tracked,
                              public std::enable_shared_from_this<io_context_loop> {
 public:
  explicit io_context_loop(net::io_context& io) : io_{&io}, operations_{operations_at(io.get_executor())} {}

  void join(int descriptor, std::shared_ptr<guest> client) override {
    std::scoped_lock const hold{guard_};
    if (guest_) throw error{std::errc::invalid_argument, "each client needs a run_on() of its own"};
    if (ended_) return;
    if (!operations_->add(*this)) {
      ended_ = true;
      return;
    }
    listed_ = shared_from_this();
    guest_ = std::move(client);
    process_ = ::getpid();
    try {
      descriptor_.emplace(*io_, descriptor);
    } catch (system_error const& failure) {
      undo_join();
      throw std::system_error{failure.code()};  // Boost's isn't one
    } catch (...) {
      undo_join();
      throw;
    }
  }

  void watch() noexcept override {
    std::scoped_lock const hold{guard_};
    if (ended_) return;
    descriptor_->async_wait(descriptor_type::wait_read, readable{shared_from_this()});
    count(-1);
  }

  void call_soon() noexcept override {
    std::scoped_lock const hold{guard_};
    if (ended_) return;
    net::post(*io_, called{shared_from_this()});
  }

  void leave() noexcept override {
    std::scoped_lock const hold{guard_};
    if (std::exchange(ended_, true) || !descriptor_) return;
    (void)descriptor_->release();
    descriptor_.reset();
    unlist();
  }

  /// The context ends. Not in a forked child: to release the descriptor would take it out of the epoll that
  /// the child shares with its parent.
  void orphan() noexcept override {
    if (process_ != ::getpid()) return;
    auto const self = std::exchange(listed_, nullptr);
    std::shared_ptr<guest> client;
    {
      std::scoped_lock const hold{guard_};
      if (!std::exchange(ended_, true) && descriptor_) {
        (void)descriptor_->release();
        descriptor_.reset();
        client = guest_;
      }
    }
    if (client) client->on_end();
  }

 private:
  using descriptor_type = net::posix::basic_stream_descriptor<net::io_context::executor_type>;

  /// Watching isn't work of the io_context, whose run() would return at the end of the client only. So the
  /// work that Asio counts for the operation is taken back while it waits; in handlers of the io_context,
  /// where there is other work: that of the handler itself.
  void count(int change) const noexcept {
    auto const executor = io_->get_executor();
    if constexpr (requires { executor.on_work_started(); }) {
      change > 0 ? executor.on_work_started() : executor.on_work_finished();
    }
  }

  void undo_join() noexcept {
    guest_.reset();
    unlist();
  }

  void unlist() noexcept {
    if (!operations_->take(*this)) return;  // orphan() has it
    operations_->posted();
    listed_.reset();
  }

  struct readable {
    using allocator_type = detail::room_for_one::allocator<std::byte>;
    [[nodiscard]] allocator_type get_allocator() const noexcept { return allocator_type{of->room_to_watch_}; }
    void operator()(error_code failure) const {
      of->count(1);
      if (!failure) of->guest_->on_readable();
    }
    std::shared_ptr<io_context_loop> of;
  };

  struct called {
    using allocator_type = detail::room_for_one::allocator<std::byte>;
    [[nodiscard]] allocator_type get_allocator() const noexcept { return allocator_type{of->room_to_call_}; }
    void operator()() const { of->guest_->on_called(); }
    std::shared_ptr<io_context_loop> of;
  };

  net::io_context* const io_;
  std::shared_ptr<operations> const operations_;
  std::mutex guard_;
  bool ended_ = false;  ///< the client, or the io_context
  std::shared_ptr<guest> guest_;
  ::pid_t process_ = 0;  ///< that of the client
  std::optional<descriptor_type> descriptor_;
  std::shared_ptr<io_context_loop> listed_;  ///< while the operations have it
  detail::room_for_one room_to_watch_;
  detail::room_for_one room_to_call_;
};

}  // namespace asio_parts

/// For a client that runs on an io_context, instead of a thread of its own:
///
///     asio::io_context io;
///     holdfast::client redis{"redis://localhost", {}, holdfast::run_on(io)};
///
/// What that promises and costs is said in <holdfast/event_loop.hpp>. The io_context may be run by several
/// threads. Handlers of operations still run on their own executors, best on the same io_context. One call
/// for each client.
///
/// The client is no work of the io_context: run() returns when the program's own operations have ended (those
/// of <holdfast/asio.hpp> are some), and until it runs again nothing is renewed. A program that holds leases
/// meanwhile, or uses callbacks, has a work guard.
///
/// The io_context should end after the client. If it was stopped, or ended before, nothing hangs: see there.
[[nodiscard]] inline std::shared_ptr<event_loop> run_on(asio_parts::net::io_context& io) {
  return std::make_shared<asio_parts::io_context_loop>(io);
}

}  // namespace holdfast::inline HOLDFAST_WITH_ASIO
