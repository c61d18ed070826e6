/// The list of all loops of the process.
#pragma once

#include <functional>
#include <mutex>

namespace holdfast::reactor {

/// What each loop has for it: its lock, and links under the guard of the list.
class listed_loop {
 public:
  listed_loop(listed_loop const&) = delete;
  listed_loop& operator=(listed_loop const&) = delete;

  /// Calls f for each loop of this process, and takes its lock for that. f may be called again for one that
  /// is made meanwhile: it must do no harm.
  static void for_each(std::function<void(listed_loop&)> const& f);

 protected:
  listed_loop() = default;
  ~listed_loop() = default;

  // Without its lock.
  void enlist() noexcept;
  void strike_off() noexcept;

  std::mutex mutex_;

 private:
  listed_loop* next_ = nullptr;
  listed_loop* previous_ = nullptr;
};

}  // namespace holdfast::reactor
