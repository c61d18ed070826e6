// A lease becomes another one when the server has answered, whenever its caller gets the processor.

#include "engine/lease_calls.hpp"

#include "scripts/shared.hpp"
#include "unit/a_contention.hpp"
#include "wire/plain/fair.hpp"
#include "wire/plain/shared.hpp"

namespace holdfast::engine {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

class a_conversion : public a_contention {
 protected:
  a_conversion() : a_contention{recipes::plain::fair} {}

  /// A writer whose ttl is 12 s.
  [[nodiscard]] lease_state_ptr write(lock_options options = {}) {
    options.ttl = 12s;
    auto& caller = start(options);
    backend_.answer(granted_from(100));
    (void)backend_.take_sent();
    return caller.lease;
  }
  /// Its caller doesn't have the lock while `f` runs, and waits for an answer.
  void become_reader(lease_state_ptr held, std::function<void()> f) {
    loop_.simulate([this, &f] {
      reactor::lock hold{loop_.mutex()};
      f();
      loop_.leave(hold);
    });
    try {
      next_ = leases_.become(std::move(held), readers_, call{scripts::shared::downgrade::source, {}, {}});
    } catch (error const& reason) {
      failure_ = reason.code();
    }
  }

  lock_queue_ptr const readers_ = pin(recipes::plain::reader, queue_->name());
  call_gate gate_{loop_, client_};
  lease_calls leases_{loop_,
                      backend_,
                      client_,
                      gate_,
                      stats_,
                      holders_,
                      renewer_,
                      pending_releases_,
                      loop_of_client_.ends,
                      moments_.get()};
  lease_state_ptr next_;
  std::error_code failure_;
};

TEST_F(a_conversion, makes_a_lease_that_is_renewed_before_its_caller_has_it) {
  auto const held = write();
  become_reader(held, [&] {
    ASSERT_THAT(backend_.take_sent(), ElementsAre("convert"));
    backend_.answer(ownership::held);
    clock_.advance(5s);
    reactor::moved_clock::fire_timers(loop_);
    ASSERT_THAT(backend_.take_sent(), ElementsAre("renew"));
    backend_.answer(renewals{});
    clock_.advance(11s);  // the old lease would be over
    reactor::moved_clock::fire_timers(loop_);
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
    clock_.advance(1s);
    reactor::moved_clock::fire_timers(loop_);
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

}  // namespace
}  // namespace holdfast::engine
