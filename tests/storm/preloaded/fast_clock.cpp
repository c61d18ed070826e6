/// In LD_PRELOAD of a server: its clocks run faster than those of its clients, by less than they have to bear
/// (a hundredth; engine::drift_allowance). Debian's libfaketime can't do so: a server with jemalloc doesn't
/// start under it.
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <ctime>

namespace {

constexpr std::int64_t in_a_second = 1'000'000'000;
/// It gains a nanosecond in each so many.
constexpr std::int64_t gains_one_in = 125;
constexpr std::size_t clocks = 16;
/// When each clock was read first. Zeros are its beginning: it is needed before anything is constructed.
constinit std::array<std::atomic<std::int64_t>, clocks> beginnings{};

std::int64_t read_fast(clockid_t id, std::int64_t now) {
  auto const which = static_cast<std::size_t>(id);  // that of a process or thread is below zero
  if (which >= clocks) return now;
  auto& beginning = beginnings[which];
  std::int64_t first = 0;
  if (beginning.compare_exchange_strong(first, now)) first = now;
  return now + (now - first) / gains_one_in;
}

}  // namespace

extern "C" int clock_gettime(clockid_t id, timespec* into) noexcept {
  if (::syscall(SYS_clock_gettime, id, into) != 0) return -1;
  auto const time = read_fast(id, into->tv_sec * in_a_second + into->tv_nsec);
  into->tv_sec = time / in_a_second;
  into->tv_nsec = time % in_a_second;
  return 0;
}

extern "C" int gettimeofday(timeval* into, void* /*zone*/) noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  into->tv_sec = now.tv_sec;
  into->tv_usec = now.tv_nsec / 1000;
  return 0;
}
