/// One allocation fails, whichever it is: what tests of that share.
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

/// A request, and how often it was answered.
struct asked {
  bool accepted = false;
  int answers = 0;
  bool failed = false;
  resp::reply reply{};
};

/// A loop with its keeper, and what sends requests there.
class rig {
 public:
  rig() {
    loop.on_out_of_memory([this] { ++torn; });
    reactor::lock const hold{loop.mutex()};
    loop.start_keeper();
  }
  virtual ~rig() = default;
  rig(rig const&) = delete;
  rig& operator=(rig const&) = delete;

  /// Under the lock, as all but works().
  void send(asked& one, net::request what) {
    what.done = [this, &one](net::response&& how) {
      ++one.answers;
      one.failed = how.failure != nullptr;
      one.reply = std::move(how.reply);
      if (--open_ == 0 && caller_ != nullptr) loop.wake(*caller_);
    };
    what.while_down = net::retry_policy::steady;
    pass(std::move(what));
    one.accepted = true;
    ++open_;
  }
  /// `key`: the last of the words; empty: it has none.
  void send(asked& one, std::initializer_list<std::string_view> words, std::string_view key = {}) {
    try {
      net::request what;
      resp::append_command(what.bytes, words);
      auto const size = static_cast<std::uint32_t>(key.size());
      if (size != 0) what.key = {.from_end = size + 2, .size = size};
      send(one, std::move(what));
    } catch (std::bad_alloc const&) {
      EXPECT_EQ(one.answers, 0);
    }
  }

  /// Waits until all are answered; false: that takes too long.
  [[nodiscard]] bool await(reactor::lock& hold) {
    if (open_ > 0) {
      reactor::blocked_thread caller;
      reactor::timer bell{[&] { loop.wake(caller); }};
      caller_ = &caller;
      loop.arm(bell, boot_clock::now() + bound_of_waits);
      loop.wait(hold, caller);
      hold.lock();
      caller_ = nullptr;
    }
    return open_ == 0;
  }

  [[nodiscard]] bool works(std::string_view key = {}) {
    left_alone const meanwhile;
    asked one;
    reactor::lock hold{loop.mutex()};
    if (key.empty()) {
      send(one, {"PING"});
    } else {
      send(one, {"GET", key}, key);
    }
    return await(hold) && !one.failed && !one.reply.is_error();
  }

  reactor::loop loop;
  std::atomic<int> torn = 0;

 protected:
  virtual void pass(net::request what) = 0;

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

/// Has each allocation fail that `operation` makes in a new rig, one after the other.
template <class Make, class Operation>
void at_each_allocation(Make make, Operation operation) {
  for (auto n = 0;; ++n) {
    SCOPED_TRACE("allocation " + std::to_string(n));
    auto const files = open_files();
    auto reached = false;
    {
      auto const fresh = make();
      {
        nth_allocation const here{n, [] { throw std::bad_alloc{}; }};
        operation(*fresh);
        reached = here.happened();
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
  for (auto const& one : all) EXPECT_EQ(one.answers, one.accepted ? 1 : 0);
}

}  // namespace holdfast::test
