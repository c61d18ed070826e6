// A lease that is given back to wait for something, while the server, or the memory, isn't there.

#include "engine/lay_down_calls.hpp"

#include "unit/a_conversion.hpp"

namespace holdfast::engine {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

class laying_down : public a_conversion {
 protected:
  /// By a request that the server refuses for the moment; then there is no memory for the next one.
  void lay_down_without_memory(lease_state_ptr const& held, bool resent) {
    loop_.simulate([this, resent] {
      reactor::lock hold{loop_.mutex()};
      ASSERT_THAT(backend_.take_sent(), ElementsAre("convert"));
      backend_.refuse("BUSY Redis is busy", resent);
      backend_.out_of_memory = 1;
      let_time_pass(25ms);
      loop_.leave(hold);
    });
    EXPECT_THROW(lay_downs_.lay_down(held, call{scripts::shared::downgrade::source, {}, {}}), error);
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

}  // namespace
}  // namespace holdfast::engine
