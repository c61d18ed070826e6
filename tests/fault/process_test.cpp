/// Holders and waiters are killed, frozen, forked and ended, as real processes.
#include "fault.hpp"
#include "support/sanitizers.hpp"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <functional>
#include <iterator>
#include <thread>

namespace holdfast::test {
namespace {

class process_fault : public fault {
 protected:
  worker start(std::chrono::milliseconds ttl) {
    return worker::session(server_.url(), "mutex_inbox", "orders", ttl);
  }
  client redis_{server_.url(), with_long_timeouts()};
};

TEST_F(process_fault, says_lost_before_anything_else_when_a_frozen_holder_is_thawed) {
  auto holder = start(1s);
  EXPECT_EQ(holder.reply_to("acquire").rfind("held ", 0), 0u);
  holder.write_line("spin");
  mutex m{redis_, "orders"};
  holder.freeze();
  auto const lease = m.try_acquire_for(20s);
  ASSERT_TRUE(lease) << state_of(raw_, "orders") << state_of(holder.pid()) << redis_.stats().rechecks
                     << " re-checks";
  auto const from = boot_now();
  EXPECT_TRUE(lease->valid());
  holder.thaw();
  auto const report = holder.read_line();  // ended <last valid> <cause> <told>
  ASSERT_EQ(report.rfind("ended ", 0), 0u) << report;
  EXPECT_LT(std::stoll(report.substr(6)), from) << "it believed in its lease while somebody else held";
  EXPECT_TRUE(eventually([&] {
    return holder.reply_to("status") != "invalid " + code_word(loss_cause::none);
  })) << "a loss has a cause";
  EXPECT_EQ(holder.reply_to("release"), "ended " + code_word(release_result::lost));
  EXPECT_TRUE(lease->valid());
  EXPECT_EQ(raw_.get("orders"), lease->owner());
}

TEST_F(process_fault, keeps_the_lease_of_a_holder_frozen_for_less_than_its_ttl) {
  auto holder = start(20s);
  holder.reply_to("acquire");
  holder.freeze();
  EXPECT_TRUE(always(500ms, [&] { return raw_.exists("orders"); }));
  holder.thaw();
  EXPECT_EQ(holder.reply_to("status"), "valid " + code_word(loss_cause::none));
  EXPECT_EQ(holder.reply_to("release"), "ended " + code_word(release_result::released));
  EXPECT_TRUE(nothing_left_behind());
}

TEST_F(process_fault, excludes_while_holders_and_waiters_are_killed_and_frozen) {
  auto const file = (server_.folder() / "history").string();
  auto const new_worker = [&] {
    return worker::loop(server_.url(), "mutex_inbox", "orders", 500ms, 10min, 1ms, file);
  };
  std::vector<std::unique_ptr<worker>> workers;
  for (auto i = 0; i < 4; ++i) workers.push_back(std::make_unique<worker>(new_worker()));
  auto const history_size = [&] { return read_history(file).size(); };
  ASSERT_TRUE(eventually([&] { return history_size() > 20; }));
  for (auto round = 0; round < 6; ++round) {
    auto& victim = workers[static_cast<std::size_t>(round) % workers.size()];
    if (round % 2 == 0) {
      victim->kill9();
      victim = std::make_unique<worker>(new_worker());
    } else {
      victim->freeze();
    }
    auto const before = history_size();
    EXPECT_TRUE(eventually([&] { return history_size() > before + 10; })) << "nobody gets the lock any more";
    if (round % 2 == 1) victim->thaw();
  }
  workers.clear();
  EXPECT_EQ(judge(read_history(file)), "");
  EXPECT_TRUE(eventually([&] { return !raw_.exists("orders"); }));
}

TEST_F(process_fault, releases_at_exit_what_is_held) {
  auto holder = start(30s);
  holder.reply_to("acquire");
  holder.write_line("exit");
  EXPECT_EQ(holder.wait(), 0);
  EXPECT_TRUE(nothing_left_behind());
}

TEST_F(process_fault, releases_at_exit_what_the_main_thread_has_locked) {
  auto holder = start(30s);
  EXPECT_EQ(holder.reply_to("lock"), "locked");
  EXPECT_EQ(holder.reply_to("lock"), "locked");
  EXPECT_TRUE(raw_.exists("orders"));
  holder.write_line("exit");
  EXPECT_EQ(holder.wait(), 0);
  EXPECT_TRUE(nothing_left_behind());
}

TEST_F(process_fault, gives_the_lock_to_none_of_its_threads_at_exit) {
  for (auto const* const kind : {"mutex_inbox", "mutex_poll", "fair_mutex_inbox", "fair_mutex_poll",
                                 "recursive_mutex_inbox", "multi_mutex_inbox", "mutex_redisson",
                                 "fair_mutex_redisson", "shared_mutex_inbox", "shared_mutex_redisson"}) {
    auto holder = worker::session(server_.url(), kind, "orders", 60s);
    EXPECT_EQ(holder.reply_to("acquire").rfind("held ", 0), 0u) << kind;
    EXPECT_EQ(holder.reply_to("wait"), "waiting") << kind;
    holder.write_line("exit");
    EXPECT_EQ(holder.wait(), 0) << kind;
    EXPECT_THROW((void)holder.read_line(), std::runtime_error) << kind << ": its other thread got the lock";
    EXPECT_TRUE(nothing_left_behind()) << kind;
    raw_.command({"FLUSHALL"});
  }
}

TEST_F(process_fault, gives_the_lock_to_none_of_its_threads_at_exit_by_another_client) {
  for (auto round = 0; round < 20; ++round) {
    auto holder = start(60s);
    EXPECT_EQ(holder.reply_to("acquire").rfind("held ", 0), 0u);
    EXPECT_EQ(holder.reply_to("wait elsewhere"), "waiting");
    ASSERT_TRUE(eventually([&] { return raw_.exists("{orders}:holdfast_queue"); }));
    holder.write_line("exit");
    EXPECT_EQ(holder.wait(), 0);
    EXPECT_THROW((void)holder.read_line(), std::runtime_error) << "its other thread got the lock";
    ASSERT_TRUE(nothing_left_behind()) << "round " << round;
  }
}

TEST_F(process_fault, gives_the_lock_to_none_of_its_threads_at_exit_by_a_static_client) {
  auto holder = start(60s);
  EXPECT_EQ(holder.reply_to("acquire").rfind("held ", 0), 0u);
  EXPECT_EQ(holder.reply_to("wait by a static client"), "waiting");
  ASSERT_TRUE(eventually([&] { return raw_.exists("{orders}:holdfast_queue"); }));
  holder.write_line("exit");
  EXPECT_EQ(holder.wait(), 0) << "an exception in its other thread";
  EXPECT_THROW((void)holder.read_line(), std::runtime_error) << "its other thread got the lock";
  EXPECT_TRUE(nothing_left_behind());
}

TEST_F(process_fault, leaves_no_lock_behind_at_exit_while_another_thread_destroys_a_client) {
  for (auto round = 0; round < 20; ++round) {
    auto holder = start(60s);
    holder.write_line("exit while a client is destroyed");
    EXPECT_EQ(holder.wait(), 0);
    ASSERT_FALSE(raw_.exists("of another thread")) << "round " << round;
  }
}

TEST_F(process_fault, ends_at_exit_in_a_callback_of_a_client_that_exit_destroys) {
  auto holder = start(60s);
  holder.reply_to("acquire");
  holder.write_line("exit in a callback");
  EXPECT_EQ(holder.wait(), 0);
  EXPECT_TRUE(nothing_left_behind());
}

TEST_F(process_fault, ends_at_exit_though_a_callback_waits_for_a_lock) {
  raw_.command({"SET", "orders", "of somebody else"});
  auto process = start(60s);
  EXPECT_EQ(process.reply_to("wait in a callback"), "waiting");
  process.write_line("exit");
  EXPECT_EQ(process.wait(20s), 0);
  EXPECT_THROW((void)process.read_line(), std::runtime_error) << "the callback got the lock";
}

TEST_F(process_fault, leaves_no_lock_behind_at_exit_though_another_thread_goes_on_taking_it) {
  for (auto round = 0; round < 5; ++round) {
    auto holder = start(60s);
    EXPECT_EQ(holder.reply_to("cycle"), "cycling");
    holder.write_line("exit");
    EXPECT_EQ(holder.wait(), 0);
    ASSERT_TRUE(nothing_left_behind()) << "round " << round;
  }
}

TEST_F(process_fault, ends_within_a_bound_at_exit_when_the_server_does_not_answer) {
  for (auto const* const command : {"acquire", "lock", "clients 30", "static clients 30"}) {
    auto holder = start(30s);
    holder.reply_to(command);
    server_.freeze();
    holder.write_line("exit");
    EXPECT_EQ(holder.wait(15s), 0) << command;  // with many clients it is not a second for each
    server_.thaw();
    raw_.command({"FLUSHALL"});
  }
}

TEST_F(process_fault, takes_back_at_exit_what_its_threads_have_said_of_their_waits) {
  mutex wanted{redis_, "wanted"};
  auto const lease = wanted.acquire();
  auto waiting = start(30s);
  EXPECT_EQ(waiting.reply_to("hold and wait"), "ok");
  auto const said = [&] { return raw_.keys("*holdfast_blocked*").size(); };
  ASSERT_TRUE(eventually([&] { return said() == 1; }));
  waiting.write_line("exit");
  EXPECT_EQ(waiting.wait(), 0);
  EXPECT_TRUE(true_within(5s, [&] { return said() == 0; })) << "its ttl is longer";
}

TEST_F(process_fault, gives_no_lock_back_when_a_forked_child_exits) {
  auto holder = start(30s);
  holder.reply_to("lock");
  auto const owner = raw_.get("orders");
  EXPECT_EQ(holder.reply_to("fork"), "ended 0");
  EXPECT_TRUE(always(200ms, [&] { return raw_.get("orders") == owner; }));
  holder.write_line("exit");
  EXPECT_EQ(holder.wait(), 0);
  EXPECT_TRUE(nothing_left_behind());
}

TEST_F(process_fault, leaves_the_lock_to_its_ttl_when_a_process_ends_without_exit) {
  auto holder = start(1s);
  holder.reply_to("acquire");
  holder.write_line("quit");
  EXPECT_EQ(holder.wait(), 0);
  EXPECT_TRUE(nothing_left_behind());
}

TEST_F(process_fault, gives_a_forked_child_no_part_in_the_lease) {
  mutex m{redis_, "orders", {.ttl = 60s}};
  mutex kept_mutex{redis_, "kept"};
  auto lease = m.acquire();
  kept_mutex.lock();
  auto const child = ::fork();
  if (child == 0) {
    // Each failed check is one bit of the exit code.
    auto failed_checks = 0;
    if (lease.valid()) failed_checks |= 1;
    if (failure_of([&] { (void)m.try_acquire(); }).code != errc::forked) failed_checks |= 2;
    if (failure_of([&] { redis_.connect(); }).code != errc::forked) failed_checks |= 4;
    {
      auto const destroyed = std::move(lease);
    }
    auto const grandchild = ::fork();
    if (grandchild == 0) ::_exit(0);
    ::waitpid(grandchild, nullptr, 0);
    ::_exit(failed_checks);
  }
  auto status = 0;
  ASSERT_TRUE(eventually([&] { return ::waitpid(child, &status, WNOHANG) == child; }));
  EXPECT_TRUE(WIFEXITED(status)) << status;
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_TRUE(lease.valid());
  EXPECT_EQ(raw_.get("orders"), lease.owner());
  kept_mutex.unlock();
  EXPECT_EQ(lease.release(), release_result::released);
  EXPECT_TRUE(nothing_left_behind());
}

TEST_F(process_fault, does_not_renew_from_a_child_that_outlives_the_parent_s_lease) {
  mutex m{redis_, "orders", {.ttl = 60s, .renew_every = 100ms}};
  int pipe_ends[2];
  ASSERT_EQ(::pipe(pipe_ends), 0);
  auto lease = m.acquire();
  auto const child = ::fork();
  if (child == 0) {
    char byte = 0;
    ::close(pipe_ends[1]);
    if (::read(pipe_ends[0], &byte, 1) != 0) ::_exit(1);
    ::_exit(0);
  }
  auto const renewals = redis_.stats().renewals;
  EXPECT_TRUE(eventually([&] { return redis_.stats().renewals >= renewals + 2; })) << "the parent goes on";
  EXPECT_EQ(lease.release(), release_result::released);
  EXPECT_TRUE(always(500ms, [&] { return !raw_.exists("orders"); }));
  ::close(pipe_ends[0]);
  ::close(pipe_ends[1]);
  auto status = 0;
  ASSERT_TRUE(eventually([&] { return ::waitpid(child, &status, WNOHANG) == child; }));
}

TEST_F(process_fault, lets_a_child_make_a_client_of_its_own) {
  if (under_thread_sanitizer) {
    GTEST_SKIP() << "ThreadSanitizer lets no child of a process with threads start one of its own";
  }
  if (under_address_sanitizer) {
    GTEST_SKIP() << "a thread of the parent may hold a lock of AddressSanitizer's allocator at the fork: the "
                    "child waits for it for ever";
  }
  mutex m{redis_, "orders"};
  auto const lease = m.acquire();
  auto const child = ::fork();
  if (child == 0) {
    auto released = false;
    {
      client child_client{server_.url()};
      mutex child_mutex{child_client, "of the child"};
      released = child_mutex.acquire().release() == release_result::released;
    }
    ::_exit(released ? 0 : 1);
  }
  auto status = 0;
  ASSERT_TRUE(eventually([&] { return ::waitpid(child, &status, WNOHANG) == child; }));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

/// A child that is forked in a callback, with more callbacks behind it.
class forked_in_a_callback : public process_fault {
 protected:
  /// Forks a child that runs `in_child`; returns its status.
  int run(std::function<void()> in_child) {
    std::atomic<pid_t> child = 0;
    std::atomic<int> later_callbacks = 0;
    mutex_.async_acquire([&](std::optional<lease>, std::exception_ptr const&) {
      // A lock of this process answers a try at once, so both callbacks are in one batch.
      busy_.async_try_acquire_for(0s, [&](std::optional<lease>, std::exception_ptr const&) {
        auto const forked = ::fork();
        if (forked == 0) {
          in_child();
        } else {
          child = forked;
        }
      });
      busy_.async_try_acquire_for(
          0s, [&](std::optional<lease>, std::exception_ptr const&) { ++later_callbacks; });
    });
    auto status = -1;
    EXPECT_TRUE(eventually([&] { return later_callbacks == 1; }));
    EXPECT_TRUE(eventually([&] { return ::waitpid(child, &status, WNOHANG) == child; }));
    return status;
  }

  mutex mutex_{redis_, "orders"};
  mutex busy_{redis_, "busy"};
  lease busy_lease_ = busy_.acquire();
};

TEST_F(forked_in_a_callback, child_that_waits_for_a_lock_of_its_own_runs_nothing_of_its_parent_s) {
  if (under_thread_sanitizer)
    GTEST_SKIP() << "ThreadSanitizer lets no child of a process with threads start one of its own";
  auto const status = run([this] {
    auto passed = false;
    {
      client child_client{server_.url()};
      mutex child_mutex{child_client, "of the child"};
      passed = child_mutex.acquire().release() == release_result::released;
      std::filesystem::directory_iterator const threads{"/proc/self/task"};
      passed = passed && std::distance(begin(threads), end(threads)) == 2;  // this, and that of the client
    }
    ::_exit(passed ? 0 : 1);
  });
  EXPECT_TRUE(WIFEXITED(status)) << status;
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_TRUE(mutex_.try_acquire_for(20s)) << "its parent's answers are its parent's";
  EXPECT_EQ(busy_lease_.release(), release_result::released);
  EXPECT_TRUE(nothing_left_behind());
}

TEST_F(forked_in_a_callback, child_that_returns_from_it_is_ended) {
  auto const status = run([] {
    rlimit const none{};
    ::setrlimit(RLIMIT_CORE, &none);
  });
  ASSERT_TRUE(WIFSIGNALED(status)) << status;
  EXPECT_EQ(WTERMSIG(status), SIGABRT);
  EXPECT_EQ(busy_lease_.release(), release_result::released);
  EXPECT_TRUE(nothing_left_behind());
}

}  // namespace
}  // namespace holdfast::test
