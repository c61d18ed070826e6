#include "engine/held_traces.hpp"

#include "unit/engine_parts.hpp"
#include "wire/plain/permits.hpp"
#include "wire/plain/shared.hpp"

namespace holdfast::engine {
namespace {

using namespace std::chrono_literals;

constexpr auto first_trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
constexpr auto second_trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

class traces : public engine_parts {
 protected:
  lease_state_ptr begin(std::uint64_t number, std::string_view trace = first_trace) {
    return begin(queue_, number, trace);
  }
  lease_state_ptr begin(lock_queue_ptr const& queue, std::uint64_t number, std::string_view trace) {
    auto lease = make_lease(queue, number);
    held_.asked(trace);
    held_.begun(*lease, trace, boot_clock::now());
    return lease;
  }
  void end(lease_state_ptr const& lease) { held_.ended(*lease, boot_clock::now()); }

  lock_queue_ptr queue_{pin()};
  std::vector<std::string> written_;
  bool refused_ = false;
  held_traces held_{loop_, [this](time_point now) {
                      written_.push_back(refused_ ? "refused" : held_.say(now));
                      return !refused_;
                    }};
};

TEST_F(traces, are_said_when_a_lease_has_been_held_for_half_a_second) {
  auto const lease = begin(17);
  pass(499ms);
  EXPECT_THAT(written_, testing::IsEmpty());
  EXPECT_FALSE(lease->trace_said);
  pass(1ms);
  EXPECT_THAT(written_, testing::ElementsAre(std::string{"17="} + first_trace));
  EXPECT_TRUE(lease->trace_said);
  pass(10s);
  EXPECT_EQ(written_.size(), 1u) << "once";
  end(lease);
  pass(10s);
  EXPECT_EQ(written_.size(), 1u) << "its end needs no request";
  EXPECT_EQ(held_.say(boot_clock::now()), "-");
}

TEST_F(traces, cost_no_request_for_leases_that_end_before) {
  for (auto number = 1u; number != 100; ++number) {
    auto const lease = begin(number);
    pass(20ms);
    end(lease);
  }
  pass(10s);
  EXPECT_THAT(written_, testing::IsEmpty());
}

TEST_F(traces, are_said_together_at_most_twice_a_second) {
  std::vector<lease_state_ptr> leases;
  for (auto number = 1u; number != 11; ++number) {
    leases.push_back(begin(number));
    pass(50ms);
  }
  pass(2s);
  EXPECT_LE(written_.size(), 3u);
  for (auto const& lease : leases) EXPECT_TRUE(lease->trace_said) << lease->number();
}

TEST_F(traces, are_those_of_the_oldest_sixteen) {
  std::vector<lease_state_ptr> leases;
  for (auto number = 1u; number != 19; ++number) leases.push_back(begin(number));
  pass(10s);
  EXPECT_EQ(written_.size(), 1u);
  EXPECT_TRUE(leases[15]->trace_said);
  EXPECT_FALSE(leases[16]->trace_said);
  end(leases[3]);
  pass(500ms);
  ASSERT_EQ(written_.size(), 2u) << "another one has its place";
  EXPECT_THAT(written_.back(), testing::HasSubstr("17="));
  EXPECT_THAT(written_.back(), testing::Not(testing::HasSubstr(" 4=")));
  EXPECT_TRUE(leases[16]->trace_said);
  EXPECT_FALSE(leases[17]->trace_said);
}

TEST_F(traces, are_not_said_where_they_are_none_or_would_be_of_several) {
  auto const unfit = begin(1, "checkout");
  auto const reader = begin(pin(recipes::plain::reader), 2, first_trace);
  auto const permit = begin(pin(recipes::plain::permits, "permits"), 3, second_trace);
  pass(10s);
  EXPECT_THAT(written_, testing::ElementsAre(std::string{"3="} + second_trace));
}

TEST_F(traces, are_not_said_of_a_lease_whose_number_another_one_had) {
  std::vector<lease_state_ptr> heirs;
  for (auto number = 1u; number != 17; ++number) {
    auto const heir = heirs.emplace_back(make_lease(queue_, number));
    heir->is_heir = true;
    held_.asked(first_trace);
    held_.begun(*heir, first_trace, boot_clock::now());
  }
  auto const first = begin(17);
  pass(10s);
  EXPECT_THAT(written_, testing::ElementsAre(std::string{"17="} + first_trace));
  EXPECT_EQ(held_.of(*heirs[0]), first_trace) << "it is known here";
}

TEST_F(traces, go_on_with_a_lease_that_one_has_become) {
  auto const lease = begin(1);
  pass(500ms);
  auto const next = make_lease(pin(recipes::plain::reader), 1);
  next->trace_said = true;
  held_.goes_on_as(*lease, *next);
  end(lease);
  EXPECT_EQ(held_.say(boot_clock::now()), std::string{"1="} + first_trace);
  EXPECT_EQ(held_.of(*next), first_trace);
  end(next);
  EXPECT_EQ(held_.say(boot_clock::now()), "-");
}

TEST_F(traces, do_not_go_on_with_a_reader_that_others_may_join) {
  auto const lease = begin(1);
  auto const next = make_lease(pin(recipes::plain::reader), 1);
  held_.goes_on_as(*lease, *next);
  end(lease);
  pass(10s);
  EXPECT_THAT(written_, testing::IsEmpty());
  EXPECT_EQ(held_.of(*next), "");
}

TEST_F(traces, are_not_said_again_and_again_to_a_server_that_refuses_them) {
  refused_ = true;
  auto const lease = begin(1);
  pass(10s);
  EXPECT_EQ(written_.size(), 1u);
  EXPECT_FALSE(lease->trace_said);
  EXPECT_EQ(held_.say(boot_clock::now()), std::string{"1="} + first_trace) << "with the next record";
}

TEST_F(traces, are_nothing_that_a_client_has_to_do_with_whose_work_never_had_one) {
  held_.asked("");
  held_.asked("checkout");
  EXPECT_EQ(held_.say(boot_clock::now()), "");
  held_.asked(first_trace);
  EXPECT_EQ(held_.say(boot_clock::now()), "-");
}

TEST_F(traces, are_known_by_the_number_of_any_lease) {
  std::vector<lease_state_ptr> leases;
  for (auto number = 1u; number != 19; ++number) leases.push_back(begin(number));
  EXPECT_EQ(held_.of(18), first_trace);
}

TEST_F(traces, are_known_at_once_in_this_process) {
  auto const lease = begin(5);
  EXPECT_EQ(held_.of(*lease), first_trace);
  EXPECT_EQ(held_.of(5), first_trace);
  EXPECT_EQ(held_.of(6), "");
  end(lease);
  EXPECT_EQ(held_.of(*lease), "");
}

}  // namespace
}  // namespace holdfast::engine
