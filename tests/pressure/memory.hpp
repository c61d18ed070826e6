/// Shared parts of the tests in which any one allocation fails.
#pragma once

#include "allocations.hpp"

#include "net/pipeline.hpp"
#include "reactor/reactor.hpp"
#include "resp/command.hpp"
#include "support/eventually.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <iterator>
#include <new>
#include <string>
#include <string_view>
#include <utility>

namespace holdfast::test {

/// The outcome of a request, and how often it was answered.
struct request_record {
  bool accepted = false;
  int answers = 0;
  bool failed = false;
  resp::reply reply{};
};

/// A loop with its keeper thread, and a way to send requests on it.
class rig {
 public:
  rig() {
    loop.on_out_of_memory([this] { ++out_of_memory_count; });
    reactor::lock const hold{loop.mutex()};
    loop.start_keeper();
  }
  virtual ~rig() = default;
  rig(rig const&) = delete;
  rig& operator=(rig const&) = delete;

  /// Requires the lock of the loop, as all functions but works().
  void send(request_record& record, net::request request) {
    request.done = [this, &record](net::response&& response) {
      ++record.answers;
      record.failed = response.failure != nullptr;
      record.reply = std::move(response.reply);
      if (--open_ == 0 && caller_ != nullptr) loop.wake(*caller_);
    };
    request.while_down = net::retry_policy::steady;
    pass(std::move(request));
    record.accepted = true;
    ++open_;
  }
  /// `key`: the last of `words`; empty: the request has no key.
  void send(request_record& record, std::initializer_list<std::string_view> words,
            std::string_view key = {}) {
    try {
      net::request request;
      resp::append_command(request.bytes, words);
      auto const size = static_cast<std::uint32_t>(key.size());
      if (size != 0) request.key = {.from_end = size + 2, .size = size};
      send(record, std::move(request));
    } catch (std::bad_alloc const&) {
      EXPECT_EQ(record.answers, 0);
    }
  }

  /// Waits until all requests are answered; false: timed out.
  [[nodiscard]] bool await(reactor::lock& hold) {
    if (open_ > 0) {
      reactor::blocked_thread caller;
      reactor::timer timeout{[&] { loop.wake(caller); }};
      caller_ = &caller;
      loop.arm(timeout, boot_clock::now() + wait_limit);
      loop.wait(hold, caller);
      hold.lock();
      caller_ = nullptr;
    }
    return open_ == 0;
  }

  [[nodiscard]] bool works(std::string_view key = {}) {
    uncounted_thread const uncounted;
    request_record record;
    reactor::lock hold{loop.mutex()};
    if (key.empty()) {
      send(record, {"PING"});
    } else {
      send(record, {"GET", key}, key);
    }
    return await(hold) && !record.failed && !record.reply.is_error();
  }

  reactor::loop loop;
  std::atomic<int> out_of_memory_count = 0;

 protected:
  virtual void pass(net::request request) = 0;

  void stop() {
    reactor::lock hold{loop.mutex()};
    loop.stop(hold);
    hold.unlock();
  }

 private:
  int open_ = 0;
  reactor::blocked_thread* caller_ = nullptr;
};

[[nodiscard]] inline std::ptrdiff_t open_files() {
  auto const all = std::filesystem::directory_iterator{"/proc/self/fd"};
  return std::distance(begin(all), end(all));
}

/// Runs `operation` once for each allocation that it makes, in a new rig each time; that allocation fails.
template <class Make, class Operation>
void at_each_allocation(Make make, Operation operation) {
  for (auto n = 0;; ++n) {
    SCOPED_TRACE("allocation " + std::to_string(n));
    auto const files = open_files();
    auto reached = false;
    {
      auto const fresh = make();
      {
        nth_allocation const failing_allocation{n, [] { throw std::bad_alloc{}; }};
        operation(*fresh);
        reached = failing_allocation.reached();
      }
      EXPECT_TRUE(fresh->works());
    }
    EXPECT_EQ(open_files(), files);
    if (testing::Test::HasFailure()) return;
    if (!reached) {
      testing::Test::RecordProperty("allocations", n);
      return;
    }
  }
}

template <class Requests>
void expect_one_answer_each(Requests const& all) {
  for (auto const& record : all) EXPECT_EQ(record.answers, record.accepted ? 1 : 0);
}

}  // namespace holdfast::test
