#include "worker.hpp"

#include "judge.hpp"
#include "raw_redis.hpp"
#include "subjects.hpp"

#include <holdfast/barrier.hpp>
#include <holdfast/condition.hpp>

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
bool is_worker = false;

milliseconds number(std::string const& text) { return milliseconds{std::stol(text)}; }

void write_line(int fd, std::string line) {
  line += '\n';
  if (::write(fd, line.data(), line.size()) != static_cast<ssize_t>(line.size())) ::_exit(3);
}

void answer(std::string const& line) { write_line(STDOUT_FILENO, line); }

// Static, as in a program that keeps its locks in global objects: exit() destroys them, quit doesn't.
std::unique_ptr<client> redis;
std::unique_ptr<any_lock> lock;
std::unique_ptr<recursive_mutex> thread_lock;
std::function<std::unique_ptr<recursive_mutex>()> make_thread_lock;
std::function<std::unique_ptr<any_lock>(client&)> make_lock_for;
std::function<client*()> make_client;
lease session_lease;

void connect(std::string const& url, std::string const& title, std::string const& name,
             std::string const& ttl) {
  auto const& kind = subject_titled(title);
  make_client = [&kind, url] { return new client{url, client_options{.name = "worker", .wake = kind.wake}}; };
  redis.reset(make_client());
  make_lock_for = [&kind, name, ttl = number(ttl)](client& lock_client) {
    return kind.make(lock_client, name, {.ttl = ttl});
  };
  lock = make_lock_for(*redis);
  // Made when it is needed: some clients have only one kind of lock.
  make_thread_lock = [name, ttl = number(ttl)] {
    return std::make_unique<recursive_mutex>(*redis, name, lock_options{.ttl = ttl});
  };
}

void spin() {
  auto last_valid = std::int64_t{0};
  for (;;) {
    auto const now = boot_now();
    if (!session_lease.valid()) break;
    last_valid = now;
  }
  answer("ended " + std::to_string(last_valid) + " " + code_word(session_lease.lost_because()) + " " +
         (session_lease.lost().stop_requested() ? "told" : "untold"));
}

