/// The ways to say "only if it is mine": a capability that is there, isn't, or vanishes in the middle.
#include "fault.hpp"

#include "support/server_dialect.hpp"

#include <holdfast/fair_mutex.hpp>
#include <holdfast/fence.hpp>
#include <holdfast/recursive_mutex.hpp>
#include <holdfast/semaphore.hpp>

#include <gmock/gmock.h>

#include <future>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using scripting::dialect;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class ways : public fault {
 protected:
  ways() {
    facts_->speaks = dialect::valkey;
    proxy_.decide(speaking(facts_));
  }
  [[nodiscard]] std::string url(std::string const& parameters = {}) const {
    return proxy_.url() + parameters;
  }
  client_options logged() {
    auto options = with_long_timeouts();
    options.log = log_.hook();
    return options;
  }
  /// The waiter has asked once more when its inbox was open: from here on only a message wakes it.
  void settle(client& waiter) {
    auto const hints = "holdfast_inbox:" + waiter.uuid();
    ASSERT_TRUE(
        eventually([&] { return raw_.command({"PUBSUB", "NUMSUB", hints}).elements.at(1).integer > 0; }));
    auto const before = waiter.stats().messages;
    raw_.command({"PUBLISH", hints, "woken 0 orders"});
    ASSERT_TRUE(eventually([&] { return waiter.stats().messages > before; }));
    waiter.connect();
  }
  [[nodiscard]] std::size_t scripts_sent() const { return proxy_.count("EVALSHA") + proxy_.count("EVAL"); }

  std::shared_ptr<server_facts_shown> facts_ = std::make_shared<server_facts_shown>();
  flaky_proxy proxy_{server_.socket_path()};
  log_lines log_;
};

TEST_F(ways, releases_and_renews_by_the_servers_own_commands_where_it_has_them) {
  client redis{url(), logged()};
  mutex lock{redis, "orders"};
  auto held = lock.acquire();
  held.renew();
  EXPECT_EQ(held.release(), release_result::released);
  EXPECT_EQ(proxy_.count("DELIFEQ"), 1U);
  EXPECT_FALSE(raw_.exists("orders"));
  auto const stats = redis.stats();
  EXPECT_EQ(stats.way, cas::native);
  EXPECT_EQ(stats.by_native_command, 2U);
  EXPECT_THAT(log_.of(log_level::warning), IsEmpty());
}

TEST_F(ways, wakes_the_next_waiter_after_a_release_in_steps) {
  auto patient = logged();
  patient.recheck = 30s;
  client one{url(), patient};
  client other{url(), patient};
  mutex here{one, "orders", {.starvation_limit = 1min}};  // longer than it is held
  mutex there{other, "orders"};
  auto held = here.acquire();
  auto const waiting = std::async(std::launch::async, [&] { return there.acquire().token(); });
  settle(other);
  EXPECT_EQ(held.release(), release_result::released);
  EXPECT_GT(proxy_.count("DELIFEQ"), 0U);
  ASSERT_EQ(waiting.wait_for(10s), std::future_status::ready);
}

TEST_F(ways, releases_by_script_within_the_operation_when_the_right_is_taken_away) {
  client redis{url(), logged()};
  mutex lock{redis, "orders"};
  auto held = lock.acquire();
  facts_->allowed = false;
  held.renew();
  EXPECT_EQ(held.release(), release_result::released);
  EXPECT_FALSE(raw_.exists("orders"));
  EXPECT_EQ(lock.acquire().release(), release_result::released);
  EXPECT_THAT(log_.of(log_level::warning), ElementsAre(HasSubstr("scripts are called instead")));
  EXPECT_EQ(redis.stats().way, cas::lua);
}

