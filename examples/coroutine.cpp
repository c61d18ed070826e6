// Coroutines without Asio: any type of coroutine awaits a lock, and goes on in the program's own queue of
// work.
//
//     HOLDFAST_URL=redis://localhost build/dev/examples/coroutine

#include <condition_variable>
#include <coroutine>
#include <cstdlib>
#include <deque>
#include <exception>
#include <holdfast/coroutine.hpp>
#include <holdfast/mutex.hpp>
#include <iostream>
#include <mutex>
#include <utility>

namespace async = holdfast::async;

namespace {

/// A coroutine that nobody waits for.
struct detached {
  struct promise_type {
    detached get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    void unhandled_exception() noexcept { std::terminate(); }
  };
};

/// What the main thread has to do.
class work_queue {
 public:
  void add(async::resumption next) {
    std::scoped_lock const hold{guard_};
    waiting_.push_back(std::move(next));
    changed_.notify_one();
  }
  void run_one() {
    std::unique_lock hold{guard_};
    changed_.wait(hold, [&] { return !waiting_.empty(); });
    auto const next = std::move(waiting_.front());
    waiting_.pop_front();
    hold.unlock();
    next();
  }

 private:
  std::mutex guard_;
  std::condition_variable changed_;
  std::deque<async::resumption> waiting_;
};

detached add(holdfast::mutex& account, work_queue& queue, int& balance) {
  auto const here = [&queue](async::resumption next) { queue.add(std::move(next)); };
  auto lease = co_await async::on(here, async::acquire(account));
  ++balance;  // on the main thread, under the lock
  co_await async::on(here, async::release(lease));
}

}  // namespace

int main() {
  auto const* const url = std::getenv("HOLDFAST_URL");
  holdfast::client redis{url != nullptr ? url : "redis://localhost"};
  holdfast::mutex account{redis, "account:7"};
  work_queue queue;
  int balance = 0;
  for (int i = 0; i != 10; ++i) add(account, queue, balance);
  for (int i = 0; i != 20; ++i) queue.run_one();  // each coroutine goes on twice
  std::cout << "the balance is " << balance << '\n';
  return balance == 10 ? 0 : 1;
}
