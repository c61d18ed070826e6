/// The history that a client writes, and what the judge makes of it.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <holdfast/barrier.hpp>
#include <holdfast/election.hpp>
#include <holdfast/expiring_semaphore.hpp>
#include <holdfast/fair_mutex.hpp>
#include <holdfast/latch.hpp>
#include <holdfast/multi_mutex.hpp>
#include <holdfast/mutex.hpp>
#include <holdfast/semaphore.hpp>
#include <holdfast/shared_mutex.hpp>
#include <iterator>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>

#include "support/eventually.hpp"
#include "support/failure_of.hpp"
#include "support/long_timeouts.hpp"
#include "support/process.hpp"
#include "support/redis_server.hpp"
#include "support/written_history.hpp"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

/// The events in a file, and what is wrong with it.
struct history_in_file {
  explicit history_in_file(std::string const& path) {
    judging::tables known;
    judging::history_file file{known, path};
    while (auto const line = file.next()) events.emplace_back(history::word_of(line->event));
  }
  std::vector<std::string> events;
};

class history_of : public testing::Test {
 protected:
  [[nodiscard]] client connect(std::string const& path) {
    return client{server_.url(),
                  with_long_timeouts({.history = path, .log = [this](log_level level, auto text) {
                                        std::lock_guard const hold{mutex_};
                                        if (level >= log_level::warning) warnings_.emplace_back(text);
                                      }})};
  }
  [[nodiscard]] std::vector<std::string> warnings() {
    std::lock_guard const hold{mutex_};
    return warnings_;
  }

  /// Whether the file has this text by now.
  [[nodiscard]] bool has(std::string_view part) const {
    std::ifstream text{file_};
    return std::string{std::istreambuf_iterator<char>{text}, {}}.find(part) != std::string::npos;
  }

  redis_server server_;
  temporary_folder folder_;
  std::string const file_ = folder_ / "history";
  std::mutex mutex_;
  std::vector<std::string> warnings_;
};

TEST_F(history_of, a_client_has_what_it_did) {
  {
    auto redis = connect(file_);
    mutex lock{redis, "orders"};
    auto held = lock.acquire();
    held.renew();
    held.release();
    EXPECT_TRUE(lock.try_acquire().has_value());
  }
  EXPECT_THAT(history_in_file{file_}.events, ElementsAre("client", "asked", "granted", "renewed", "released",
                                                         "asked", "granted", "released", "closed"));
  EXPECT_EQ(verdict_on({file_}), "fine");
}

/// Several threads of two clients, which write to one file.
TEST_F(history_of, all_kinds_is_fine) {
  {
    auto first = connect(file_);
    auto second = connect(file_);
    ASSERT_TRUE(semaphore(first, "tickets").try_set_permits(2));
    ASSERT_TRUE(latch(first, "ready").try_set_count(2));
    std::vector<std::jthread> threads;
    for (int i = 0; i != 6; ++i) {
      threads.emplace_back([&redis = i % 2 == 0 ? first : second, i] {
        for (int round = 0; round != 5; ++round) {
          (void)mutex(redis, "orders").acquire();
          (void)fair_mutex(redis, "fair").acquire();
          (void)multi_mutex(redis, std::vector<std::string>{"orders", "fair"}).acquire();
          shared_mutex both{redis, "both"};
          if (round % 3 == 0) (void)both.acquire();
          auto reading = both.acquire_shared();
          (void)expiring_semaphore(redis, "permits", 3).acquire(1 + i % 2);
          semaphore tickets{redis, "tickets"};
          tickets.acquire();
          tickets.release();
          (void)election(redis, "leader").try_campaign_for("me", std::chrono::milliseconds{5});
        }
        latch ready{redis, "ready"};
        if (i < 2) ready.count_down();
        ready.wait();
        (void)barrier(redis, "meet", 6).arrive_and_wait();
      });
    }
  }
  EXPECT_EQ(verdict_on({file_}), "fine");
  EXPECT_TRUE(warnings().empty());
}

TEST_F(history_of, a_lease_that_becomes_another_is_fine) {
  {
    auto redis = connect(file_);
    shared_mutex lock{redis, "both"};
    auto held = lock.acquire_upgrade();
    EXPECT_TRUE(lock.try_upgrade(held));
    held = lock.downgrade(std::move(held));
    (void)lock.acquire_shared();
  }
  EXPECT_EQ(verdict_on({file_}), "fine");
}

