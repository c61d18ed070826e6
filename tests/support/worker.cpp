#include "worker.hpp"

#include "judge.hpp"
#include "raw_redis.hpp"
#include "registry.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iostream>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

constexpr char const* mark = "--holdfast-test-worker";

milliseconds number(std::string const& text) { return milliseconds{std::stol(text)}; }

void write_line(int fd, std::string line) {
  line += '\n';
  if (::write(fd, line.data(), line.size()) != static_cast<ssize_t>(line.size())) ::_exit(3);
}

void answer(std::string const& line) { write_line(STDOUT_FILENO, line); }

// Static, as in a program that keeps its locks in global objects: exit() destroys them, quit doesn't get to.
std::unique_ptr<client> redis;
std::unique_ptr<any_lock> lock;
std::unique_ptr<recursive_mutex> of_thread;
std::function<std::unique_ptr<recursive_mutex>()> make_of_thread;
std::function<std::unique_ptr<any_lock>(client&)> make_lock_of;
std::function<client*()> make_client_again;
lease held;

void connect(std::string const& url, std::string const& title, std::string const& name,
             std::string const& ttl) {
  auto const& what = subject_titled(title);
  make_client_again = [&what, url] {
    return new client{url, client_options{.name = "worker", .wake = what.wake}};
  };
  redis.reset(make_client_again());
  make_lock_of = [&what, name, ttl = number(ttl)](client& of) { return what.make(of, name, {.ttl = ttl}); };
  lock = make_lock_of(*redis);
  // Not on a client that has only one kind of lock.
  make_of_thread = [name, ttl = number(ttl)] {
    return std::make_unique<recursive_mutex>(*redis, name, lock_options{.ttl = ttl});
  };
}

void spin() {
  auto last_valid = std::int64_t{0};
  for (;;) {
    auto const now = boot_now();
    if (!held.valid()) break;
    last_valid = now;
  }
  answer("ended " + std::to_string(last_valid) + " " + code_word(held.lost_because()) + " " +
         (held.lost().stop_requested() ? "told" : "untold"));
}

