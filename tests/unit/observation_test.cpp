// What an observer hears of the waiting loop, and how it hears it.

#include "engine/observation.hpp"

#include <stdexcept>

#include "support/event_book.hpp"
#include "unit/a_contention.hpp"

namespace holdfast::engine {
namespace {

using namespace std::chrono_literals;
using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;

client_options observed_by(std::shared_ptr<observer> hears) {
  return {.label = "tests", .observer = std::move(hears)};
}

class an_observer : public a_contention {
 protected:
  an_observer() : an_observer{std::make_shared<test::event_book>()} {}
  explicit an_observer(std::shared_ptr<test::event_book> book)
      : a_contention{recipes::plain::exclusive, observed_by(book)}, book_{std::move(book)} {}
  ~an_observer() override {
    pass(0s);
    EXPECT_THAT(book_->wrong(), IsEmpty());
  }

  /// What it has heard by now.
  [[nodiscard]] std::vector<std::string> heard() {
    pass(0s);
    return book_->lines();
  }
  [[nodiscard]] lock_event last() {
    pass(0s);
    return book_->last();
  }

  std::shared_ptr<test::event_book> book_;
};

TEST_F(an_observer, hears_of_a_free_lock_that_it_was_had_and_given_back) {
  auto& caller = start();
  clock_.advance(3ms);
  backend_.answer(granted_from(500));
  EXPECT_EQ(last().duration, 3ms);
  EXPECT_EQ(last().token, 500);
  clock_.advance(2s);
  (void)release(caller);
  EXPECT_THAT(heard(), ElementsAre("asked orders 1", "acquired orders 1", "released orders 1"));
  EXPECT_EQ(last().duration, 2s);
}

TEST_F(an_observer, hears_of_a_busy_lock_once_however_often_it_is_asked_for) {
  start_and_sleep();
  message("woken 1 orders");
  backend_.answer(busy_for(10s));
  EXPECT_THAT(heard(), ElementsAre("asked orders 1", "waiting orders 1"));
  message("granted 1 101 1 orders");
  EXPECT_THAT(heard(), ElementsAre("asked orders 1", "waiting orders 1", "granted orders 1"));
}

TEST_F(an_observer, hears_of_callers_that_come_behind_others) {
  auto& first = start();
  start();
  backend_.answer(granted_from(500));
  start();
  EXPECT_THAT(heard(), ElementsAre("asked orders 1", "asked orders 2", "acquired orders 1",
                                   "waiting orders 2", "asked orders 3", "waiting orders 3"));
  (void)release(first);
  auto const after = heard();
  EXPECT_EQ(after[after.size() - 2], "released orders 1");
  EXPECT_EQ(after.back(), "handed_over orders 2");
}

TEST_F(an_observer, tells_a_try_from_a_wait_whose_time_is_up) {
  start_and_sleep();
  start_try();
  EXPECT_EQ(heard().back(), "busy orders 2");
  auto& caller = *callers_.front();
  loop_of_client_.membership.leave(caller, boot_clock::now());
  EXPECT_EQ(heard().back(), "timed_out orders 1");
}

TEST_F(an_observer, hears_of_an_error_with_its_name) {
  auto& caller = start();
  caller.failure = std::make_shared<error const>(errc::cancelled, "enough");
  loop_of_client_.membership.leave(caller, boot_clock::now());
  EXPECT_EQ(last().what, event_kind::failed);
  EXPECT_EQ(last().error, errc::cancelled);
  EXPECT_EQ(last().why, "cancelled");
}

TEST_F(an_observer, hears_one_end_of_each_lease) {
  auto& lost = start();
  backend_.answer(granted_from(500));
  clock_.advance(1s);
  loop_of_client_.ends.lose(*lost.lease, loss_cause::forced, boot_clock::now());
  EXPECT_EQ(heard().back(), "lost orders 1");
  EXPECT_EQ(last().why, "forced");
  EXPECT_EQ(last().duration, 1s);
  (void)release(lost);
  EXPECT_EQ(heard().back(), "lost orders 1");
}

TEST_F(an_observer, hears_that_a_key_is_kept_and_not_that_the_lease_was_given_back) {
  auto& caller = start({.keep = true});
  backend_.answer(granted_from(500));
  (void)release(caller);
  EXPECT_THAT(heard(), ElementsAre("asked orders 1", "acquired orders 1", "kept orders 1"));
}

TEST_F(an_observer, hears_of_a_renewal_only_if_it_is_late) {
  auto& caller = start({.ttl = 30s});
  backend_.answer(granted_from(500));
  pass(10s);
  clock_.advance(9s);
  backend_.answer(renewals{});  // with 11 s left
  EXPECT_THAT(heard(), ElementsAre("asked orders 1", "acquired orders 1"));
  pass(10s);
  clock_.advance(15s);
  backend_.answer(renewals{});
  EXPECT_EQ(heard().back(), "renewed_late orders 1");
  EXPECT_LT(last().duration, 10s);
  (void)release(caller);
}

TEST_F(an_observer, hears_the_trace_of_the_work_that_has_asked) {
  book_->traced = std::string(300, 'x');
  auto& caller = start();
  backend_.answer(granted_from(500));
  (void)release(caller);
  EXPECT_EQ(heard().size(), 3u);
  EXPECT_EQ(book_->last_trace(), std::string(200, 'x'));
}

TEST_F(an_observer, hears_nothing_after_the_end) {
  moments_->disconnected(boot_clock::now());
  moments_->end(true);
  EXPECT_THAT(book_->kinds(), ElementsAre("disconnected")) << "before the end all is told";
  moments_->disconnected(boot_clock::now());
  pass(0s);
  EXPECT_THAT(book_->kinds(), ElementsAre("disconnected"));
}

/// It makes an event whenever it hears of one, up to a number.
class a_talker final : public observer {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "talker"; }
  void on_event(lock_event const& event) override {
    nested_ = nested_ || inside_;
    inside_ = true;
    ids_.push_back(static_cast<int>(event.duration.count()));
    missed_ += event.count;
    if (ids_.size() < 5 && talk) talk();
    inside_ = false;
  }

