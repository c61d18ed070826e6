/// holdfast::shared_mutex as Boost.Thread's UpgradeLockable.
#include "law.hpp"

#include <holdfast/shared_mutex.hpp>

#include <gmock/gmock.h>

#include <boost/thread/lock_types.hpp>

#include <atomic>
#include <mutex>
#include <shared_mutex>
#include <thread>

namespace holdfast::test {
namespace {

using testing::HasSubstr;

class std_upgrade : public testing::Test {
 protected:
  template <class F>
  static void in_a_thread(F f) {
    std::jthread{std::move(f)}.join();
  }
  /// Another caller can read, or write.
  bool others_read() { return remote_.try_acquire_shared().has_value(); }
  bool others_write() { return remote_.try_acquire().has_value(); }
  static std::string refusal_of(auto operation) {
    auto const refusal = failure_of(operation);
    EXPECT_EQ(refusal.code, std::errc::resource_deadlock_would_occur);
    return refusal.message;
  }

  deployment_under_test server_{};
  raw_servers raw_ = server_.raw();
  client redis_{server_.url(), with_long_timeouts({})};
  client elsewhere_{server_.url(), with_long_timeouts({})};
  shared_mutex m_{redis_, "m"};
  shared_mutex remote_{elsewhere_, "m"};
};

TEST_F(std_upgrade, reads_beside_others_and_writes_alone_under_boost_s_locks) {
  {
    boost::upgrade_lock<shared_mutex> reading{m_};
    EXPECT_TRUE(others_read());
    EXPECT_FALSE(others_write());
    {
      boost::upgrade_to_unique_lock<shared_mutex> const writing{reading};
      EXPECT_TRUE(writing.owns_lock());
      EXPECT_FALSE(others_read());
    }
    EXPECT_TRUE(reading.owns_lock());
    EXPECT_TRUE(others_read());
    EXPECT_FALSE(remote_.try_acquire_upgrade());
  }
  EXPECT_EQ(m_.last_release(), release_result::released);
  EXPECT_TRUE(others_write());
}

TEST_F(std_upgrade, only_reads_from_then_on_as_a_boost_s_shared_lock) {
  boost::upgrade_lock<shared_mutex> upgrading{m_};
  boost::shared_lock<shared_mutex> const reading{std::move(upgrading)};
  EXPECT_TRUE(reading.owns_lock());
  EXPECT_TRUE(others_read());
  EXPECT_FALSE(others_write());
  EXPECT_TRUE(remote_.try_acquire_upgrade());
  EXPECT_EQ(code_of([&] { m_.unlock_upgrade(); }), std::errc::operation_not_permitted);
}

TEST_F(std_upgrade, is_one_at_a_time) {
  std::scoped_lock const writing{m_};
  in_a_thread([&] { EXPECT_FALSE(m_.try_lock_upgrade()); });
  m_.unlock_and_lock_upgrade();
  in_a_thread([&] {
    EXPECT_FALSE(m_.try_lock_upgrade());
    EXPECT_FALSE(m_.try_lock_upgrade_for(std::chrono::milliseconds{1}));
    EXPECT_FALSE(m_.try_lock_upgrade_until(std::chrono::steady_clock::now()));
    EXPECT_TRUE(m_.try_lock_shared());
    m_.unlock_shared();
  });
  m_.unlock_upgrade_and_lock();
}

TEST_F(std_upgrade, stays_where_others_read_for_too_long) {
  m_.lock_upgrade();
  auto reading = remote_.acquire_shared();
  EXPECT_FALSE(m_.try_unlock_upgrade_and_lock());
  EXPECT_FALSE(m_.try_unlock_upgrade_and_lock_for(std::chrono::milliseconds{1}));
  EXPECT_FALSE(m_.try_unlock_upgrade_and_lock_until(std::chrono::steady_clock::now()));
  reading.release();
  EXPECT_TRUE(m_.try_unlock_upgrade_and_lock_for(wait_limit));
  EXPECT_TRUE(m_.current().valid());
  m_.unlock();
  EXPECT_FALSE(raw_.exists("m"));
}

TEST_F(std_upgrade, refuses_to_have_a_thread_wait_for_itself) {
  m_.lock_upgrade();
  EXPECT_THAT(refusal_of([&] { m_.lock(); }), HasSubstr("unlock_upgrade_and_lock()"));
  EXPECT_THAT(refusal_of([&] { m_.lock_shared(); }), HasSubstr("it reads already"));
  (void)refusal_of([&] { m_.lock_upgrade(); });
  EXPECT_FALSE(m_.try_lock());
  EXPECT_FALSE(m_.try_lock_shared());
  EXPECT_FALSE(m_.try_lock_upgrade());
  m_.unlock_upgrade();
  m_.lock_shared();
  EXPECT_THAT(refusal_of([&] { m_.lock_upgrade(); }), HasSubstr("unlock_shared()"));
  m_.unlock_shared();
  m_.lock();
  EXPECT_THAT(refusal_of([&] { m_.lock_upgrade(); }), HasSubstr("unlock_and_lock_upgrade()"));
  m_.unlock();
}

TEST_F(std_upgrade, unlocks_only_what_the_thread_has) {
  EXPECT_EQ(code_of([&] { m_.unlock_upgrade(); }), std::errc::operation_not_permitted);
  EXPECT_EQ(code_of([&] { m_.unlock_upgrade_and_lock(); }), std::errc::operation_not_permitted);
  EXPECT_EQ(code_of([&] { m_.unlock_and_lock_upgrade(); }), std::errc::operation_not_permitted);
  EXPECT_EQ(code_of([&] { m_.unlock_upgrade_and_lock_shared(); }), std::errc::operation_not_permitted);
  m_.lock_upgrade();
  EXPECT_EQ(code_of([&] { m_.unlock(); }), std::errc::operation_not_permitted);
  EXPECT_EQ(code_of([&] { m_.unlock_shared(); }), std::errc::operation_not_permitted);
  in_a_thread([&] { EXPECT_EQ(code_of([&] { m_.unlock_upgrade(); }), std::errc::operation_not_permitted); });
  m_.unlock_upgrade();
}

TEST_F(std_upgrade, is_to_be_unlocked_also_when_it_was_lost) {
  boost::upgrade_lock<shared_mutex> reading{m_};
  for (auto const& key : raw_.keys()) raw_.del(key);
  EXPECT_EQ(code_of([&] { boost::upgrade_to_unique_lock<shared_mutex> const writing{reading}; }), errc::lost);
  EXPECT_TRUE(reading.owns_lock());
  reading.unlock();
  EXPECT_EQ(m_.last_release(), release_result::lost);
}

TEST_F(std_upgrade, is_given_back_when_its_thread_ends) {
  in_a_thread([&] { m_.lock_upgrade(); });
  EXPECT_TRUE(remote_.try_acquire_upgrade_for(wait_limit));
}

}  // namespace
}  // namespace holdfast::test
