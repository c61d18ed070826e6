/// Child processes and what they share: every measurement runs in a child of its own, so that none inherits
/// the threads, memory or connections of another, and the parent may fork at any time.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <functional>
#include <new>
#include <string>
#include <type_traits>
#include <vector>

namespace holdfast::bench {

/// Confines the calling thread, and the processes and threads it starts later, to one core.
void pin_to_core(int core);

/// User and system time of another process so far, in seconds.
[[nodiscard]] double cpu_seconds_of(pid_t process);

/// User and system time of this process so far, in seconds.
[[nodiscard]] double cpu_seconds();

/// Memory of this process that is resident now.
[[nodiscard]] double resident_bytes();

/// Milliseconds from starting a program (looked up in PATH, output discarded) to its end.
/// Throws when it doesn't end with 0.
[[nodiscard]] double milliseconds_to_run(std::vector<std::string> const& command);

namespace detail {
[[nodiscard]] void* map_shared(std::size_t bytes);
void unmap_shared(void* memory, std::size_t bytes) noexcept;
}  // namespace detail

/// An object in memory that forked children share with their parent.
template <class T>
  requires std::is_trivially_destructible_v<T>
class shared {
 public:
  shared() : object_{new(detail::map_shared(sizeof(T))) T{}} {}
  ~shared() { detail::unmap_shared(object_, sizeof(T)); }
  shared(shared const&) = delete;
  shared& operator=(shared const&) = delete;

  [[nodiscard]] T* operator->() const noexcept { return object_; }
  [[nodiscard]] T& operator*() const noexcept { return *object_; }

 private:
  T* object_;
};

/// Waits for a flag that another process sets. std::atomic::wait() only ever wakes within a process.
void wait_for(std::atomic<bool> const& flag);

/// Forked children. They die with their parent, and with this object.
class children {
 public:
  children() = default;
  ~children();
  children(children const&) = delete;
  children& operator=(children const&) = delete;

  /// Runs `body` in a new process, which ends without destructors or exit handlers when `body` returns.
  void start(std::function<void()> const& body);

  /// Waits until all have ended. Throws when one failed.
  void join();

  /// Throws when one has ended already: for parents that wait for something else meanwhile.
  void check();

 private:
  std::vector<pid_t> running_;
};

/// Waits until `done`, looking after the children. Throws when one dies, or after a minute.
void wait_until(children& running, std::function<bool()> const& done);

/// Runs a measurement in a child process and returns its result.
template <class Measure>
[[nodiscard]] auto in_child(Measure const& measure) {
  using result = std::invoke_result_t<Measure const&>;
  static_assert(std::is_trivially_copyable_v<result>);
  shared<result> answer;
  children child;
  child.start([&] { *answer = measure(); });
  child.join();
  return *answer;
}

}  // namespace holdfast::bench
