// A unit test of a job that works under a lock, without a server and without waiting: the test moves the
// clock.
//
//     build/dev/examples/unit_test

#include <chrono>
#include <holdfast/mutex.hpp>
#include <holdfast/testing.hpp>
#include <iostream>
#include <optional>

using namespace std::chrono_literals;

namespace {

/// The job: imports file after file, while the lock is its own.
class file_import {
 public:
  explicit file_import(holdfast::client& redis) : lock_{redis, "import", {.ttl = 30s}} {}

  bool begin() {
    held_ = lock_.try_acquire();
    return held_.has_value();
  }
  /// False: the lock is lost, and nothing was done.
  bool next_file() {
    if (held_->lost().stop_requested()) return false;
    ++files_;
    return true;
  }
  [[nodiscard]] int files() const { return files_; }

 private:
  holdfast::mutex lock_;
  std::optional<holdfast::lease> held_;
  int files_ = 0;
};

bool check(bool fine, char const* sentence) {
  std::cout << (fine ? "ok      " : "FAILED  ") << sentence << '\n';
  return fine;
}

}  // namespace

int main() {
  holdfast::memory::manual_clock time;
  holdfast::memory::deployment servers;
  auto redis = servers.connect();
  auto elsewhere = servers.connect();
  file_import job{redis};
  file_import other{elsewhere};

  auto fine = check(job.begin() && !other.begin(), "one job at a time");
  time.advance(2h);
  fine &= check(job.next_file(), "the lease is renewed for as long as the job takes");
  {
    auto const away = servers.unreachable();
    time.advance(31s);
    fine &= check(!job.next_file() && job.files() == 1, "a job that has lost its lock stops");
  }
  time.advance(2s);  // until the clients are connected again
  fine &= check(other.begin(), "another job goes on");
  return fine ? 0 : 1;
}
