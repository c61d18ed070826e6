/// Handlers' memory and executors, and what ends first: the io_context, the client, the operation.
#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "net.hpp"

namespace holdfast::test {
namespace {

class handlers : public on_asio {};

/// Counts the bytes that are in use.
template <class Value>
struct counting_allocator {
  using value_type = Value;
  std::atomic<std::size_t>* in_use;
  std::atomic<std::size_t>* most;

  counting_allocator(std::atomic<std::size_t>& now, std::atomic<std::size_t>& high) noexcept
      : in_use{&now}, most{&high} {}
  template <class Other>
  counting_allocator(counting_allocator<Other> const& other) noexcept
      : in_use{other.in_use}, most{other.most} {}
  Value* allocate(std::size_t count) {
    *most = std::max<std::size_t>(*most, *in_use += count * sizeof(Value));
    return std::allocator<Value>{}.allocate(count);
  }
  void deallocate(Value* memory, std::size_t count) noexcept {
    *in_use -= count * sizeof(Value);
    std::allocator<Value>{}.deallocate(memory, count);
  }
  template <class Other>
  bool operator==(counting_allocator<Other> const& other) const noexcept {
    return in_use == other.in_use;
  }
};

TEST_P(handlers, have_their_memory_from_their_allocator_until_they_are_called) {
  std::atomic<std::size_t> in_use = 0;
  std::atomic<std::size_t> most = 0;
  std::optional<std::size_t> when_called;
  auto const allocator = counting_allocator<std::byte>{in_use, most};
  async_acquire(lock_,
                net::bind_allocator(allocator, here([&](error_code, lease) { when_called = in_use; })));
  EXPECT_GT(in_use, 0U);
  ASSERT_TRUE(run());
  EXPECT_GT(most, 0U);
  EXPECT_EQ(when_called, 0U);
}

TEST_P(handlers, run_on_the_strand_that_they_are_bound_to) {
  auto const strand = net::make_strand(io_);
  bool on_strand = false;
  async_acquire(lock_, net::bind_executor(
                           strand, [&](error_code, lease) { on_strand = strand.running_in_this_thread(); }));
  ASSERT_TRUE(run());
  EXPECT_TRUE(on_strand);
}

TEST_P(handlers, run_on_a_strand_whose_type_is_erased) {
  auto const strand = net::make_strand(io_);
  bool on_strand = false;
  async_acquire(lock_, net::bind_executor(net::any_io_executor{strand}, [&](error_code, lease) {
                  on_strand = strand.running_in_this_thread();
                }));
  ASSERT_TRUE(run());
  EXPECT_TRUE(on_strand);
}

TEST_P(handlers, throw_at_who_runs_the_io_context) {
  async_acquire(lock_, here([](error_code, lease) { throw std::runtime_error{"mine"}; }));
  EXPECT_THROW((void)run(), std::runtime_error);
  EXPECT_TRUE(is_free()) << "the lease that the handler dropped is released";
}

/// An executor that is full.
struct refusing {
  net::io_context* io;

  template <class Function>
  void execute(Function&&) const {
    throw std::runtime_error{"full"};
  }
  [[nodiscard]] net::execution_context& query(net::execution::context_t) const noexcept { return *io; }
  static constexpr net::execution::blocking_t query(net::execution::blocking_t) noexcept {
    return net::execution::blocking.never;
  }
  friend bool operator==(refusing, refusing) noexcept { return true; }
  friend bool operator!=(refusing, refusing) noexcept { return false; }
};

TEST_P(handlers, that_their_executor_refuses_are_destroyed_with_what_they_would_have_got) {
  auto alive = std::make_shared<int>();
  std::weak_ptr<int> const seen = alive;
  net::cancellation_signal signal;
  async_acquire(lock_, net::bind_cancellation_slot(
                           signal.slot(),
                           net::bind_executor(refusing{&io_}, [alive = std::move(alive)](error_code, lease) {
                             ADD_FAILURE() << "nobody could call it";
                           })));
  EXPECT_TRUE(run_until([&] { return seen.expired(); }));
  signal.emit(net::cancellation_type::total);
  EXPECT_TRUE(is_free());
}

class ending : public on_asio {
 protected:
  /// A handler that is alive as long as the result.
  auto tell_tale(std::shared_ptr<int> alive, bool& called) {
    return [alive = std::move(alive), &called](error_code, lease) { called = true; };
  }