TEST_F(history_of, a_process_that_is_killed_has_what_it_was_told) {
  auto const child = fork();
  if (child == 0) {
    client redis{server_.url(), with_long_timeouts({.history = file_})};
    auto const held = mutex(redis, "orders").acquire();
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_THAT(history_in_file{file_}.events, ElementsAre("client", "asked", "granted"));
}

/// Its place keeps others out until its credit is over, which is documented.
TEST_F(history_of, a_dead_waiter_of_redissons_fair_lock_is_fine) {
  auto const with = [&](std::string const& path) {
    return client_options{.reply_timeout = 1s, .recheck = 500ms, .wire = wire::redisson, .history = path};
  };
  lock_options const brief{.ttl = 4s, .renew_every = 100ms};
  std::array<int, 2> begin{};
  ASSERT_EQ(::pipe2(begin.data(), O_CLOEXEC), 0);
  auto const child = fork();  // while no thread runs: ThreadSanitizer allows a child none otherwise
  if (child == 0) {
    ::close(begin[1]);
    char word = 0;
    if (::read(begin[0], &word, 1) != 0) ::_exit(1);  // it ends when the lock is held
    try {
      client redis{server_.url(), with(file_)};
      (void)fair_mutex(redis, "fair", brief).acquire();
    } catch (...) {
      ::_exit(1);
    }
    ::_exit(0);
  }
  ::close(begin[0]);
  {
    client holder{server_.url(), with(folder_ / "holder")};
    auto held = fair_mutex(holder, "fair", brief).acquire();
    ::close(begin[1]);
    auto raw = server_.raw();
    EXPECT_TRUE(eventually([&] { return raw.command({"LLEN", "redisson_lock_queue:{fair}"}).integer == 1; }));
    ::kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    client next{server_.url(), with(folder_ / "next")};
    fair_mutex wanted{next, "fair", brief};
    EXPECT_FALSE(wanted.try_acquire());
    held.release();
    (void)wanted.acquire();
  }
  EXPECT_EQ(verdict_on({file_, folder_ / "holder", folder_ / "next"}), "fine");
}

/// Else the judge would condemn who takes a lock ahead of it meanwhile.
TEST_F(history_of, a_waiter_says_when_it_heard_no_messages) {
  auto redis = connect(file_);
  auto other = connect(folder_ / "other");
  auto const held = fair_mutex(other, "fair").acquire();
  std::jthread const waiting{[&](std::stop_token const& stop) {
    try {
      (void)fair_mutex(redis, "fair").acquire(stop);
    } catch (error const&) {
      return;  // cancelled at the end
    }
  }};
  ASSERT_TRUE(eventually([&] { return has(R"("e":"queued")"); }));
  server_.raw().kill_clients("pubsub");
  EXPECT_TRUE(eventually([&] { return has(R"("heard":0)"); }));
}

TEST_F(history_of, a_full_disk_ends_with_one_warning) {
  auto redis = connect("/dev/full");
  mutex lock{redis, "orders"};
  for (int i = 0; i != 3; ++i) lock.acquire().release();
  ASSERT_TRUE(eventually([&] { return !warnings().empty(); }));
  EXPECT_THAT(warnings(),
              ElementsAre(AllOf(HasSubstr("the history in /dev/full ends here"), HasSubstr("No space"))));
}

TEST_F(history_of, a_pipe_that_is_full_ends_and_blocks_nobody) {
  ASSERT_EQ(::mkfifo(file_.c_str(), S_IRUSR | S_IWUSR), 0);
  std::fstream const never_read{file_};
  auto redis = connect(file_);
  mutex lock{redis, std::string(1000, 'x')};
  for (int i = 0; i != 100 && warnings().empty(); ++i) lock.acquire().release();
  ASSERT_TRUE(eventually([&] { return !warnings().empty(); }));
  EXPECT_THAT(warnings(), ElementsAre(HasSubstr("ends here")));
  EXPECT_EQ(lock.acquire().release(), release_result::released);
}

TEST_F(history_of, a_file_that_can_not_be_opened_is_no_history) {
  auto const refusal = failure_of([&] { (void)connect(folder_ / "missing/history"); });
  EXPECT_EQ(refusal.code, std::errc::no_such_file_or_directory);
  EXPECT_TRUE(refusal.mentions("client_options::history"));
}

}  // namespace
}  // namespace holdfast::test
