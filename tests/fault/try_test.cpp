/// Those that only try, beside those that wait, in one process.
#include "fault.hpp"

namespace holdfast::test {
namespace {

class who_only_tries : public fault {
 protected:
  /// An acquisition that doesn't wait, and what came of it.
  struct attempt {
    explicit attempt(mutex& m) {
      m.async_try_acquire_for(0ns, [state = state_](std::optional<lease> mine, std::exception_ptr const&) {
        state->got = std::move(mine);
        state->done = true;
      });
    }
    [[nodiscard]] bool done() const { return state_->done; }
    [[nodiscard]] std::optional<lease> take() { return std::exchange(state_->got, std::nullopt); }

   private:
    struct state {
      std::optional<lease> got;
      std::atomic<bool> done = false;
    };
    std::shared_ptr<state> state_ = std::make_shared<state>();
  };

  flaky_proxy proxy_{server_.socket_path()};
  client redis_{proxy_.url(), unhurried()};
  mutex wanted_{redis_, "orders"};
};

TEST_F(who_only_tries, hears_that_it_is_busy_while_others_go_on_waiting) {
  client other{server_.url(), unhurried()};
  mutex held{other, "orders"};
  auto theirs = held.acquire();
  redis_.connect();
  proxy_.freeze();
  waiter first{wanted_};
  attempt one{wanted_};
  waiter second{wanted_};
  attempt another{wanted_};
  EXPECT_EQ(redis_.stats().waiting_now, 4u);
  proxy_.thaw();
  ASSERT_TRUE(eventually([&] { return one.done() && another.done(); }));
  EXPECT_FALSE(one.take());
  EXPECT_FALSE(another.take());
  EXPECT_EQ(redis_.stats().waiting_now, 2u);
  EXPECT_FALSE(first.done() || second.done());
  theirs.release();
  ASSERT_TRUE(eventually([&] { return first.done(); }));
  first.take().release();
  ASSERT_TRUE(eventually([&] { return second.done(); }));
  EXPECT_TRUE(second.take().valid());
}

TEST_F(who_only_tries, has_its_turn_before_those_that_came_later) {
  redis_.connect();
  proxy_.freeze();
  attempt first{wanted_};
  waiter second{wanted_};
  attempt third{wanted_};
  proxy_.thaw();
  ASSERT_TRUE(eventually([&] { return first.done() && third.done(); }));
  auto mine = first.take();
  ASSERT_TRUE(mine);
  EXPECT_FALSE(third.take());
  EXPECT_FALSE(second.done());
  mine->release();
  ASSERT_TRUE(eventually([&] { return second.done(); }));
  EXPECT_TRUE(second.take().valid());
}

TEST_F(who_only_tries, leaves_nothing_when_it_is_cancelled_first) {
  redis_.connect();
  proxy_.freeze();
  std::stop_source enough;
  std::atomic<bool> cancelled = false;
  wanted_.async_try_acquire_for(
      0ns, [&](std::optional<lease> const&, std::exception_ptr const&) { cancelled = true; },
      enough.get_token());
  attempt second{wanted_};
  enough.request_stop();
  ASSERT_TRUE(eventually([&] { return cancelled.load(); }));
  EXPECT_FALSE(second.done());
  proxy_.thaw();
  ASSERT_TRUE(eventually([&] { return second.done(); }));
  EXPECT_TRUE(second.take());
  EXPECT_TRUE(comes_clean());
}

}  // namespace
}  // namespace holdfast::test