  std::function<void()> talk;
  std::vector<int> ids_;
  std::uint64_t missed_ = 0;
  bool inside_ = false;
  bool nested_ = false;
};

class observers : public engine_parts {
 protected:
  explicit observers(std::shared_ptr<observer> hears)
      : engine_parts{"redis://h:1", observed_by(std::move(hears))} {}
  observation observation_{loop_, client_};
};

class a_talking_observer : public observers {
 protected:
  a_talking_observer() : a_talking_observer{std::make_shared<a_talker>()} {}
  explicit a_talking_observer(std::shared_ptr<a_talker> talker)
      : observers{talker}, talker_{std::move(talker)} {}
  std::shared_ptr<a_talker> talker_;
};

TEST_F(a_talking_observer, is_not_called_inside_itself) {
  auto next = 0;
  talker_->talk = [&] {
    reactor::lock hold{loop_.mutex()};
    observation_.reconnected(std::chrono::nanoseconds{++next}, boot_clock::now());
    loop_.leave(hold);
  };
  talker_->talk();
  EXPECT_FALSE(talker_->nested_);
  EXPECT_THAT(talker_->ids_, ElementsAre(1, 2, 3, 4, 5));
}

TEST_F(a_talking_observer, hears_how_many_events_were_too_many) {
  for (auto i = 0; i != 65'540; ++i) observation_.disconnected(boot_clock::now());
  pass(0s);
  EXPECT_EQ(talker_->ids_.size(), 65'537u);
  EXPECT_EQ(talker_->missed_, 4u);
  observation_.reconnected(std::chrono::nanoseconds{7}, boot_clock::now());
  pass(0s);
  EXPECT_EQ(talker_->ids_.back(), 7);
}

class a_thrower final : public observer {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "thrower"; }
  void on_event(lock_event const&) override { throw std::runtime_error{"no room for metrics"}; }
  [[nodiscard]] std::string trace() override { throw 1; }
};

class a_throwing_observer : public observers {
 protected:
  a_throwing_observer() : observers{std::make_shared<a_thrower>()} {}
};

TEST_F(a_throwing_observer, ends_the_process_with_its_name) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        observation_.disconnected(boot_clock::now());
        pass(0s);
      },
      "observer \"thrower\" threw .*no room for metrics");
  EXPECT_DEATH((void)observe_caller(client_), "observer \"thrower\" threw .*not a std::exception");
}

TEST(event_kinds, have_a_word_each) {
  std::vector<std::string_view> words;
  for (auto i = 0; i <= static_cast<int>(event_kind::missed); ++i)
    words.push_back(to_string(static_cast<event_kind>(i)));
  EXPECT_THAT(words, Each(testing::Not("unknown")));
  EXPECT_EQ(to_string(event_kind::acquired), "acquired");
  EXPECT_EQ(to_string(event_kind::missed), "missed");
  EXPECT_EQ(to_string(static_cast<event_kind>(200)), "unknown");
}

}  // namespace
}  // namespace holdfast::engine
