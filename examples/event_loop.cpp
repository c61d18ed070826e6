// A client without a thread, on an event loop that isn't Asio's. With Asio this is `run_on(io)`. Others watch
// a descriptor, too: uv_poll_t of libuv, g_unix_fd_add of GLib, QSocketNotifier of Qt. This one is poll(2).
//
//     HOLDFAST_URL=redis://localhost build/dev/examples/event_loop

#include <holdfast/client.hpp>
#include <holdfast/mutex.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <memory>
#include <optional>
#include <utility>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace {

class poll_loop final : public holdfast::event_loop {
 public:
  ~poll_loop() override { ::close(bell_); }

  void join(int descriptor, std::shared_ptr<guest> client) override {
    descriptor_ = descriptor;
    client_ = std::move(client);
  }
  void watch() noexcept override { watched_ = true; }
  void call_soon() noexcept override {
    called_ = true;
    std::uint64_t const one = 1;  // ends the sleep of another thread
    [[maybe_unused]] auto const rung = ::write(bell_, &one, sizeof one);
  }
  void leave() noexcept override { watched_ = called_ = false; }

  /// Sleeps until something has come, and handles it.
  void turn() {
    std::array<pollfd, 2> waits{pollfd{bell_, POLLIN, 0}, pollfd{watched_ ? descriptor_ : -1, POLLIN, 0}};
    ::poll(waits.data(), waits.size(), -1);
    std::uint64_t rung = 0;
    [[maybe_unused]] auto const heard = ::read(bell_, &rung, sizeof rung);
    if (called_.exchange(false)) client_->on_called();
    if (waits[1].revents != 0 && watched_.exchange(false)) client_->on_readable();
  }

 private:
  int const bell_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  int descriptor_ = -1;
  std::shared_ptr<guest> client_;
  std::atomic<bool> watched_ = false;
  std::atomic<bool> called_ = false;
};

}  // namespace

int main() {
  auto const* const url = std::getenv("HOLDFAST_URL");
  auto const loop = std::make_shared<poll_loop>();
  holdfast::client redis{url != nullptr ? url : "redis://localhost", {}, loop};
  holdfast::mutex orders{redis, "orders:42"};
  bool done = false;
  orders.async_acquire(
      [&done](std::optional<holdfast::lease> const& held, std::exception_ptr const& failure) {
        if (held && !failure) std::cout << "it is ours, token " << held->token() << '\n';
        done = true;
      });
  while (!done) loop->turn();
}