/// The child ends as most programs do, by exit().
std::string exit_of_forked_child() {
  auto const child = ::fork();
  if (child == 0) std::exit(0);
  auto status = 0;
  ::waitpid(child, &status, 0);
  return std::to_string(WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
}

/// Forbids new threads, or allows them again. No limit applies to the superuser, so it becomes user nobody.
bool limit_threads(bool forbid) {
  constexpr auto nobody = 65534;
  if (forbid && ::geteuid() == 0 && ::setresuid(nobody, nobody, nobody) != 0) return false;
  ::prctl(PR_SET_DUMPABLE, 1);  // or LeakSanitizer may not inspect it
  rlimit limit{};
  ::getrlimit(RLIMIT_NPROC, &limit);
  limit.rlim_cur = forbid ? 0 : limit.rlim_max;
  return ::setrlimit(RLIMIT_NPROC, &limit) == 0;
}

/// Whether an asynchronous acquisition begins; if it doesn't, how often it called the handler.
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

/// Keeps an object that is never destroyed, not even at exit(); LeakSanitizer finds it referenced.
template <class T>
T& keep_forever(T* object) {
  static auto& all = *new std::vector<void const*>;
  all.push_back(object);
  return *object;
}

/// Starts a thread that lives as long as the process, with a lock that exit() doesn't destroy.
template <class Work>
void start_thread(client& lock_client, Work work) {
  std::thread{[work, &own_lock = keep_forever(make_lock_for(lock_client).release())] {
    work(own_lock);
    ::pause();
  }}.detach();
}

/// The thread writes "entered" when it has acquired the lock.
void wait_in_another_thread(client& lock_client) {
  start_thread(lock_client, [](any_lock& own_lock) {
    auto const acquired = own_lock.acquire();
    answer("entered");
    ::pause();
  });
  while (lock_client.stats().waiting_now == 0) std::this_thread::yield();
}

/// Runs `f` in a callback, in the client's own thread.
void run_in_callback(std::function<void()> f) {
  auto& unused_lock = keep_forever(new mutex{*redis, "of nobody"});
  unused_lock.async_acquire([f = std::move(f)](std::optional<lease>, std::exception_ptr const&) { f(); });
}

/// In a thread that looks for deadlocks.
void hold_and_wait() {
  std::thread{[] {
    auto const held = keep_forever(new mutex{*redis, "held", {.detect_deadlock = true}}).acquire();
    (void)keep_forever(new mutex{*redis, "wanted", {.detect_deadlock = true}}).acquire();
  }}.detach();
}

void wait_in_callback() {
  auto const begun = std::make_shared<std::atomic<bool>>(false);
  run_in_callback([begun, &own_lock = keep_forever(make_lock_for(*redis).release())] {
    *begun = true;
    auto const acquired = own_lock.acquire();
    answer("entered");
  });
  while (!*begun || redis->stats().waiting_now == 0) std::this_thread::yield();
}

/// With a lock and a lease of its own, which nobody destroys.
client* client_that_holds(std::string const& name) {
  auto* const own_client = make_client();
  keep_forever(new lease{keep_forever(new mutex{*own_client, name}).acquire()});
  return own_client;
}

/// `by_exit`: exit() destroys them; else nobody does.
void hold_by_clients(int count, bool by_exit) {
  static std::vector<std::unique_ptr<client>> destroyed_by_exit;
  for (auto i = 0; i < count; ++i) {
    auto* const own_client = client_that_holds("of client " + std::to_string(i));
    if (by_exit) {
      destroyed_by_exit.emplace_back(own_client);
    } else {
      keep_forever(own_client);
    }
  }
}

/// A client that is itself a static object, made after others were used.
client& static_client() {
  static client own{std::move(*std::unique_ptr<client>{make_client()})};
  return own;
}

void exit_while_a_client_is_destroyed() {
  static std::atomic<bool> begun = false;
  std::thread{[own_client = client_that_holds("of another thread")] {
    begun = true;
    delete own_client;
  }}.detach();
  while (!begun) std::this_thread::yield();
  std::exit(0);
}

/// Acquires and releases the lock in a loop, by a client that is never destroyed.
void cycle_in_another_thread() {
  auto& own_client = keep_forever(make_client());
  start_thread(own_client, [](any_lock& own_lock) {
    for (;;) own_lock.acquire().release();
  });
  while (own_client.stats().acquired < 3) std::this_thread::yield();
}

/// Increments a counter in Redis with two commands, which only the lock makes atomic.
void increment(std::string const& socket, std::string const& counter, int times) {
  raw_redis raw{socket};
  for (; times > 0; --times) {
    auto const acquired = lock->acquire();
    auto const next = std::stoll(raw.get(counter).value_or("0")) + 1;
    raw.command({"SET", counter, std::to_string(next)});
  }
}

void run_command(std::string const& line) {
  if (line == "acquire") {
    session_lease = lock->acquire();
    answer("held " + std::to_string(session_lease.token()));
  } else if (line.starts_with("try ")) {
    auto acquired = lock->try_acquire_for(number(line.substr(4)));
    if (acquired) session_lease = std::move(*acquired);
    answer(acquired ? "held " + std::to_string(session_lease.token()) : "busy");
  } else if (line == "lock") {
    if (!thread_lock) thread_lock = make_thread_lock();
    thread_lock->lock();
    answer("locked");
  } else if (line == "wait") {
    wait_in_another_thread(*redis);
    answer("waiting");
  } else if (line == "hold and wait") {
    hold_and_wait();
    answer("ok");
  } else if (line == "wait elsewhere") {
    wait_in_another_thread(*make_client());
    answer("waiting");
  } else if (line == "wait by a static client") {
    wait_in_another_thread(static_client());
    answer("waiting");
  } else if (line == "wait in a callback") {
    wait_in_callback();
    answer("waiting");
  } else if (line.starts_with("clients ")) {
    hold_by_clients(std::stoi(line.substr(8)), false);
    answer("ok");
  } else if (line.starts_with("static clients ")) {
    hold_by_clients(std::stoi(line.substr(15)), true);
    answer("ok");
  } else if (line == "cycle") {
    cycle_in_another_thread();
    answer("cycling");
  } else if (line == "fork") {
    answer("ended " + exit_of_forked_child());
  } else if (line == "release") {
    answer("ended " + code_word(session_lease.release()));
  } else if (line.starts_with("increment ")) {
    std::istringstream words{line.substr(10)};
    std::string socket;
    std::string counter;
    auto times = 0;
    words >> socket >> counter >> times;
    increment(socket, counter, times);
    answer("ok");
  } else if (line.starts_with("arrive ")) {
    std::istringstream words{line.substr(7)};
    std::string name;
    auto parties = 0;
    auto ttl_ms = 0;
    words >> name >> parties >> ttl_ms;
    barrier at{*redis, name, parties, {.ttl = milliseconds{ttl_ms}}};
    answer("passed " + std::to_string(at.arrive_and_wait()));
  } else if (line.starts_with("await ")) {
    condition on{*redis, line.substr(6)};
    session_lease = lock->acquire();
    on.wait(session_lease);
    answer("woken");
  } else if (line.starts_with("notify ")) {
    answer("notified " + std::to_string(condition{*redis, line.substr(7)}.notify_one()));
  } else if (line == "status") {
    answer(std::string{session_lease.valid() ? "valid " : "invalid "} +
           code_word(session_lease.lost_because()));
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
  } else if (line == "exit while a client is destroyed") {
    exit_while_a_client_is_destroyed();
  } else if (line == "exit in a callback") {
    run_in_callback([] { std::exit(0); });
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
      run_command(line);
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
    auto held_lease = lease{};
    try {
      auto acquired = lock->try_acquire_for(1s);
      if (!acquired) continue;
      held_lease = std::move(*acquired);
    } catch (error const& e) {
      if (e.code() != errc::unreachable && e.code() != errc::refused) throw;
      continue;
    }
    auto const from = boot_now();
    if (!held_lease.valid()) continue;
    if (counter != "-") increment(counter);
    auto to = from;
    for (auto now = from;; now = boot_now()) {
      if (!held_lease.valid()) break;
      to = now;
      if (now - from >= hold) break;
    }
    ++taken;
    write_line(history, std::to_string(from) + " " + std::to_string(to) + " " +
                            std::to_string(held_lease.token()) + " " + std::to_string(::getpid()));
    held_lease.release();
  }
  answer("taken " + std::to_string(taken));
  return 0;
}

std::vector<std::string> with_mark(std::vector<std::string> words) {
  words.insert(words.begin(), {"/proc/self/exe", mark});
  return words;
}

}  // namespace

void run_worker_if_requested(int argc, char** argv) {
  if (argc < 3 || std::strcmp(argv[1], mark) != 0) return;
  std::vector<std::string> const words{argv + 3, argv + argc};
  is_worker = true;
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

// A worker calls exit() while threads run, where what they use is no leak. The search for leaks stops all
// threads first, and in one process of ten thousand waits for one of them without end.
extern "C" int __lsan_is_turned_off();  // NOLINT(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" int __lsan_is_turned_off() { return holdfast::test::is_worker ? 1 : 0; }
