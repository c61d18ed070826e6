// Holdfast in the race: mutex|fair_mutex PORT [OPTIONS OF THE URL]. A thread for each contender; what is to
// be in flight at once on different names is asynchronous.

#include <atomic>
#include <deque>
#include <exception>
#include <holdfast/fair_mutex.hpp>
#include <holdfast/mutex.hpp>
#include <holdfast/version.hpp>
#include <iostream>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "race.hpp"

namespace holdfast::race {
namespace {

template <class Mutex>
class one_lock : public racing_lock {
 public:
  one_lock(client& redis, std::string const& name, lock_options const& options)
      : lock_{redis, name, options} {}
  void lock() override { lock_.lock(); }
  void unlock() override { lock_.unlock(); }
  [[nodiscard]] bool tells() const override { return true; }
  [[nodiscard]] bool told() const override { return lock_.current().lost().stop_requested(); }

 private:
  Mutex lock_;
};

/// Acquires and releases one name over and over until `end`.
template <class Mutex>
class asynchronous_cycle {
 public:
  asynchronous_cycle(client& redis, int number, std::int64_t end, std::atomic<std::int64_t>& done,
                     std::atomic<int>& running)
      : lock_{redis, "race:rate:" + std::to_string(number)}, end_{end}, done_{done}, running_{running} {}

  void next() {
    lock_.async_acquire([this](std::optional<lease> granted, std::exception_ptr const& failed) {
      if (failed || !granted) std::terminate();  // nobody is in the way, and the server is up
      granted->async_release([this](release_result) {
        ++done_;
        if (microseconds_now() < end_) return next();
        --running_;
        running_.notify_all();
      });
    });
  }

 private:
  Mutex lock_;
  std::int64_t end_;
  std::atomic<std::int64_t>& done_;
  std::atomic<int>& running_;
};

template <class Mutex>
class holdfast_racer : public racer {
 public:
  explicit holdfast_racer(std::string const& url) : redis_{url} { redis_.connect(); }

  [[nodiscard]] std::string version() const override { return std::string{holdfast::version}; }

  std::unique_ptr<racing_lock> make(std::string const& name, std::optional<milliseconds> ttl, bool) override {
    lock_options options;
    if (ttl) options.ttl = *ttl;
    return std::make_unique<one_lock<Mutex>>(redis_, name, options);
  }

  std::int64_t cycle(int in_flight, std::chrono::microseconds time) override {
    if (in_flight == 1) return racer::cycle(in_flight, time);
    std::atomic<std::int64_t> done{0};
    std::atomic<int> running{in_flight};
    auto const end = microseconds_now() + time.count();
    std::deque<asynchronous_cycle<Mutex>> all;
    for (int i = 0; i < in_flight; ++i) all.emplace_back(redis_, i, end, done, running);
    for (auto& each : all) each.next();
    for (int left = running; left != 0; left = running) running.wait(left);
    return done;
  }

  void hold(int names) override {
    constexpr int in_flight = 1'000;
    std::atomic<int> under_way{0};
    std::atomic<int> left{names};
    held_.resize(static_cast<std::size_t>(names));
    for (int i = 0; i < names; ++i) {
      for (int now = under_way; now >= in_flight; now = under_way) under_way.wait(now);
      ++under_way;
      Mutex lock{redis_, "race:held:" + std::to_string(i)};
      lock.async_acquire([&, i](std::optional<lease> granted, std::exception_ptr const& failed) {
        if (failed || !granted) std::terminate();
        held_[static_cast<std::size_t>(i)] = std::move(*granted);
        --under_way;
        under_way.notify_one();
        --left;
        left.notify_one();
      });
    }
    for (int now = left; now != 0; now = left) left.wait(now);
  }

 private:
  client redis_;
  std::vector<lease> held_;
};

template <class Mutex>
[[noreturn]] void race(std::string const& url) {
  holdfast_racer<Mutex> library{url};
  serve(library);
}

}  // namespace
}  // namespace holdfast::race

int main(int argc, char** argv) try {
  std::string const kind = argc > 2 ? argv[1] : "";
  if (kind != "mutex" && kind != "fair_mutex")
    throw std::runtime_error{"usage: holdfast_race mutex|fair_mutex PORT [OPTIONS OF THE URL]"};
  auto const url = std::string{"redis://127.0.0.1:"} + argv[2] + (argc > 3 ? std::string{"?"} + argv[3] : "");
  if (kind == "fair_mutex") holdfast::race::race<holdfast::fair_mutex>(url);
  holdfast::race::race<holdfast::mutex>(url);
} catch (std::exception const& e) {
  std::cerr << e.what() << '\n';
  return 1;
}
