// A lease becomes another one when the server has answered, whenever its caller gets the processor.

#include "unit/a_conversion.hpp"

namespace holdfast::engine {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

TEST_F(a_conversion, makes_a_lease_that_is_renewed_before_its_caller_has_it) {
  auto const held = write();
  become_reader(held, [&] {
    ASSERT_THAT(backend_.take_sent(), ElementsAre("convert"));
    backend_.answer(ownership::held);
    let_time_pass(5s);
    ASSERT_THAT(backend_.take_sent(), ElementsAre("renew"));
    backend_.answer(renewals{});
    let_time_pass(11s);  // the old lease would be over
  });
  ASSERT_TRUE(next_);
  EXPECT_TRUE(next_->valid());
  EXPECT_EQ(held->cause(), loss_cause::none);
}

TEST_F(a_conversion, that_the_end_of_the_client_overtakes_is_given_back_before_its_caller_knows) {
  auto const held = write();
  become_reader(held, [&] {
    (void)backend_.take_sent();
    loop_of_client_.ends.lose(*held, loss_cause::closed, boot_clock::now());
    backend_.answer(ownership::held);
    ASSERT_THAT(backend_.take_sent(), ElementsAre("release orders")) << "the client doesn't wait for callers";
    backend_.answer(ownership::held);
  });
  EXPECT_EQ(failure_, errc::lost);
}

TEST_F(a_conversion, of_what_was_at_its_limit_gives_it_back) {
  auto held = write({.max_hold = 1s});
  pass(1s);
  EXPECT_EQ(held->cause(), loss_cause::limit_reached);
  become_reader(std::move(held), [] { FAIL() << "nothing is waited for"; });
  EXPECT_EQ(failure_, errc::lost);
  ASSERT_THAT(backend_.take_sent(), ElementsAre("release orders"));
  backend_.answer(ownership::held);
}

TEST_F(a_conversion, that_is_refused_when_its_lease_is_at_its_limit_gives_that_back) {
  become_reader(write({.max_hold = 1s}), [&] {
    (void)backend_.take_sent();
    let_time_pass(1s);
    EXPECT_THAT(backend_.take_sent(), IsEmpty());
    backend_.refuse("OOM command not allowed when used memory > 'maxmemory'.");
    ASSERT_THAT(backend_.take_sent(), ElementsAre("release orders", "release orders")) << "of both kinds";
    backend_.answer(ownership::held);
    backend_.answer(ownership::gone);
  });
  EXPECT_EQ(failure_, errc::lost);
}

TEST_F(a_conversion, by_a_writer_answers_who_waits_behind_a_renewal_of_what_it_replaces) {
  auto const held = write();
  auto const other = pin(recipes::plain::upgrader, queue_->name());
  auto const writer = make_lease(other, 2, held->options());
  auto answered = 0;
  for (auto times = 0; times != 2; ++times)
    renewer_.renew_now(*held, [&](answer<renewals> const&, time_point) { ++answered; });
  ASSERT_THAT(backend_.take_sent(), ElementsAre("renew"));
  leases_.take_place(*held, *writer, boot_clock::now());
  EXPECT_EQ(answered, 1) << "that renewal isn't sent any more";
  backend_.answer(renewals{});
  EXPECT_EQ(answered, 2);
  EXPECT_THAT(backend_.take_sent(), IsEmpty());
  EXPECT_EQ(writer->status(), lease_state::state::held);
  loop_of_client_.ends.finish_here(*writer, boot_clock::now());
}

TEST_F(a_conversion, is_tried_again_while_the_server_says_that_it_can_not_just_now) {
  auto const held = write();
  become_reader(held, [&] {
    for (auto const* const words : {"LOADING Redis is loading the dataset in memory", "BUSY Redis is busy"}) {
      ASSERT_THAT(backend_.take_sent(), ElementsAre("convert"));
      backend_.refuse(words);
      ASSERT_THAT(backend_.take_sent(), IsEmpty()) << "first there is a pause";
      let_time_pass(25ms);
    }
    ASSERT_THAT(backend_.take_sent(), ElementsAre("convert"));
    backend_.answer(ownership::held);
  });
  ASSERT_TRUE(next_) << failure_.message();
  EXPECT_TRUE(next_->valid());
  EXPECT_THAT(backend_.take_sent(), IsEmpty());
}

TEST_F(a_conversion, is_tried_until_the_deadline_and_no_longer) {
  auto const held = write();
  become_reader(held, [&] {
    ASSERT_THAT(backend_.take_sent(), ElementsAre("convert"));
    backend_.refuse("LOADING Redis is loading the dataset in memory");
    let_time_pass(12s);
    ASSERT_THAT(backend_.take_sent(), ElementsAre("release orders"))
        << "an earlier copy may have made a reader";
    backend_.answer(ownership::gone);
  });
  EXPECT_EQ(failure_, errc::refused);
  EXPECT_EQ(held->cause(), loss_cause::unreachable);
}

TEST_F(a_conversion, that_is_refused_leaves_a_lease_that_is_to_be_kept) {
  become_reader(write({.keep = true}), [&] {
    (void)backend_.take_sent();
    backend_.refuse("OOM command not allowed when used memory > 'maxmemory'.");
    ASSERT_THAT(backend_.take_sent(), IsEmpty());
  });
  EXPECT_EQ(failure_, errc::refused);
  EXPECT_TRUE(departed_.has_kept_key(1, boot_clock::now())) << "it is no ghost";
}

TEST_F(a_conversion, that_the_end_of_the_client_overtakes_leaves_a_lease_that_is_to_be_kept) {
  auto const held = write({.keep = true});
  become_reader(held, [&] {
    (void)backend_.take_sent();
    loop_of_client_.ends.lose(*held, loss_cause::closed, boot_clock::now());
    let_time_pass(5s);
    backend_.answer(ownership::held);
    ASSERT_THAT(backend_.take_sent(), IsEmpty());
  });
  EXPECT_EQ(failure_, errc::lost);
  clock_.advance(19s);
  EXPECT_TRUE(departed_.has_kept_key(1, boot_clock::now())) << "what it became has a ttl of its own";
}

TEST_F(a_conversion, whose_answer_comes_after_the_deadline_leaves_a_lease_that_is_to_be_kept) {
  become_reader(write({.keep = true}), [&] {
    (void)backend_.take_sent();
    let_time_pass(12s);
    backend_.answer(ownership::held);
    ASSERT_THAT(backend_.take_sent(), IsEmpty());
  });
  EXPECT_EQ(failure_, errc::lost);
}

TEST_F(a_conversion, of_what_is_released_by_force_gives_it_back_though_it_was_to_be_kept) {
  auto const held = write({.keep = true});
  become_reader(held, [&] {
    (void)backend_.take_sent();
    loop_of_client_.ends.lose(*held, loss_cause::forced, boot_clock::now());
    backend_.answer(ownership::held);
    ASSERT_THAT(backend_.take_sent(), ElementsAre("release orders"));
    backend_.answer(ownership::held);
  });
  EXPECT_EQ(failure_, errc::lost);
}

TEST_F(a_conversion, by_a_writer_that_comes_at_once_keeps_nothing_that_is_released_by_force) {
  for (auto const cause : {loss_cause::forced, loss_cause::limit_reached}) {
    auto held = write({.keep = true});
    auto const other = pin(recipes::plain::upgrader, queue_->name());
    auto writer = make_lease(other, 100, held->options());
    loop_of_client_.ends.lose(*held, cause, boot_clock::now());
    EXPECT_THROW((void)leases_.replace(held, std::move(writer)), error);
    auto const sent = backend_.take_sent();
    EXPECT_EQ(sent.size(), cause == loss_cause::forced ? 1U : 0U) << to_string(cause);
    if (!sent.empty()) backend_.answer(ownership::held);
  }
}

TEST_F(a_conversion, by_a_writer_counts_a_renewal_that_is_under_way) {
  auto const held = write({.max_renewals = 2});
  auto const other = pin(recipes::plain::upgrader, queue_->name());
  auto const writer = make_lease(other, 100, held->options());
  renewer_.renew_now(*held, [](answer<renewals> const&, time_point) {});
  leases_.take_place(*held, *writer, boot_clock::now());
  backend_.answer(renewals{});
  EXPECT_EQ(writer->renewals_left, 1);
  loop_of_client_.ends.finish_here(*writer, boot_clock::now());
}

TEST_F(a_conversion, by_a_writer_counts_no_question_for_a_renewal) {
  auto const held = write({.max_renewals = 2});
  auto const other = pin(recipes::plain::upgrader, queue_->name());
  auto const writer = make_lease(other, 100, held->options());
  renewer_.ask_about_all(boot_clock::now());
  pass(0s);
  ASSERT_TRUE(held->renewing);
  leases_.take_place(*held, *writer, boot_clock::now());
  backend_.answer(ownership::held);
  EXPECT_EQ(writer->renewals_left, 2);
  loop_of_client_.ends.finish_here(*writer, boot_clock::now());
}

}  // namespace
}  // namespace holdfast::engine
