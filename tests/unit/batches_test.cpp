#include "engine/batches.hpp"

#include "unit/engine_parts.hpp"

namespace holdfast::engine {
namespace {

class batches_of_leases : public engine_parts {
 protected:
  /// The sizes of the batches of so many leases.
  [[nodiscard]] std::vector<std::size_t> batch(std::size_t count) {
    batches all;
    for (auto i = leases_.size(); i < count; ++i) leases_.push_back(make_lease(queue_, i + 1));
    for (std::size_t i = 0; i != count; ++i) all.add(*leases_[i], 0);
    std::vector<std::size_t> sizes;
    for (auto const& each : all.take()) sizes.push_back(each.size());
    return sizes;
  }

  lock_queue_ptr queue_ = pin();
  std::vector<lease_state_ptr> leases_;
};

TEST_F(batches_of_leases, have_256_each) {
  EXPECT_THAT(batch(256), testing::ElementsAre(256));
  EXPECT_THAT(batch(257), testing::ElementsAre(256, 1));
  EXPECT_THAT(batch(513), testing::ElementsAre(256, 256, 1));
}

}  // namespace
}  // namespace holdfast::engine
