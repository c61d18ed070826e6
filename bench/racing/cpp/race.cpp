#include "race.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <iostream>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <vector>

namespace holdfast::race {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

/// What the holders of all processes tell each other, in a file. Only holders touch it.
struct tally {
  std::int32_t last;  ///< the contender that held last, from 1 on
  std::int32_t inside;
};

class shared_tally {
 public:
  explicit shared_tally(std::string const& file) {
    int const opened = open(file.c_str(), O_RDWR | O_CLOEXEC);
    if (opened < 0) throw std::system_error{errno, std::generic_category(), file};
    void* const mapped = mmap(nullptr, sizeof(tally), PROT_READ | PROT_WRITE, MAP_SHARED, opened, 0);
    close(opened);
    if (mapped == MAP_FAILED) throw std::system_error{errno, std::generic_category(), file};
    tally_ = static_cast<tally*>(mapped);
  }
  ~shared_tally() { munmap(tally_, sizeof(tally)); }
  shared_tally(shared_tally const&) = delete;
  shared_tally& operator=(shared_tally const&) = delete;

  [[nodiscard]] std::atomic_ref<std::int32_t> last() const { return std::atomic_ref{tally_->last}; }
  [[nodiscard]] std::atomic_ref<std::int32_t> inside() const { return std::atomic_ref{tally_->inside}; }

 private:
  tally* tally_;
};

struct contention {
  std::string name;
  int contenders;
  int first;  ///< the number of this process's first contender
  std::int64_t start;
  std::int64_t end;
};

struct turns {
  std::int64_t taken = 0;
  std::int64_t handoffs = 0;
  std::int64_t process_handoffs = 0;
  std::int64_t overlaps = 0;
  std::int64_t longest_wait = 0;
};

void visit(contention const& of, shared_tally const& shared, int me, turns& mine) {
  if (shared.inside().exchange(1) != 0) ++mine.overlaps;
  int const before = shared.last().exchange(me + 1) - 1;
  if (before != me) ++mine.handoffs;
  if (before >= 0 && (before < of.first || before >= of.first + of.contenders)) ++mine.process_handoffs;
  ++mine.taken;
  shared.inside() = 0;
}

turns take_turns(contention const& of, racing_lock& lock, shared_tally const& shared, int me) {
  turns mine;
  std::this_thread::sleep_for(microseconds{of.start - microseconds_now()});
  for (auto asked = microseconds_now(); asked < of.end; asked = microseconds_now()) {
    lock.lock();
    auto const at = microseconds_now();
    mine.longest_wait = std::max(mine.longest_wait, std::min(at, of.end) - asked);
    if (at < of.end) visit(of, shared, me, mine);
    lock.unlock();
  }
  return mine;
}

double percentile(std::vector<std::int64_t> const& sorted, double share) {
  return static_cast<double>(
             sorted[static_cast<std::size_t>(static_cast<double>(sorted.size() - 1) * share)]) /
         1e3;
}

class conversation {
 public:
  explicit conversation(racer& library) : library_{library} {}

  std::string answer(std::istringstream words) {
    std::string verb;
    words >> verb;
    if (verb == "cycles") return cycles(next<int>(words));
    if (verb == "rate") return rate(words);
    if (verb == "contend") return contend(words);
    if (verb == "acquire") return acquire(words);
    if (verb == "release") return release();
    if (verb == "watch") return watch(next<double>(words));
    if (verb == "hold_many") return hold_many(next<int>(words));
    throw std::runtime_error{"no such request: " + verb};
  }

 private:
  template <class T>
  static T next(std::istringstream& words) {
    T value{};
    if (!(words >> value)) throw std::runtime_error{"a number or name is missing"};
    return value;
  }

  [[nodiscard]] std::string cycles(int count) const {
    auto const lock = library_.make("race:cycles", std::nullopt, false);
    std::vector<std::int64_t> took;
    for (int i = 0; i < count; ++i) {
      auto const before = std::chrono::steady_clock::now();
      lock->lock();
      lock->unlock();
      took.push_back(std::chrono::nanoseconds{std::chrono::steady_clock::now() - before}.count());
    }
    std::sort(took.begin(), took.end());
    std::ostringstream line;
    line << R"({"p50_us": )" << percentile(took, 0.5) << R"(, "p99_us": )" << percentile(took, 0.99) << "}";
    return line.str();
  }

  [[nodiscard]] std::string rate(std::istringstream& words) const {
    auto const in_flight = next<int>(words);
    auto const time = microseconds{static_cast<std::int64_t>(next<double>(words) * 1e6)};
    auto const before = microseconds_now();
    auto const cycles = library_.cycle(in_flight, time);
    std::ostringstream line;
    line << R"({"cycles": )" << cycles << R"(, "seconds": )"
         << static_cast<double>(microseconds_now() - before) / 1e6 << "}";
    return line.str();
  }

