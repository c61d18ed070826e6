// redis-plus-plus in the race: RedMutex, as its README has it, with one LockWatcher for all, and a pool of as
// many connections as threads may ask for.

#include <sw/redis++/patterns/redlock.h>
#include <sw/redis++/redis++.h>
#include <sw/redis++/version.h>

#include <atomic>
#include <iostream>
#include <stdexcept>

#include "race.hpp"

namespace holdfast::race {
namespace {

namespace redis_plus_plus = sw::redis;

class one_lock : public racing_lock {
 public:
  one_lock(std::shared_ptr<redis_plus_plus::Redis> const& redis, std::string const& name,
           std::optional<std::chrono::milliseconds> ttl,
           std::shared_ptr<redis_plus_plus::LockWatcher> const& watcher)
      : lock_{redis, name, [told = told_](std::exception_ptr) { *told = true; }, options(ttl), watcher} {}

  void lock() override { lock_.lock(); }
  void unlock() override { lock_.unlock(); }
  [[nodiscard]] bool tells() const override { return true; }
  [[nodiscard]] bool told() const override { return *told_; }

 private:
  static redis_plus_plus::RedMutexOptions options(std::optional<std::chrono::milliseconds> ttl) {
    redis_plus_plus::RedMutexOptions all;
    if (ttl) all.ttl = *ttl;
    return all;
  }

  /// The watcher may be about to tell it when the lock is destroyed.
  std::shared_ptr<std::atomic<bool>> told_ = std::make_shared<std::atomic<bool>>(false);
  redis_plus_plus::RedMutex lock_;
};

class redis_plus_plus_racer : public racer {
 public:
  explicit redis_plus_plus_racer(int port) : redis_{connect(port)} { redis_->ping(); }

  [[nodiscard]] std::string version() const override {
    using namespace redis_plus_plus;
    return std::to_string(VERSION_MAJOR) + '.' + std::to_string(VERSION_MINOR) + '.' +
           std::to_string(VERSION_PATCH);
  }

  std::unique_ptr<racing_lock> make(std::string const& name, std::optional<std::chrono::milliseconds> ttl,
                                    bool) override {
    return std::make_unique<one_lock>(redis_, name, ttl, watcher_);
  }

 private:
  static std::shared_ptr<redis_plus_plus::Redis> connect(int port) {
    redis_plus_plus::ConnectionOptions where;
    where.host = "127.0.0.1";
    where.port = port;
    redis_plus_plus::ConnectionPoolOptions pool;
    pool.size = 256;
    return std::make_shared<redis_plus_plus::Redis>(where, pool);
  }

  std::shared_ptr<redis_plus_plus::Redis> redis_;
  std::shared_ptr<redis_plus_plus::LockWatcher> watcher_ = std::make_shared<redis_plus_plus::LockWatcher>();
};

}  // namespace
}  // namespace holdfast::race

int main(int argc, char** argv) try {
  if (argc < 2) throw std::runtime_error{"usage: redis_plus_plus_race PORT"};
  holdfast::race::redis_plus_plus_racer library{std::stoi(argv[1])};
  holdfast::race::serve(library);
} catch (std::exception const& e) {
  std::cerr << e.what() << '\n';
  return 1;
}
