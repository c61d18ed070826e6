/// holdfast::semaphore on the plain wire: permits without leases, in an order over all processes, with names
/// for who took them.
#include "waiters.hpp"
#include "waiting.hpp"

#include <holdfast/expiring_semaphore.hpp>
#include <holdfast/inspect.hpp>
#include <holdfast/semaphore.hpp>

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "script/names.hpp"

namespace holdfast::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class plain_semaphore : public testing::Test {
 protected:
  [[nodiscard]] client connect(std::string const& label) const {
    return client{server_.url(), with_long_timeouts({.label = label, .recheck = 30s})};
  }
  [[nodiscard]] bool has_waiters(std::size_t count) {
    return test::has_waiters(raw_, "p", names::permit_queue("p"), count);
  }
  [[nodiscard]] static bool is_granted(pending_wait& caller) {
    return eventually([&] { return caller.succeeded(); });
  }
  /// Not with a permit that stays.
  [[nodiscard]] bool ends_with_a_lease() { return raw_.pttl("p") < 60'000; }

  deployment_under_test server_{};
  raw_servers raw_ = server_.raw();
  client first_client_ = connect("first");
  client second_client_ = connect("second");
  client third_client_ = connect("third");
  semaphore p_{first_client_, "p", 3};
  semaphore remote_{second_client_, "p", 3};
  semaphore other_{third_client_, "p", 3};
};

TEST_F(plain_semaphore, counts_over_all_clients) {
  EXPECT_TRUE(p_.try_acquire(2));
  EXPECT_EQ(remote_.available(), 1);
  EXPECT_FALSE(remote_.try_acquire(2));
  remote_.acquire();
  EXPECT_EQ(p_.available(), 0);
  p_.release(2);
  remote_.release();
  EXPECT_EQ(p_.available(), 3);
  EXPECT_FALSE(raw_.exists("p"));
}

TEST_F(plain_semaphore, stays_taken_when_its_client_has_gone) {
  {
    auto gone = connect("gone");
    semaphore{gone, "p", 3}.acquire(3);
    ASSERT_TRUE(has_record(gone, raw_));
    gone.shutdown(10s);
  }
  EXPECT_FALSE(p_.try_acquire());
  EXPECT_FALSE(ends_with_a_lease());
  auto const seen = inspect(first_client_, "p");
  ASSERT_EQ(seen.holders.size(), 1u);
  EXPECT_EQ(seen.holders[0].process.label, "gone");
  EXPECT_EQ(seen.holders[0].count, 3);
  EXPECT_EQ(seen.holders[0].ttl_left, std::nullopt);
  EXPECT_EQ(seen.ttl_left, std::nullopt);
}

TEST_F(plain_semaphore, is_given_back_for_a_client_that_has_gone) {
  {
    auto gone = connect("gone");
    semaphore{gone, "p", 3}.acquire(2);
    ASSERT_TRUE(has_record(gone, raw_));
    gone.shutdown(10s);
  }
  p_.acquire();
  pending_wait waiting;
  remote_.async_acquire(waiting.handler(), 2);
  ASSERT_TRUE(has_waiters(1));
  auto const seen = inspect(first_client_, "p");
  auto const of_gone = std::ranges::find(seen.holders, std::string{"gone"},
                                         [](hold_info const& each) { return each.process.label; });
  ASSERT_NE(of_gone, seen.holders.end());
  EXPECT_EQ(force_release(third_client_, "p", {.owner = of_gone->process.owner}), force_result::deleted);
  EXPECT_TRUE(is_granted(waiting));
  EXPECT_EQ(p_.available(), 0);
  EXPECT_EQ(force_release(third_client_, "p"), force_result::deleted) << "of all";
  EXPECT_EQ(p_.available(), 3);
}

TEST_F(plain_semaphore, is_given_back_by_another_client) {
  p_.acquire(3);
  remote_.release(2);
  EXPECT_EQ(other_.available(), 2);
  ASSERT_TRUE(has_record(first_client_, raw_));
  auto const seen = inspect(first_client_, "p");
  ASSERT_EQ(seen.holders.size(), 1u);
  EXPECT_EQ(seen.holders[0].count, 1);
  EXPECT_EQ(seen.holders[0].process.label, "first");
}

TEST_F(plain_semaphore, is_given_back_by_who_took_it_if_it_did) {
  p_.acquire();
  remote_.acquire();
  p_.release();
  ASSERT_TRUE(has_record(second_client_, raw_));
  auto const seen = inspect(first_client_, "p");
  ASSERT_EQ(seen.holders.size(), 1u);
  EXPECT_EQ(seen.holders[0].process.label, "second");
}

TEST_F(plain_semaphore, goes_to_callers_in_order_however_many_they_want) {
  p_.acquire(3);
  pending_wait large;
  remote_.async_acquire(large.handler(), 3);
  ASSERT_TRUE(has_waiters(1));
  pending_wait small;
  other_.async_acquire(small.handler());
  ASSERT_TRUE(has_waiters(2));
  EXPECT_FALSE(p_.try_acquire());
  p_.release(2);
  EXPECT_TRUE(always(100ms, [&] { return !large.done() && !small.done(); }));
  p_.release();
  ASSERT_TRUE(is_granted(large));
  EXPECT_FALSE(ends_with_a_lease()) << "what the message granted lasts, once the client has asked again";
  EXPECT_FALSE(small.done());
  remote_.release(3);
  EXPECT_TRUE(is_granted(small));
  EXPECT_EQ(p_.available(), 2);
}

TEST_F(plain_semaphore, gives_nothing_to_a_caller_that_left) {
  p_.acquire(3);
  std::stop_source stop;
  pending_wait leaving;
  remote_.async_acquire(leaving.handler(), 2, stop.get_token());
  ASSERT_TRUE(has_waiters(1));
  stop.request_stop();
  ASSERT_TRUE(eventually([&] { return leaving.failed(); }));
  EXPECT_TRUE(eventually([&] { return waiters_in(raw_, names::permit_queue("p")).empty(); }));
  p_.release(3);
  EXPECT_EQ(p_.available(), 3);
}

TEST_F(plain_semaphore, shares_its_number_with_leased_permits) {
  expiring_semaphore leased{second_client_, "p", 3};
  auto lease = leased.acquire(2);
  EXPECT_FALSE(p_.try_acquire(2));
  EXPECT_TRUE(p_.try_acquire());
  EXPECT_FALSE(leased.try_acquire());
  p_.release();
  EXPECT_TRUE(ends_with_a_lease());
  EXPECT_EQ(code_of([&] { p_.release(); }), errc::wrong_type);
  EXPECT_THAT(message_of([&] { p_.release(); }),
              AllOf(HasSubstr("2 permits with leases, of an expiring_semaphore"),
                    HasSubstr("not 1 permits without leases, of a semaphore")));
  EXPECT_TRUE(lease.valid());
  lease.release();
  EXPECT_EQ(p_.available(), 3);
}

TEST_F(plain_semaphore, gets_new_permits_from_who_releases_more_than_are_out) {
  semaphore signal{first_client_, "p"};
  EXPECT_FALSE(signal.exists());
  pending_wait waiting;
  semaphore consumer{second_client_, "p"};
  consumer.async_acquire(waiting.handler());
  ASSERT_TRUE(has_waiters(1));
  signal.release();
  EXPECT_TRUE(is_granted(waiting));
  EXPECT_TRUE(signal.exists());
  EXPECT_EQ(signal.available(), 0);
  signal.release(2);
  EXPECT_EQ(signal.available(), 2);
  EXPECT_TRUE(consumer.try_acquire(2));
}

TEST_F(plain_semaphore, has_its_size_before_there_are_permits) {
  EXPECT_EQ(p_.available(), 3);
  EXPECT_FALSE(p_.exists()) << "nobody has given it any";
  p_.acquire();
  EXPECT_TRUE(other_.exists());
}

TEST_F(plain_semaphore, is_given_its_permits_once) {
  semaphore empty{first_client_, "p"};
  EXPECT_TRUE(empty.try_set_permits(5));
  EXPECT_FALSE(remote_.try_set_permits(9));
  EXPECT_EQ(remote_.available(), 5);
}

TEST_F(plain_semaphore, adds_takes_away_and_drains) {
  p_.try_set_permits(5);
  p_.acquire(2);
  remote_.add_permits(-5);
  EXPECT_EQ(p_.available(), -2);
  EXPECT_FALSE(p_.try_acquire());
  p_.release(2);
  EXPECT_EQ(remote_.available(), 0);
  remote_.add_permits(4);
  EXPECT_EQ(p_.drain(), 4);
  EXPECT_EQ(p_.drain(), 0);
  EXPECT_EQ(remote_.available(), 0);
}

TEST_F(plain_semaphore, tells_clients_of_the_version_before_what_it_found) {
  raw_.command({"SET", "p", "3"});
  EXPECT_EQ(code_of([&] { (void)p_.try_acquire(); }), errc::wrong_type);
  EXPECT_THAT(message_of([&] { (void)p_.try_acquire(); }),
              AllOf(HasSubstr("number"), HasSubstr("wire=redisson")));
}

TEST_F(plain_semaphore, lets_nobody_in_over_its_number_under_many_threads) {
  std::atomic<int> inside = 0;
  std::atomic<int> most = 0;
  {
    std::vector<std::jthread> workers;
    for (auto i = 0; i < 6; ++i) {
      workers.emplace_back([&, &mine = i % 2 == 0 ? p_ : remote_, wanted = 1 + i % 2] {
        for (auto round = 0; round < 30; ++round) {
          mine.acquire(wanted);
          auto const current = inside += wanted;
          for (auto old = most.load(); current > old && !most.compare_exchange_weak(old, current);) {
          }
          inside -= wanted;
          mine.release(wanted);
        }
      });
    }
  }
  EXPECT_LE(most.load(), 3);
  EXPECT_EQ(p_.available(), 3);
  EXPECT_FALSE(raw_.exists("p"));
  EXPECT_FALSE(raw_.exists(names::permit_queue("p")));
}

}  // namespace
}  // namespace holdfast::test
