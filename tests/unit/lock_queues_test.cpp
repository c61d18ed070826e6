#include "engine/lock_queues.hpp"

#include "engine/holders.hpp"
#include "unit/engine_parts.hpp"
#include "wire/plain/fair.hpp"
#include "wire/redisson/recipes.hpp"

namespace holdfast::engine {
namespace {

class queues_of_a_client : public engine_parts {};

TEST_F(queues_of_a_client, are_one_for_each_kind_and_name) {
  auto const orders = pin();
  EXPECT_EQ(pin(), orders);
  EXPECT_NE(pin(recipes::plain::fair), orders);
  EXPECT_NE(pin(recipes::plain::exclusive, "other"), orders);
  EXPECT_EQ(queues_.kinds().size(), 2u);
}

TEST_F(queues_of_a_client, live_as_long_as_there_is_a_pointer_to_them) {
  auto emptied = 0;
  lock_queues queues{nullptr, client_, [&emptied] { ++emptied; }};
  auto one = queues.pin(recipes::plain::exclusive, "a");
  auto other = queues.pin(recipes::plain::exclusive, "b");
  one.reset();
  EXPECT_EQ(queues.find(recipes::plain::exclusive, "a"), nullptr);
  EXPECT_EQ(emptied, 0);
  other.reset();
  EXPECT_EQ(emptied, 1);
}

TEST_F(queues_of_a_client, are_found_by_the_number_of_their_contender) {
  auto const queue = pin();
  open_contender(*queue, 5);
  EXPECT_EQ(queues_.contending(5), queue.get());
  EXPECT_TRUE(is_contender(*queue, 5));
  queues_.remove_contender(*queue);
  EXPECT_EQ(queues_.contending(5), nullptr);
  EXPECT_FALSE(is_contender(*queue, 5));
}

TEST_F(queues_of_a_client, may_end_while_all_are_visited) {
  std::vector<lock_queue_ptr> all{pin(recipes::plain::exclusive, "a"), pin(recipes::plain::exclusive, "b")};
  auto visited = 0;
  queues_.for_each([&](lock_queue& queue) {
    ++visited;
    std::erase(all, &queue);
  });
  EXPECT_EQ(visited, 2);
  EXPECT_EQ(queues_.find(recipes::plain::exclusive, "a"), nullptr);
}

class leases_of_a_client : public engine_parts {
 protected:
  lock_queue_ptr queue_{pin(recipes::redisson::reader)};
  holders holders_;
};

TEST_F(leases_of_a_client, share_an_acquisition_where_their_kind_allows_that) {
  auto const first = make_lease(queue_, 1);
  holders_.open(*first, boot_clock::now());
  auto const second =
      holders_.join(*queue_, effective_options_ptr{new effective_options{{}}}, boot_clock::now());
  ASSERT_TRUE(second);
  EXPECT_EQ(second->number(), 1u);
  EXPECT_FALSE(holders_.leave(*first)) << "the other one has it";
  EXPECT_TRUE(holders_.has(*queue_, 1));
  EXPECT_EQ(holders_.find(*queue_, 1), second.get());
  EXPECT_TRUE(holders_.leave(*second));
  EXPECT_FALSE(holders_.has(*queue_, 1));
  EXPECT_EQ(holders_.any_shared(), nullptr);
}

TEST_F(leases_of_a_client, share_no_acquisition_whose_trace_was_said_before_it_was_downgraded) {
  auto const first = make_lease(queue_, 1);
  first->trace_said = true;
  holders_.open(*first, boot_clock::now());
  EXPECT_FALSE(holders_.join(*queue_, effective_options_ptr{new effective_options{{}}}, boot_clock::now()));
  EXPECT_TRUE(holders_.leave(*first));
}

TEST_F(leases_of_a_client, are_found_by_their_number) {
  auto const queue = pin();
  auto const lease = make_lease(queue, 1);
  queue->holder = lease.get();
  EXPECT_TRUE(holders_.has(*queue, 1));
  EXPECT_FALSE(holders_.has(*queue, 2));
  EXPECT_EQ(holders_.find(*queue, 1), lease.get());
  EXPECT_TRUE(holders_.leave(*lease));
  EXPECT_EQ(queue->holder, nullptr);
}

}  // namespace
}  // namespace holdfast::engine