TEST_F(ways, renews_by_script_at_maxmemory) {
  client redis{url(), logged()};
  mutex lock{redis, "orders"};
  auto held = lock.acquire();
  facts_->at_maxmemory = true;
  raw_.command({"PEXPIRE", "orders", "5000"});
  held.renew();
  EXPECT_GT(raw_.pttl("orders"), 20'000);
  EXPECT_EQ(held.release(), release_result::released);
}

TEST_F(ways, finds_out_anew_what_each_connection_can_do) {
  client redis{url(), logged()};
  mutex lock{redis, "orders"};
  EXPECT_EQ(lock.acquire().release(), release_result::released);
  facts_->listed = false;  // as after a failover to a server that has none
  proxy_.cut_all();
  EXPECT_EQ(lock.acquire().release(), release_result::released);
  EXPECT_EQ(redis.stats().way, cas::lua);
  EXPECT_EQ(proxy_.count("DELIFEQ"), 1U);
}

TEST_F(ways, refuses_at_the_first_use_a_way_that_is_not_there) {
  facts_->speaks = dialect::none;
  client native{url("?cas=native"), logged()};
  EXPECT_THAT(failure_of([&] { mutex{native, "orders"}.lock(); }).message,
              AllOf(HasSubstr("cas=native"), HasSubstr("leave cas out")));
  client module{url("?cas=module"), logged()};
  EXPECT_THAT(failure_of([&] { mutex{module, "orders"}.lock(); }).message, HasSubstr("cas=module"));
}

TEST_F(ways, uses_scripts_alone_where_that_is_wanted) {
  client redis{url("?cas=lua"), logged()};
  EXPECT_EQ(mutex(redis, "orders").acquire().release(), release_result::released);
  EXPECT_EQ(proxy_.count("DELIFEQ"), 0U);
}

TEST_F(ways, sends_no_script_at_all_without_scripts) {
  facts_->scripts = false;
  client one{url("?scripts=no"), logged()};
  client other{url("?scripts=no"), logged()};
  mutex here{one, "orders"};
  mutex there{other, "orders"};
  auto held = here.acquire();
  auto waiting = std::async(std::launch::async, [&] { return there.acquire(); });
  ASSERT_TRUE(eventually([this] { return raw_.exists("{orders}:holdfast_queue"); }));
  held.renew();
  auto const first = held.token();
  EXPECT_EQ(held.release(), release_result::released);
  auto next = waiting.get();
  EXPECT_GT(next.token(), first);
  EXPECT_EQ(next.release(), release_result::released);
  EXPECT_EQ(scripts_sent(), 0U);
}

TEST_F(ways, gives_growing_tokens_without_scripts_though_the_counter_is_lost) {
  client redis{url("?scripts=no"), logged()};
  mutex lock{redis, "orders"};
  std::int64_t last = 0;
  for (auto round = 0; round < 5; ++round) {
    auto held = lock.acquire();
    EXPECT_GT(held.token(), last);
    last = held.token();
    if (round == 1) raw_.command({"DEL", "{orders}:holdfast_token"});
    if (round == 3) raw_.command({"SET", "{orders}:holdfast_token", "12"});
  }
}

TEST_F(ways, finds_by_itself_that_scripts_are_not_allowed) {
  facts_->scripts = false;
  client redis{url(), logged()};
  EXPECT_EQ(mutex(redis, "orders").acquire().release(), release_result::released);
  EXPECT_THAT(failure_of([&] { fair_mutex(redis, "orders"); }).message,
              AllOf(HasSubstr("runs no scripts"), HasSubstr("needs them")));
}

TEST_F(ways, goes_on_without_scripts_when_these_are_forbidden_in_the_middle) {
  client redis{url(), logged()};
  mutex lock{redis, "orders"};
  auto held = lock.acquire();
  facts_->scripts = false;
  EXPECT_EQ(held.release(), release_result::released);
  EXPECT_EQ(lock.acquire().release(), release_result::released);
  // The same lock may have been taken without a script once more.
  EXPECT_EQ(mutex(redis, "deploys").acquire().release(), release_result::released);
  EXPECT_THAT(log_.of(log_level::warning), ElementsAre(HasSubstr("locks go without them from now on")));
}

TEST_F(ways, refuses_at_construction_what_cannot_be_kept_without_scripts) {
  client redis{url("?scripts=no"), logged()};
  EXPECT_THAT(
      failure_of([&] { fair_mutex(redis, "orders"); }).message,
      AllOf(HasSubstr("scripts are turned off"), HasSubstr("order of waiters"), HasSubstr("quorum_mutex")));
  EXPECT_THAT(failure_of([&] { semaphore(redis, "seats"); }).message, HasSubstr("needs them"));
  EXPECT_THAT(failure_of([&] { mutex(redis, "orders", {.wire = wire::redisson}); }).message,
              HasSubstr("on the plain wire"));
  EXPECT_NO_THROW(recursive_mutex(redis, "orders"));
}

TEST_F(ways, says_what_to_do_where_there_are_neither_scripts_nor_compare_and_delete) {
  facts_->speaks = dialect::none;
  facts_->scripts = false;
  client redis{url(), logged()};
  EXPECT_THAT(failure_of([&] { mutex{redis, "orders"}.lock(); }).message,
              AllOf(HasSubstr("no compare-and-delete"), HasSubstr("+eval"), HasSubstr("Valkey 9")));
  EXPECT_FALSE(raw_.exists("orders"));
}

TEST_F(ways, leaves_no_lock_behind_when_the_connection_breaks_in_the_middle_of_the_steps) {
  for (auto const* const cut_at : {"MULTI", "INCR", "EXEC", "DELIFEQ", "EXISTS"}) {
    flaky_proxy proxy{server_.socket_path()};
    proxy.decide([cut_at, say = speaking(facts_), cut = false](request const& said) mutable {
      if (!cut && said.name == cut_at) {
        cut = true;
        return fate::cut_before();
      }
      return say(said);
    });
    client redis{proxy.url() + "?scripts=no", with_long_timeouts()};
    mutex lock{redis, "orders"};
    EXPECT_EQ(lock.acquire().release(), release_result::released) << cut_at;
    EXPECT_FALSE(raw_.exists("orders")) << cut_at;
  }
}

/// The lock is deleted when the connection breaks, and nobody has been told. The next server has scripts
/// alone.
TEST_F(ways, wakes_the_next_waiter_though_a_release_in_steps_goes_on_at_a_server_without_such_commands) {
  for (auto const with_scripts : {true, false}) {
    SCOPED_TRACE(with_scripts ? "native" : "without scripts");
    facts_->listed = true;
    facts_->scripts = with_scripts;
    proxy_.decide([facts = facts_, say = speaking(facts_), cut = false](request const& said) mutable {
      if (!cut && said.name == "EXISTS" && said.has("{orders}:holdfast_queue")) {
        cut = true;
        facts->listed = false;
        facts->scripts = true;
        return fate::cut_after();
      }
      return say(said);
    });
    client one{url(), logged()};
    client other{server_.url(), {.recheck = 30s}};
    mutex here{one, "orders", {.starvation_limit = 1min}};
    mutex there{other, "orders"};
    auto held = here.acquire();
    auto waiting = std::async(std::launch::async, [&] { return there.acquire(); });
    settle(other);
    EXPECT_EQ(held.release(), release_result::released);
    EXPECT_GT(proxy_.count("DELIFEQ"), 0U);
    proxy_.forget();
    EXPECT_EQ(waiting.wait_for(10s), std::future_status::ready);
    EXPECT_EQ(waiting.get().release(), release_result::released);
  }
}

/// Outside a transaction SET is carried out by itself.
TEST_F(ways, leaves_no_lock_behind_where_transactions_are_refused) {
  raw_.command({"ACL", "SETUSER", "default", "+@all", "-multi"});
  client redis{url("?scripts=no"), logged()};
  mutex lock{redis, "orders"};
  auto const failure = failure_of([&] { (void)lock.acquire(); });
  EXPECT_THAT(failure.message, HasSubstr("'multi'"));
  EXPECT_TRUE(eventually([this] { return !raw_.exists("orders"); }));
}

/// Otherwise the write would be carried out by itself, whatever token has come between.
TEST_F(ways, fences_nothing_where_transactions_are_refused) {
  raw_.command({"ACL", "SETUSER", "default", "+@all", "-multi"});
  client redis{url("?scripts=no"), logged()};
  fence total{redis, "orders"};
  auto const failure = failure_of([&] { (void)total.set("{orders}sum", "1", fence_token{5}); });
  EXPECT_THAT(failure.message, HasSubstr("'multi'"));
  EXPECT_FALSE(raw_.exists("{orders}sum"));
  EXPECT_EQ(total.claim(fence_token{5}), fence_result::written) << "compare-and-set needs no transaction";
}

TEST_F(ways, fences_writes_without_scripts) {
  client redis{url("?scripts=no"), logged()};
  mutex lock{redis, "orders"};
  fence total{redis, "orders"};
  auto old = lock.acquire();
  EXPECT_EQ(total.set("{orders}sum", "1", old), fence_result::written);
  auto const token = old.token();
  (void)old.release();
  auto const held = lock.acquire();
  EXPECT_EQ(total.claim(held), fence_result::written);
  EXPECT_EQ(total.set("{orders}sum", "2", fence_token{token}), fence_result::refused_stale);
  EXPECT_EQ(total.set("{orders}sum", "3", held), fence_result::written);
  EXPECT_EQ(raw_.get("{orders}sum"), "3");
  raw_.command({"LPUSH", "{orders}list", "1"});
  EXPECT_THAT(failure_of([&] { (void)total.append("{orders}list", "x", held); }).code, errc::wrong_type);
  EXPECT_EQ(scripts_sent(), 0U);
}

TEST_F(ways, refuses_a_write_without_scripts_when_a_newer_token_comes_between_its_steps) {
  client redis{url("?scripts=no"), logged()};
  fence total{redis, "orders"};
  EXPECT_EQ(total.set("{orders}sum", "1", fence_token{5}), fence_result::written);
  proxy_.decide([this, say = speaking(facts_), begun = 0](request const& said) mutable {
    // The mark has been read, and is watched; the second transaction, which writes, is on its way.
    if (said.name == "MULTI" && ++begun == 2) raw_.command({"SET", "{orders}:holdfast_fence", "9"});
    return say(said);
  });
  EXPECT_EQ(total.set("{orders}sum", "2", fence_token{6}), fence_result::refused_stale);
  EXPECT_EQ(raw_.get("{orders}sum"), "1");
}

}  // namespace
}  // namespace holdfast::test
