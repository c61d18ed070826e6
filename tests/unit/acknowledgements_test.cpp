#include "engine/acknowledgements.hpp"

#include "unit/engine_parts.hpp"

namespace holdfast::engine {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class an_acknowledged_acquisition : public engine_parts {
 protected:
  void acquire(lock_options const& wanted = {.replicas = 2}) {
    wanted_ = wanted;
    acknowledgements_.acquire(recipes::plain::exclusive, "orders", {.owner = "me:1", .ttl = wanted.ttl},
                              wanted, {.while_down = net::retry_policy::steady},
                              [this](answer<verdict>&&, acknowledgement const* reached) {
                                ++completed_;
                                if (reached != nullptr) reached_ = *reached;
                              });
  }
  [[nodiscard]] bool enough() const { return reached_ && reached_->enough(wanted_); }

  acknowledgements acknowledgements_{backend_, client_};
  lock_options wanted_;
  int completed_ = 0;
  std::optional<acknowledgement> reached_;
};

TEST_F(an_acknowledged_acquisition, completes_after_the_reply_to_the_wait_behind_it) {
  acquire();
  EXPECT_THAT(backend_.take_sent(), ElementsAre("acquire 1", "WAIT"));
  backend_.answer(granted_from(500));
  EXPECT_EQ(completed_, 0);
  EXPECT_GT(acknowledgements_.delay(), milliseconds{0});
  backend_.reply(resp::make_integer(2));
  EXPECT_EQ(completed_, 1);
  EXPECT_TRUE(enough());
  EXPECT_EQ(acknowledgements_.delay(), milliseconds{0});
}

TEST_F(an_acknowledged_acquisition, is_known_to_have_used_a_connection_of_its_own) {
  EXPECT_FALSE(acknowledgements_.used());
  acquire();
  EXPECT_TRUE(acknowledgements_.used());
}

TEST_F(an_acknowledged_acquisition, completes_at_once_when_the_lock_is_busy) {
  acquire();
  backend_.answer(busy_for(milliseconds{10}));
  EXPECT_EQ(completed_, 1);
  EXPECT_FALSE(reached_);
  backend_.reply(resp::make_integer(2));
  EXPECT_EQ(completed_, 1);
}

TEST_F(an_acknowledged_acquisition, sends_another_wait_when_the_first_one_was_answered_before_the_script) {
  acquire();
  (void)backend_.take_sent();
  backend_.swap_oldest();
  backend_.reply(resp::make_integer(2));
  backend_.answer(granted_from(500));
  EXPECT_EQ(completed_, 0) << "that WAIT was ahead of the acquisition";
  EXPECT_THAT(backend_.take_sent(), ElementsAre("WAIT"));
  backend_.reply(resp::make_integer(2));
  EXPECT_TRUE(enough());
}

TEST_F(an_acknowledged_acquisition, says_how_many_copies_are_missing) {
  acquire();
  backend_.answer(granted_from(500));
  backend_.reply(resp::make_integer(1));
  ASSERT_TRUE(reached_);
  EXPECT_FALSE(enough());
  auto const failure = explain_lack(*reached_, wanted_, "\"orders\"", client_.url);
  EXPECT_EQ(failure->code(), errc::unreplicated);
  EXPECT_THAT(failure->what(), HasSubstr("acknowledged by 1 of 2 replicas"));
}

TEST_F(an_acknowledged_acquisition, counts_for_nothing_when_the_wait_went_over_another_connection) {
  acquire();
  backend_.answer(granted_from(500), 1);
  backend_.reply(resp::make_integer(2), 2);
  ASSERT_TRUE(reached_);
  EXPECT_TRUE(reached_->elsewhere);
}

TEST_F(an_acknowledged_acquisition, asks_about_disks_where_the_lock_is_to_be_on_disk) {
  acquire({.fsynced = true});
  EXPECT_THAT(backend_.take_sent(), ElementsAre("acquire 1", "WAITAOF"));
  backend_.answer(granted_from(500));
  backend_.reply(resp::make_array({resp::make_integer(0), resp::make_integer(0)}));
  EXPECT_FALSE(enough());
  EXPECT_TRUE(reached_->of_disks);
}

/// The reply has to come before the connection is taken for dead, and leave most of the lease.
TEST_F(an_acknowledged_acquisition, gives_copies_a_part_of_the_time_that_a_server_may_be_silent) {
  client_.options.reply_timeout = milliseconds{1000};
  auto const delay_with = [this](lock_options const& wanted) {
    acquire(wanted);
    auto const delay = acknowledgements_.delay();
    backend_.answer(granted_from(500));
    backend_.reply(resp::make_integer(2));
    return delay;
  };
  // Longer and longer, since delay() goes by the longest so far: twice that.
  EXPECT_EQ(delay_with({.ttl = milliseconds{400}, .replicas = 2}), milliseconds{200});
  EXPECT_EQ(delay_with({.ttl = std::chrono::hours{1}, .replicas = 2}), milliseconds{1000});
  EXPECT_EQ(delay_with({.ttl = std::chrono::hours{1}, .fsynced = true}), milliseconds{1500});
}

/// The server carries them out one after the other.
TEST_F(an_acknowledged_acquisition, waits_behind_all_that_are_under_way_but_for_no_more_than_some) {
  lock_options const wanted{.ttl = milliseconds{400}, .replicas = 2};
  acquire(wanted);
  EXPECT_EQ(acknowledgements_.delay(), milliseconds{200});
  acquire(wanted);
  acquire(wanted);
  EXPECT_EQ(acknowledgements_.delay(), milliseconds{400});
  for (auto i = 0; i != 100; ++i) acquire(wanted);
  EXPECT_EQ(acknowledgements_.delay(), milliseconds{800});
}

TEST_F(an_acknowledged_acquisition, is_not_begun_without_memory_for_the_script) {
  backend_.out_of_memory = 1;
  EXPECT_THROW(acquire(), std::bad_alloc);
  EXPECT_THAT(backend_.take_sent(), IsEmpty());
}

}  // namespace
}  // namespace holdfast::engine