/// A child that ends as most programs do, with all that exit() sets off.
std::string exit_of_forked_child() {
  auto const child = ::fork();
  if (child == 0) std::exit(0);
  auto status = 0;
  ::waitpid(child, &status, 0);
  return std::to_string(WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
}

/// No thread can be started any more, or they can again. The superuser, whom no limit stops, becomes nobody.
bool limit_threads(bool none) {
  constexpr auto nobody = 65534;
  if (none && ::geteuid() == 0 && ::setresuid(nobody, nobody, nobody) != 0) return false;
  ::prctl(PR_SET_DUMPABLE, 1);  // or LeakSanitizer may not look at it
  rlimit limit{};
  ::getrlimit(RLIMIT_NPROC, &limit);
  limit.rlim_cur = none ? 0 : limit.rlim_max;
  return ::setrlimit(RLIMIT_NPROC, &limit) == 0;
}

/// How an asynchronous acquisition begins, and how often it calls if it doesn't.
std::string begin_async() {
  auto const calls = std::make_shared<std::atomic<int>>(0);
  try {
    lock->async_acquire([calls](std::optional<lease>, std::exception_ptr const&) { ++*calls; });
  } catch (error const&) {
    return "refused, called " + std::to_string(calls->load());
  }
  return "taken";
}

bool signals_are_open() {
  sigset_t blocked{};
  ::pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  return ::sigismember(&blocked, SIGTERM) == 0;
}

/// What nobody destroys, also not at exit(), where LeakSanitizer looks for it.
template <class T>
T& for_good(T* what) {
  static auto& all = *new std::vector<void const*>;
  all.push_back(what);
  return *what;
}

/// Another thread, for as long as the process lives, with a lock that exit() doesn't destroy under it.
template <class Work>
void start_thread(client& with, Work work) {
  std::thread{[work, &own = for_good(make_lock_of(with).release())] {
    work(own);
    ::pause();
  }}.detach();
}

/// Says when it has got the lock, if it ever does.
void wait_in_another_thread(client& with) {
  start_thread(with, [](any_lock& own) {
    auto const mine = own.acquire();
    answer("entered");
    ::pause();
  });
  while (with.stats().waiting_now == 0) std::this_thread::yield();
}

/// In one that the client's own thread runs.
void in_a_callback(std::function<void()> f) {
  auto& of_nobody = for_good(new mutex{*redis, "of nobody"});
  of_nobody.async_acquire([f = std::move(f)](std::optional<lease>, std::exception_ptr const&) { f(); });
}

void wait_in_a_callback() {
  auto const begun = std::make_shared<std::atomic<bool>>(false);
  in_a_callback([begun, &own = for_good(make_lock_of(*redis).release())] {
    *begun = true;
    auto const mine = own.acquire();
    answer("entered");
  });
  while (!*begun || redis->stats().waiting_now == 0) std::this_thread::yield();
}

/// Each with a connection and a lease of its own, which nobody destroys.
void hold_by_clients(int how_many) {
  for (auto i = 0; i < how_many; ++i) {
    auto& one = for_good(new mutex{for_good(make_client_again()), "of client " + std::to_string(i)});
    for_good(new lease{one.acquire()});
  }
}

/// Takes the lock and gives it back, over and over, with a client that nobody destroys.
void cycle_in_another_thread() {
  auto& own_client = for_good(make_client_again());
  start_thread(own_client, [](any_lock& own) {
    for (;;) own.acquire().release();
  });
  while (own_client.stats().acquired < 3) std::this_thread::yield();
}

/// Of a counter in Redis, with two commands, unguarded but for the lock.
void increment(std::string const& socket, std::string const& counter, int times) {
  raw_redis raw{socket};
  for (; times > 0; --times) {
    auto const mine = lock->acquire();
    auto const next = std::stoll(raw.get(counter).value_or("0")) + 1;
    raw.command({"SET", counter, std::to_string(next)});
  }
}

void obey(std::string const& line) {
  if (line == "acquire") {
    held = lock->acquire();
    answer("held " + std::to_string(held.token()));
  } else if (line.rfind("try ", 0) == 0) {
    auto got = lock->try_acquire_for(number(line.substr(4)));
    if (got) held = std::move(*got);
    answer(got ? "held " + std::to_string(held.token()) : "busy");
  } else if (line == "lock") {
    if (!of_thread) of_thread = make_of_thread();
    of_thread->lock();
    answer("locked");
  } else if (line == "wait") {
    wait_in_another_thread(*redis);
    answer("waiting");
  } else if (line == "wait elsewhere") {
    wait_in_another_thread(*make_client_again());
    answer("waiting");
  } else if (line == "wait in a callback") {
    wait_in_a_callback();
    answer("waiting");
  } else if (line.rfind("clients ", 0) == 0) {
    hold_by_clients(std::stoi(line.substr(8)));
    answer("ok");
  } else if (line == "cycle") {
    cycle_in_another_thread();
    answer("cycling");
  } else if (line == "fork") {
    answer("ended " + exit_of_forked_child());
  } else if (line == "release") {
    answer("ended " + code_word(held.release()));
  } else if (line.rfind("increment ", 0) == 0) {
    std::istringstream words{line.substr(10)};
    std::string socket;
    std::string counter;
    auto times = 0;
    words >> socket >> counter >> times;
    increment(socket, counter, times);
    answer("ok");
  } else if (line == "status") {
    answer(std::string{held.valid() ? "valid " : "invalid "} + code_word(held.lost_because()));
  } else if (line == "no threads" || line == "threads") {
    answer(limit_threads(line == "no threads") ? "ok" : "refused");
  } else if (line == "async") {
    answer(begin_async());
  } else if (line == "signals") {
    answer(signals_are_open() ? "open" : "blocked");
  } else if (line == "spin") {
    spin();
  } else if (line == "exit") {
    std::exit(0);
  } else if (line == "exit in a callback") {
    in_a_callback([] { std::exit(0); });
    for (;;) ::pause();
  } else if (line == "quit") {
    ::_exit(0);
  } else {
    answer("what? " + line);
  }
}

int session(std::vector<std::string> const& words) {
  connect(words.at(0), words.at(1), words.at(2), words.at(3));
  for (std::string line; std::getline(std::cin, line);) {
    try {
      obey(line);
    } catch (std::exception const& e) {
      answer(std::string{"error "} + e.what());
    }
  }
  return 0;
}

void increment(std::string const& counter) {
  auto const file = ::open(counter.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  char digits[32] = {};
  if (::pread(file, digits, sizeof digits - 1, 0) < 0) ::_exit(4);
  auto const next = std::to_string(std::atol(digits) + 1);
  if (::pwrite(file, next.data(), next.size(), 0) < 0) ::_exit(4);
  ::close(file);
}

int loop(std::vector<std::string> const& words) {
  connect(words.at(0), words.at(1), words.at(2), words.at(3));
  auto const end = boot_now() + std::chrono::nanoseconds{number(words.at(4))}.count();
  auto const hold = std::stol(words.at(5)) * 1'000;
  auto const history = ::open(words.at(6).c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  auto const& counter = words.at(7);
  auto taken = 0;
  while (boot_now() < end || taken < 2) {
    auto mine = lease{};
    try {
      auto got = lock->try_acquire_for(1s);
      if (!got) continue;
      mine = std::move(*got);
    } catch (error const& e) {
      if (e.code() != errc::unreachable && e.code() != errc::refused) throw;
      continue;
    }
    auto const from = boot_now();
    if (!mine.valid()) continue;
    if (counter != "-") increment(counter);
    auto to = from;
    for (auto now = from;; now = boot_now()) {
      if (!mine.valid()) break;
      to = now;
      if (now - from >= hold) break;
    }
    ++taken;
    write_line(history, std::to_string(from) + " " + std::to_string(to) + " " + std::to_string(mine.token()) +
                            " " + std::to_string(::getpid()));
    mine.release();
  }
  answer("taken " + std::to_string(taken));
  return 0;
}

std::vector<std::string> with_mark(std::vector<std::string> words) {
  words.insert(words.begin(), {"/proc/self/exe", mark});
  return words;
}

}  // namespace

void become_worker_if_asked(int argc, char** argv) {
  if (argc < 3 || std::strcmp(argv[1], mark) != 0) return;
  std::vector<std::string> const words{argv + 3, argv + argc};
  try {
    std::exit(std::strcmp(argv[2], "session") == 0 ? session(words) : loop(words));
  } catch (std::exception const& e) {
    answer(std::string{"failed "} + e.what());
    ::_exit(2);
  }
}

worker worker::session(std::string const& url, std::string const& subject, std::string const& name,
                       std::chrono::milliseconds ttl) {
  return worker{{"session", url, subject, name, std::to_string(ttl.count())}};
}

worker worker::loop(std::string const& url, std::string const& subject, std::string const& name,
                    std::chrono::milliseconds ttl, std::chrono::milliseconds time,
                    std::chrono::microseconds hold, std::string const& history, std::string const& counter) {
  return worker{{"loop", url, subject, name, std::to_string(ttl.count()), std::to_string(time.count()),
                 std::to_string(hold.count()), history, counter}};
}

worker::worker(std::vector<std::string> words) : line_process{with_mark(std::move(words))} {}

}  // namespace holdfast::test