  [[nodiscard]] std::string contend(std::istringstream& words) const {
    contention of;
    of.name = next<std::string>(words);
    of.contenders = next<int>(words);
    of.first = next<int>(words);
    of.start = next<std::int64_t>(words);
    of.end = of.start + static_cast<std::int64_t>(next<double>(words) * 1e6);
    shared_tally const shared{next<std::string>(words)};
    std::vector<std::unique_ptr<racing_lock>> locks;
    for (int i = 0; i < of.contenders; ++i) locks.push_back(library_.make(of.name, std::nullopt, false));
    std::vector<turns> all(locks.size());
    in_threads(of.contenders, [&](int number) {
      auto const i = static_cast<std::size_t>(number);
      all[i] = take_turns(of, *locks[i], shared, of.first + number);
    });
    turns sum;
    std::ostringstream line;
    line << R"({"turns": [)";
    for (auto const& each : all) {
      line << (&each == all.data() ? "" : ", ") << each.taken;
      sum.handoffs += each.handoffs;
      sum.process_handoffs += each.process_handoffs;
      sum.overlaps += each.overlaps;
      sum.longest_wait = std::max(sum.longest_wait, each.longest_wait);
    }
    line << R"(], "handoffs": )" << sum.handoffs << R"(, "process_handoffs": )" << sum.process_handoffs
         << R"(, "longest_wait_us": )" << sum.longest_wait << R"(, "overlaps": )" << sum.overlaps << "}";
    return line.str();
  }

  std::string acquire(std::istringstream& words) {
    auto const name = next<std::string>(words);
    held_ = library_.make(name, milliseconds{next<std::int64_t>(words)}, true);
    return timed([&] { held_->lock(); });
  }

  std::string release() {
    if (!held_) throw std::runtime_error{"nothing is held"};
    return timed([&] { held_->unlock(); });
  }

  [[nodiscard]] std::string watch(double seconds) const {
    if (!held_) throw std::runtime_error{"nothing is held"};
    if (!held_->tells()) return R"({"unsupported": true})";
    auto const end = microseconds_now() + static_cast<std::int64_t>(seconds * 1e6);
    while (microseconds_now() < end) {
      if (held_->told()) return R"({"lost_us": )" + std::to_string(microseconds_now()) + "}";
      std::this_thread::sleep_for(milliseconds{1});
    }
    return R"({"lost_us": null})";
  }

  [[nodiscard]] std::string hold_many(int count) const {
    auto const before = microseconds_now();
    library_.hold(count);
    std::ostringstream line;
    line << R"({"held": )" << count << R"(, "seconds": )"
         << static_cast<double>(microseconds_now() - before) / 1e6 << "}";
    return line.str();
  }

  template <class Call>
  static std::string timed(Call const& call) {
    auto const asked = microseconds_now();
    call();
    return R"({"asked_us": )" + std::to_string(asked) + R"(, "at_us": )" +
           std::to_string(microseconds_now()) + "}";
  }

  racer& library_;
  std::unique_ptr<racing_lock> held_;
};

std::string quoted(std::string text) {
  std::replace_if(
      text.begin(), text.end(),
      [](char c) { return c == '"' || c == '\\' || static_cast<unsigned char>(c) < ' '; }, ' ');
  return '"' + text + '"';
}

}  // namespace

std::int64_t microseconds_now() {
  return std::chrono::duration_cast<microseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

void in_threads(int count, std::function<void(int number)> const& body) {
  std::mutex guard;
  std::exception_ptr failed;
  std::vector<std::thread> threads;
  threads.reserve(static_cast<std::size_t>(count));
  for (int number = 0; number < count; ++number) {
    threads.emplace_back([&, number] {
      try {
        body(number);
      } catch (...) {  // told by the thread that waits for all
        std::lock_guard const hold{guard};
        failed = std::current_exception();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  if (failed) std::rethrow_exception(failed);
}

std::int64_t racer::cycle(int in_flight, microseconds time) {
  std::atomic<std::int64_t> done{0};
  auto const end = microseconds_now() + time.count();
  in_threads(in_flight, [&](int number) {
    auto const lock = make("race:rate:" + std::to_string(number), std::nullopt, false);
    while (microseconds_now() < end) {
      lock->lock();
      lock->unlock();
      ++done;
    }
  });
  return done;
}

void racer::hold(int names) {
  static constexpr int threads = 16;
  static std::vector<std::unique_ptr<racing_lock>> held;
  held.resize(static_cast<std::size_t>(names));
  in_threads(threads, [&](int first) {
    for (int i = first; i < names; i += threads) {
      auto lock = make("race:held:" + std::to_string(i), std::chrono::seconds{30}, false);
      lock->lock();
      held[static_cast<std::size_t>(i)] = std::move(lock);
    }
  });
}

void serve(racer& library) {
  std::cout << "ready " << library.version() << std::endl;
  conversation with{library};
  for (std::string line; std::getline(std::cin, line);) {
    std::string answer;
    try {
      answer = with.answer(std::istringstream{line});
    } catch (std::exception const& e) {
      answer = R"({"error": )" + quoted(e.what()) + "}";
    }
    std::cout << answer << std::endl;
  }
  _exit(0);
}

}  // namespace holdfast::race
