// The fast path of a free lock: when a request goes without the full script, and what its answer means.

#include "engine/contention/fast_path.hpp"

#include "unit/a_contention.hpp"
#include "wire/plain/fair.hpp"
#include "wire/plain/permits.hpp"
#include "wire/plain/shared.hpp"

namespace holdfast::engine {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// Of a lock that this client had a moment ago, with tokens up to 564.
class a_fast_path : public a_contention {
 protected:
  explicit a_fast_path(scripting::preferred_ways ways = {},
                       recipe const& lock_recipe = recipes::plain::exclusive)
      : a_contention{lock_recipe} {
    ways_ = ways;
    auto& caller = start();
    backend_.answer(granted_from(500));
    (void)release(caller);
    backend_.answer(ownership::held);
    (void)backend_.take_sent();
  }
  static verdict with_token(std::int64_t token) { return granted{.token = token}; }
};

TEST_F(a_fast_path, is_taken_when_this_client_has_just_had_the_lock) {
  auto& caller = start();
  EXPECT_THAT(backend_.take_sent(), ElementsAre("fast acquire 2"));
  backend_.answer(with_token(565));
  ASSERT_TRUE(caller.lease);
  EXPECT_EQ(caller.lease->token(), 565);
  (void)release(caller);
  backend_.answer(ownership::held);
  start();
  EXPECT_THAT(backend_.take_sent(), ElementsAre("fast release orders", "fast acquire 3"));
}

TEST_F(a_fast_path, is_left_to_set_the_counter_to_the_clock_twice_a_second) {
  for (auto i = 0; i != 3; ++i) {
    pass(166ms);
    auto& caller = start();
    EXPECT_THAT(backend_.take_sent(), ElementsAre(HasSubstr("fast acquire")));
    backend_.answer(with_token(565 + i));
    (void)release(caller);
    backend_.answer(ownership::held);
    (void)backend_.take_sent();
  }
  pass(2ms);
  start();
  EXPECT_THAT(backend_.take_sent(), ElementsAre("acquire 5"));
}

TEST_F(a_fast_path, believes_no_token_that_is_not_newer_than_all_it_knows) {
  auto const& caller = start();
  (void)backend_.take_sent();
  backend_.answer(with_token(564));
  EXPECT_FALSE(caller.lease);
  EXPECT_THAT(backend_.take_sent(), ElementsAre("acquire 2")) << "which finds itself the owner";
  backend_.answer(granted_from(9000));
  ASSERT_TRUE(caller.lease);
  EXPECT_EQ(caller.lease->token(), 9000);
}

TEST_F(a_fast_path, is_not_taken_after_a_connection_broke_or_another_server_took_over) {
  loop_of_client_.fast.note_trouble(boot_clock::now());
  start();
  EXPECT_THAT(backend_.take_sent(), ElementsAre("acquire 2"));
}

TEST_F(a_fast_path, believes_no_token_of_a_server_that_may_have_lost_some) {
  auto const& caller = start();
  (void)backend_.take_sent();
  loop_of_client_.fast.note_trouble(boot_clock::now());
  backend_.answer(with_token(565));
  EXPECT_FALSE(caller.lease);
  EXPECT_THAT(backend_.take_sent(), ElementsAre("acquire 2"));
}

TEST_F(a_fast_path, goes_on_by_script_at_once_when_the_lock_is_busy_and_for_a_second) {
  auto& caller = start();
  (void)backend_.take_sent();
  backend_.answer<verdict>(undecided{});
  EXPECT_THAT(backend_.take_sent(), ElementsAre("acquire 2"));
  backend_.answer(busy_for(10s));
  loop_of_client_.membership.leave(caller, boot_clock::now());
  pass(100ms);
  (void)backend_.take_sent();
  start();
  EXPECT_THAT(backend_.take_sent(), ElementsAre("acquire 3"));
}

TEST_F(a_fast_path, does_not_lead_to_a_lock_that_a_neighbour_of_this_process_wants) {
  auto& caller = start();
  start();
  backend_.answer(with_token(565));
  (void)backend_.take_sent();
  (void)release(caller);
  EXPECT_THAT(backend_.take_sent(), ElementsAre("pass orders to 3")) << "one token isn't enough for both";
}

TEST_F(a_fast_path, goes_on_by_script_when_the_outcome_is_unknown) {
  auto const& caller = start();
  (void)backend_.take_sent();
  backend_.fail();
  EXPECT_EQ(caller.times_finished, 0);
  EXPECT_THAT(backend_.take_sent(), ElementsAre("acquire 2"));
}

TEST_F(a_fast_path, leaves_no_lock_behind_whose_token_could_not_be_counted) {
  auto const& caller = start();
  backend_.answer<verdict>(undecided{.taken = true});
  (void)backend_.take_sent();
  backend_.refuse("WRONGTYPE the token counter is no number");
  EXPECT_TRUE(caller.failure);
  EXPECT_THAT(backend_.take_sent(), ElementsAre("abandon 2"));
}

TEST_F(a_fast_path, gives_back_what_comes_when_no_caller_is_left) {
  for (auto const& outcome : {with_token(565), verdict{undecided{.taken = true}}}) {
    auto& caller = start();
    loop_of_client_.membership.leave(caller, boot_clock::now());
    (void)backend_.take_sent();
    backend_.answer(outcome);
    EXPECT_THAT(backend_.take_sent(), ElementsAre(HasSubstr("abandon")));
    backend_.answer(abandoned{});
  }
}

TEST_F(a_fast_path, ends_with_one_warning_where_the_server_refuses_its_commands) {
  auto& caller = start();
  (void)backend_.take_sent();
  backend_.refuse("NOPERM this user has no permissions to run the 'multi' command");
  EXPECT_THAT(backend_.take_sent(), ElementsAre("acquire 2")) << "in the same operation";
  backend_.answer(granted_from(600));
  (void)release(caller);
  backend_.answer(ownership::held);
  (void)backend_.take_sent();
  start();
  EXPECT_THAT(backend_.take_sent(), ElementsAre("acquire 3"));
  {
    reactor::lock hold{loop_.mutex()};
    loop_.leave(hold);
  }
  EXPECT_THAT(logged_, ElementsAre(HasSubstr("+multi +exec")));
}

TEST_F(a_fast_path, ends_where_connections_break_at_it) {
  for (auto i = 0; i != 2; ++i) {
    auto& caller = start();
    EXPECT_THAT(backend_.take_sent(), ElementsAre(HasSubstr("fast acquire")));
    backend_.fail();
    loop_of_client_.fast.note_trouble(boot_clock::now());
    pass(1ms);
    backend_.answer(granted_from(600 + 100 * i));
    (void)release(caller);
    backend_.answer(ownership::held);
    (void)backend_.take_sent();
    pass(1s);
    auto& next = start();
    backend_.answer(granted_from(650 + 100 * i));
    (void)release(next);
    backend_.answer(ownership::held);
    (void)backend_.take_sent();
  }
  start();
  EXPECT_THAT(backend_.take_sent(), ElementsAre(testing::Not(HasSubstr("fast"))));
}

TEST_F(a_fast_path, bears_a_server_that_is_not_ready) {
  auto const& caller = start();
  (void)backend_.take_sent();
  backend_.refuse("LOADING the dataset");
  EXPECT_EQ(caller.times_finished, 0);
  EXPECT_THAT(backend_.take_sent(), ElementsAre("acquire 2"));
  EXPECT_THAT(logged_, IsEmpty());
}

TEST_F(a_fast_path, ends_in_a_full_release_when_somebody_waits) {
  auto& caller = start();
  backend_.answer(with_token(565));
  auto const result = std::make_shared<std::optional<release_result>>();
  (void)backend_.take_sent();
  loop_of_client_.ends.release(*caller.lease, boot_clock::now(),
                               [result](release_result found) { *result = found; });
  backend_.answer(ownership::awaited);
  EXPECT_FALSE(*result);
  EXPECT_THAT(backend_.take_sent(), ElementsAre("fast release orders", "release orders"));
  backend_.answer(ownership::held);
  EXPECT_EQ(*result, release_result::released);
}

TEST_F(a_fast_path, is_not_for_the_release_of_a_lock_that_was_held_for_long) {
  auto& caller = start();
  backend_.answer(with_token(565));
  (void)backend_.take_sent();
  pass(500ms);
  (void)release(caller);
  EXPECT_THAT(backend_.take_sent(), ElementsAre("release orders"));
}

TEST_F(a_fast_path, is_not_tried_by_the_releases_of_a_second_after_somebody_waited) {
  auto& caller = start();
  backend_.answer(with_token(565));
  (void)release(caller);
  backend_.answer(ownership::awaited);
  backend_.answer(ownership::held);
  for (auto const& [later, releases] : {std::pair{999ms, "release orders"}, {1s, "fast release orders"}}) {
    pass(later);
    auto& next = start();
    backend_.answer(granted_from(9000 + later.count()));
    (void)backend_.take_sent();
    (void)release(next);
    EXPECT_THAT(backend_.take_sent(), ElementsAre(releases));
    backend_.answer(ownership::held);
  }
}

class a_fast_path_of_a_fair_lock : public a_fast_path {
 protected:
  a_fast_path_of_a_fair_lock() : a_fast_path{{}, recipes::plain::fair} {}
};

TEST_F(a_fast_path_of_a_fair_lock, is_taken_when_nobody_waits) {
  auto& caller = start();
  backend_.answer(with_token(565));
  ASSERT_TRUE(caller.lease);
  (void)release(caller);
  EXPECT_THAT(backend_.take_sent(), ElementsAre("fast acquire 2", "fast release orders"));
}

TEST_F(a_fast_path_of_a_fair_lock, gives_back_what_was_taken_past_those_who_wait_and_gets_in_line) {
  auto const& caller = start();
  (void)backend_.take_sent();
  backend_.answer<verdict>(undecided{.taken = true, .overtook = true});
  EXPECT_FALSE(caller.lease);
  EXPECT_THAT(backend_.take_sent(), ElementsAre("abandon 2", "acquire 3"));
}

class a_fast_path_of_a_reader : public a_fast_path {
 protected:
  a_fast_path_of_a_reader() : a_fast_path{{}, recipes::plain::reader} {}
};

TEST_F(a_fast_path_of_a_reader, has_the_token_that_was_given_last) {
  auto& caller = start();
  EXPECT_THAT(backend_.take_sent(), ElementsAre("fast acquire 2"));
  backend_.answer(with_token(564));
  ASSERT_TRUE(caller.lease);
  EXPECT_EQ(caller.lease->token(), 564);
  (void)release(caller);
  EXPECT_THAT(backend_.take_sent(), ElementsAre("fast release orders"));
}

TEST_F(a_fast_path_of_a_reader, is_not_for_the_release_of_what_a_script_has_entered_into_the_set) {
  pass(501ms);
  auto& caller = start();
  backend_.answer(granted_from(564));
  (void)backend_.take_sent();
  (void)release(caller);
  EXPECT_THAT(backend_.take_sent(), ElementsAre("release orders"));
}

TEST_F(a_fast_path_of_a_reader, believes_no_older_one) {
  auto const& caller = start();
  (void)backend_.take_sent();
  backend_.answer(with_token(563));
  EXPECT_FALSE(caller.lease);
  EXPECT_THAT(backend_.take_sent(), ElementsAre("acquire 2"));
}

class a_fast_path_of_permits : public a_fast_path {
 protected:
  a_fast_path_of_permits() : a_fast_path{{}, recipes::plain::permits} {}
};

TEST_F(a_fast_path_of_permits, is_for_callers_that_know_how_many_there_are) {
  start();
  EXPECT_THAT(backend_.take_sent(), ElementsAre("acquire 2"));
}

class a_client_of_scripts : public a_fast_path {
 protected:
  a_client_of_scripts() : a_fast_path{{.locks_by_transaction = false}} {}
};

TEST_F(a_client_of_scripts, sends_nothing_else) {
  auto& caller = start();
  backend_.answer(granted_from(600));
  (void)release(caller);
  EXPECT_THAT(backend_.take_sent(), ElementsAre("acquire 2", "release orders"));
}

class a_server_with_compare_and_delete : public a_fast_path {
 protected:
  a_server_with_compare_and_delete() : a_fast_path{{.releases_by_script = false}} {}
};

TEST_F(a_server_with_compare_and_delete, needs_no_short_release) {
  auto& caller = start();
  EXPECT_THAT(backend_.take_sent(), ElementsAre("fast acquire 2"));
  backend_.answer(with_token(565));
  (void)release(caller);
  EXPECT_THAT(backend_.take_sent(), ElementsAre("release orders"));
}

}  // namespace
}  // namespace holdfast::engine
