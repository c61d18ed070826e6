#include "exiting.hpp"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include "net.hpp"

namespace holdfast::test {
namespace {

constexpr char const* mark = "--holdfast-test-exits";

/// Nobody destroys it: a thread may use it to the end.
template <class T>
T& keep_forever(T* object) {
  static auto& all = *new std::vector<void const*>;  // LeakSanitizer finds it referenced
  all.push_back(object);
  return *object;
}

void await_the_word() {
  std::cout << "ready" << std::endl;
  for (std::string line; std::getline(std::cin, line) && line.empty();) {
  }
}

/// Writes the line if nobody has exited yet.
void complain(std::string const& problem) { std::cout << problem << std::endl; }

/// What most of the programs have; destroyed by nobody.
struct parts {
  explicit parts(std::string const& url) : redis{url, with_long_timeouts(), run_on(io)} {}
  net::io_context io;
  client redis;
  mutex lock{redis, "orders", {.ttl = 60s}};
  lease held;

  /// In a thread of its own.
  void run_io() {
    std::thread{[this] {
      auto const work = net::make_work_guard(io);
      io.run();
    }}.detach();
  }
};

void while_the_event_loop_stands_still(std::string const& url) {
  parts all{url};
  all.held = all.lock.acquire();
  await_the_word();
  std::exit(0);
}

void while_another_thread_runs_it(std::string const& url) {
  auto& all = keep_forever(new parts{url});
  all.run_io();
  all.held = all.lock.acquire();
  await_the_word();
  std::exit(0);
}

void in_a_handler(std::string const& url) {
  parts all{url};
  async_acquire(all.lock, net::bind_executor(all.io, [&](error_code, lease got) {
                  all.held = std::move(got);
                  await_the_word();
                  std::exit(0);
                }));
  all.io.run();
}

void in_a_callback(std::string const& url) {
  parts all{url};
  auto const work = net::make_work_guard(all.io);
  all.lock.async_acquire([&](std::optional<lease> got, std::exception_ptr const&) {
    all.held = std::move(*got);
    await_the_word();
    std::exit(0);
  });
  all.io.run();
}

/// One waits for the lock, and drives; others sleep meanwhile.
void while_threads_wait(std::string const& url) {
  auto& all = keep_forever(new parts{url});
  all.held = all.lock.acquire();
  for (int i = 0; i != 3; ++i) {
    std::thread{[&all] {
      auto const got = all.lock.acquire();
      complain("got the lock");
      ::pause();
    }}.detach();
  }
  while (all.redis.stats().waiting_now != 3) std::this_thread::yield();
  await_the_word();
  std::exit(0);
}

/// exit() destroys the io_context, and then the client.
void with_static_objects(std::string const& url) {
  static std::optional<client> redis;
  static std::optional<mutex> lock;
  static lease held;
  static net::io_context io;
  redis.emplace(url, with_long_timeouts(), run_on(io));
  lock.emplace(*redis, "orders", lock_options{.ttl = 60s});
  held = lock->acquire();
  await_the_word();
  std::exit(0);
}

/// A callback in another thread waits for what the thread has that exits, and destroys the client.
void while_a_callback_waits_for_the_main_thread(std::string const& url) {
  static auto& io = keep_forever(new net::io_context);
  static client redis{url, with_long_timeouts(), run_on(io)};
  auto& lock = keep_forever(new mutex{redis, "orders", {.ttl = 60s}});
  auto& unused = keep_forever(new mutex{redis, "unused"});
  static std::mutex guard;
  std::scoped_lock const hold{guard};
  auto const held = lock.acquire();
  static std::atomic<bool> waits = false;
  unused.async_acquire([](std::optional<lease>, std::exception_ptr const&) {
    waits = true;
    std::scoped_lock const in_vain{guard};
  });
  std::thread{[] {
    auto const work = net::make_work_guard(io);
    io.run();
  }}.detach();
  while (!waits) std::this_thread::yield();
  await_the_word();
  std::exit(0);
}

void after_the_end_of_the_io_context(std::string const& url) {
  auto io = std::make_unique<net::io_context>();
  client redis{url, with_long_timeouts(), run_on(*io)};
  mutex lock{redis, "orders", {.ttl = 60s}};
  auto const held = lock.acquire();
  io.reset();
  await_the_word();
  std::exit(0);
}

void quickly(std::string const& url) {
  parts all{url};
  mutex brief{all.redis, "orders", {.ttl = 1s}};
  all.held = brief.acquire();
  await_the_word();
  std::quick_exit(0);
}

std::map<std::string, void (*)(std::string const& url)> const programs{
    {"while the event loop stands still", while_the_event_loop_stands_still},
    {"while another thread runs it", while_another_thread_runs_it},
    {"in a handler", in_a_handler},
    {"in a callback", in_a_callback},
    {"while threads wait", while_threads_wait},
    {"with static objects", with_static_objects},
    {"while a callback waits for the main thread", while_a_callback_waits_for_the_main_thread},
    {"after the end of the io_context", after_the_end_of_the_io_context},
    {"quickly", quickly},
};

}  // namespace

void exit_if_requested(int argc, char** argv) {
  if (argc != 4 || std::strcmp(argv[1], mark) != 0) return;
  programs.at(argv[2])(argv[3]);
}

line_process exiting(std::string const& program, std::string const& url) {
  return line_process{{"/proc/self/exe", mark, program, url}};
}

}  // namespace holdfast::test