  /// One end of an io_context, whatever another one at its place left behind.
  void expect_that_the_end_cancels(std::optional<net::io_context>& io) {
    bool called = false;
    async_acquire(lock_, net::bind_executor(*io, tell_tale(nullptr, called)));
    EXPECT_TRUE(run_until([&] { return redis_.stats().waiting_now == 1; }));
    io.reset();
    EXPECT_TRUE(run_until([&] { return redis_.stats().waiting_now == 0; }));
    EXPECT_FALSE(called);
  }
};

/// Of an io_context for handlers alone.
TEST_P(ending, of_the_io_context_cancels_what_waits) {
  auto held = free_lock_.acquire();
  auto alive = std::make_shared<int>();
  std::weak_ptr<int> const seen = alive;
  bool called = false;
  auto io = std::make_unique<net::io_context>();
  async_acquire(lock_, net::bind_executor(*io, tell_tale(std::move(alive), called)));
  EXPECT_TRUE(run_until([&] { return redis_.stats().waiting_now == 1; }));
  io.reset();
  EXPECT_TRUE(seen.expired());
  EXPECT_FALSE(called);
  EXPECT_TRUE(run_until([&] { return redis_.stats().waiting_now == 0; }));
  held.release();
  EXPECT_TRUE(nothing_left_behind());
}

/// A thread remembers the last context that it has met.
TEST_P(ending, of_an_io_context_says_nothing_of_the_next_at_its_place) {
  std::optional<net::io_context> io{std::in_place};
  outcome<lease> first;
  async_acquire(lock_, net::bind_executor(*io, first.handler()));
  EXPECT_TRUE(run_until([&] { return io->poll() != 0 && first.called; }));
  io.reset();
  io.emplace();
  expect_that_the_end_cancels(io);
}

TEST_P(ending, of_an_io_context_may_begin_its_first_operation) {
  std::optional<net::io_context> io{std::in_place};
  auto held = free_lock_.acquire();
  struct releasing {
    net::io_context* io;
    lease held;
    ~releasing() {
      async_release(held, net::bind_executor(*io, [](error_code, release_result) {}));
    }
  };
  auto last = std::unique_ptr<releasing>{new releasing{&*io, std::move(held)}};
  net::post(*io, [last = std::move(last)] {});
  io.reset();
  io.emplace();
  auto const again = free_lock_.try_acquire_for(wait_limit);
  EXPECT_TRUE(again);
  expect_that_the_end_cancels(io);
}

TEST_P(ending, of_the_io_context_gives_back_leases_whose_handlers_it_had) {
  auto alive = std::make_shared<int>();
  std::weak_ptr<int> const seen = alive;
  bool called = false;
  auto io = std::make_unique<net::io_context>();
  async_acquire(lock_, net::bind_executor(*io, tell_tale(std::move(alive), called)));
  EXPECT_TRUE(run_until([&] { return redis_.stats().held_now == 1; }));
  io.reset();
  EXPECT_TRUE(seen.expired());
  EXPECT_FALSE(called);
  EXPECT_TRUE(is_free());
}

TEST_P(ending, of_the_io_context_at_any_moment_loses_no_lease) {
  auto const beside = run_beside();
  for (int round = 0; round != 50; ++round) {
    auto io = std::make_unique<net::io_context>();
    auto const use = [](mutex& lock) -> net::awaitable<void> {
      for (;;) {
        auto held = co_await async_acquire(lock, net::use_awaitable);
        co_await async_release(held, net::use_awaitable);
      }
    };
    for (auto* const each : {&lock_, &free_lock_, &lock_}) net::co_spawn(*io, use(*each), net::detached);
    io->run_for(std::chrono::microseconds{100 * round});
    io.reset();
  }
  EXPECT_TRUE(free_lock_.try_acquire_for(wait_limit));
  for (auto* const each : {&redis_, &other_client_}) {
    EXPECT_TRUE(eventually([&] { return each->stats().held_now == 0 && each->stats().waiting_now == 0; }));
  }
}

TEST_P(ending, of_the_client_is_told_to_handlers) {
  auto const held = free_lock_.acquire();
  auto shorter = std::make_unique<client>(make(loop_here()));
  mutex lock{*shorter, "orders"};
  outcome<lease> got;
  async_acquire(lock, here(got.handler()));
  EXPECT_TRUE(run_until([&] { return shorter->stats().waiting_now == 1; }));
  shorter.reset();
  ASSERT_TRUE(run());
  EXPECT_TRUE(got.code == make_error_code(errc::closed)) << got.code;
}

/// Of clients whose threads bring a lease meanwhile.
class ending_beside_threads : public ending {};

TEST_P(ending_beside_threads, of_work_that_was_stopped_keeps_the_lease_until_it_goes_on) {
  outcome<lease> got;
  async_acquire(lock_, here(got.handler()));
  io_.stop();
  EXPECT_TRUE(eventually([&] { return redis_.stats().held_now == 1; }));
  EXPECT_FALSE(got.called);
  ASSERT_TRUE(run());
  EXPECT_TRUE(got.value.valid());
}

TEST_P(ending_beside_threads, of_the_client_is_told_by_the_lease_of_a_handler_that_waits) {
  auto shorter = std::make_unique<client>(make(loop_here()));
  mutex lock{*shorter, "orders"};
  outcome<lease> got;
  async_acquire(lock, here(got.handler()));
  io_.stop();
  EXPECT_TRUE(eventually([&] { return shorter->stats().held_now == 1; }));
  shorter.reset();
  EXPECT_TRUE(is_free());
  io_.restart();
  ASSERT_TRUE(run());
  EXPECT_FALSE(got.code) << got.code;
  EXPECT_FALSE(got.value.valid());
  EXPECT_EQ(got.value.lost_because(), loss_cause::closed);
}

/// The client waits for replies for 20 s, and as long for connections.
TEST(lease_of_asio, never_blocks_the_thread_that_destroys_it) {
  auto server = redis_server::make({});
  client redis{server->url(), with_long_timeouts()};
  mutex lock{redis, "orders"};
  multi_mutex several{redis, {"a", "b"}};
  auto one = async_acquire(lock, net::use_future).get();
  auto two = async_acquire(several, net::use_future).get();
  server->freeze();
  std::atomic<bool> gone = false;
  std::jthread const destroys{[&, one = std::move(one), two = std::move(two)]() mutable {
    one = {};
    two = {};
    gone = true;
  }};
  EXPECT_TRUE(eventually([&] { return gone.load(); }));
  server->thaw();
  EXPECT_TRUE(lock.try_acquire_for(wait_limit));
}

INSTANTIATE_TEST_SUITE_P(clients, handlers, both_places(), name_of);
INSTANTIATE_TEST_SUITE_P(clients, ending, both_places(), name_of);
INSTANTIATE_TEST_SUITE_P(clients, ending_beside_threads, testing::Values(place::own_threads), name_of);

}  // namespace
}  // namespace holdfast::test
