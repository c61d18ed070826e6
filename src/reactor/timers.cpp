#include "reactor/timers.hpp"

#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cerrno>
#include <exception>
#include <system_error>

#include "reactor/room_for_one.hpp"

namespace holdfast::reactor {
namespace {

int make_timerfd() {
  auto const fd = ::timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC);
  if (fd < 0) throw std::system_error{errno, std::generic_category(), "timerfd_create"};
  return fd;
}

}  // namespace

struct timers::descriptor : boost::asio::posix::basic_stream_descriptor<> {
  using basic_stream_descriptor::basic_stream_descriptor;
};

timers::timers(boost::asio::io_context& io, room_for_one& room, std::function<void()> readable)
    : room_{room}, readable_{std::move(readable)} {
  if (fired_by_simulation) return;
  fd_ = std::make_unique<descriptor>(io);
  auto const fd = make_timerfd();
  boost::system::error_code failure;
  try {
    fd_->assign(fd, failure);
  } catch (std::exception const&) {
    ::close(fd);
    throw;
  }
  if (failure) {
    ::close(fd);
    throw std::system_error{failure};
  }
  watch();
}

timers::~timers() = default;

void timers::arm(timer& timer, time_point when) noexcept {
  timer.unlink();
  timer.when_ = when;
  queue_.insert(timer);
  if (when < set_for_) set(when);
}

time_point timers::earliest() const noexcept {
  return queue_.empty() ? time_point::max() : queue_.begin()->when_;
}

void timers::close() noexcept {
  if (!fd_) return;
  boost::system::error_code ignored;
  fd_->close(ignored);
}

void timers::set(time_point when) noexcept {
  set_for_ = when;
  if (!fd_) return;  // a simulation asks for earliest()
  // Where a test moves the clock, the kernel's says nothing: a timer is due, or waits for look_at_clock().
  if (boot_clock::stand_in.load() != 0) when = when <= boot_clock::now() ? time_point{} : time_point::max();
  // A time of zero would disarm the descriptor, so a time in the past becomes the first nanosecond.
  auto const since_boot = std::max(when.time_since_epoch(), boot_clock::duration{1});
  auto const seconds = std::chrono::floor<std::chrono::seconds>(since_boot);
  itimerspec value{};
  value.it_value.tv_sec = seconds.count();
  value.it_value.tv_nsec = (since_boot - seconds).count();
  ::timerfd_settime(fd_->native_handle(), TFD_TIMER_ABSTIME, &value, nullptr);
}

void timers::watch() {
  auto on_readable = [this](boost::system::error_code failure) {
    if (!failure) readable_();
  };
  fd_->async_wait(boost::asio::posix::stream_descriptor::wait_read, in_room{&room_, on_readable});
}

bool timers::on_readable() {
  std::uint64_t expirations = 0;
  [[maybe_unused]] auto const read = ::read(fd_->native_handle(), &expirations, sizeof expirations);
  auto const fine = fire_due();
  watch();
  return fine;
}

bool timers::fire_due() {
  auto fine = true;
  auto const now = boot_clock::now();
  while (!queue_.empty() && queue_.begin()->when_ <= now) {
    auto& due = *queue_.begin();
    due.unlink();
    try {
      due.fire_();  // may arm the timer again, or destroy it
    } catch (std::exception const&) {
      fine = false;
    }
  }
  set_for_ = time_point::max();
  if (!queue_.empty()) set(queue_.begin()->when_);
  return fine;
}

}  // namespace holdfast::reactor
