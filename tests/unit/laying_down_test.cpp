// A lease that is given back to wait for something, while the server, or the memory, isn't there.

#include "engine/lay_down_calls.hpp"

#include "unit/a_conversion.hpp"

namespace holdfast::engine {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

class laying_down : public a_conversion {
 protected:
  /// `f` runs while the caller waits for an answer.
  void lay_down(lease_state_ptr const& held, std::function<void()> f) {
    auto const when_asked = [this, &f] {
      ASSERT_THAT(backend_.take_sent(), ElementsAre("convert"));
      f();
    };
    meanwhile(when_asked, [&] { lay_downs_.lay_down(held, script_); });
  }
  /// By a request that the server refuses for the moment; then there is no memory for the next one.
  void lay_down_without_memory(lease_state_ptr const& held, bool resent) {
    lay_down(held, [this, resent] {
      backend_.refuse("BUSY Redis is busy", resent);
      backend_.out_of_memory = 1;
      let_time_pass(25ms);
    });
    EXPECT_TRUE(static_cast<bool>(failure_));
  }

  lay_down_calls lay_downs_{
      loop_, client_, gate_, renewer_, pending_releases_, loop_of_client_.ends, conversions_, moments_.get()};
};

TEST_F(laying_down, without_memory_loses_what_a_copy_may_have_given_back) {
  auto const held = write();
  lay_down_without_memory(held, true);
  EXPECT_EQ(held->cause(), loss_cause::unreachable);
}

TEST_F(laying_down, without_memory_goes_on_with_what_nobody_has_given_back) {
  auto const held = write();
  lay_down_without_memory(held, false);
  EXPECT_TRUE(held->valid());
}

/// Otherwise it would be nobody's until the end of its ttl: who has lost it for that gives nothing back.
TEST_F(laying_down, that_ends_in_doubt_gives_the_lease_back) {
  auto const held = write();
  lay_down(held, [&] {
    backend_.refuse("OOM command not allowed when used memory > 'maxmemory'.", true);
    ASSERT_THAT(backend_.take_sent(), ElementsAre("release orders"));
    backend_.answer(ownership::held);
  });
  EXPECT_EQ(failure_, errc::lost) << "errc::refused says that it is still held";
  EXPECT_EQ(held->cause(), loss_cause::unreachable);
}

TEST_F(laying_down, that_ends_in_doubt_leaves_a_lease_that_is_to_be_kept) {
  auto const held = write({.keep = true});
  lay_down(held, [&] {
    backend_.refuse("OOM command not allowed when used memory > 'maxmemory'.", true);
    ASSERT_THAT(backend_.take_sent(), IsEmpty());
  });
  EXPECT_EQ(held->cause(), loss_cause::unreachable);
}

TEST_F(laying_down, tells_the_loss_of_the_lease_when_its_time_is_over_and_not_when_it_is_answered) {
  auto const held = write();
  auto const lost = held->stop_token();
  lay_down(held, [&] {
    let_time_pass(12s);
    EXPECT_EQ(held->cause(), loss_cause::unreachable);
    backend_.answer(ownership::held);
  });
  EXPECT_EQ(failure_, errc::lost);
  EXPECT_TRUE(lost.stop_requested());
}

TEST_F(laying_down, tells_the_loss_of_the_lease_at_its_limit) {
  auto const held = write({.max_hold = 1s});
  lay_down(held, [&] {
    let_time_pass(990ms);
    backend_.refuse("LOADING Redis is loading the dataset in memory");
    let_time_pass(25ms);
    EXPECT_EQ(held->cause(), loss_cause::limit_reached);
    EXPECT_THAT(backend_.take_sent(), IsEmpty()) << "it isn't laid down any more";
  });
  EXPECT_EQ(failure_, errc::lost);
}

TEST_F(laying_down, that_is_refused_goes_on_to_renew_the_lease) {
  auto const held = write();
  auto answered = 0;
  lay_down(held, [&] {
    renewer_.renew_now(*held, [&](answer<renewals> const&, time_point) { ++answered; });
    EXPECT_THAT(backend_.take_sent(), IsEmpty()) << "it waits";
    backend_.refuse("OOM command not allowed when used memory > 'maxmemory'.");
    ASSERT_THAT(backend_.take_sent(), ElementsAre("renew"));
    backend_.answer(renewals{});
  });
  EXPECT_EQ(failure_, errc::refused);
  EXPECT_EQ(answered, 1);
  pass(5s);
  EXPECT_THAT(backend_.take_sent(), ElementsAre("renew"));
  backend_.answer(renewals{});
  EXPECT_TRUE(held->valid());
}

}  // namespace
}  // namespace holdfast::engine
