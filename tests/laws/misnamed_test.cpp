/// A name that is used as one kind, and asked for as another on the same wire: an error that names both.
#include "law.hpp"

#include <holdfast/barrier.hpp>
#include <holdfast/election.hpp>
#include <holdfast/expiring_semaphore.hpp>
#include <holdfast/fair_mutex.hpp>
#include <holdfast/latch.hpp>
#include <holdfast/semaphore.hpp>
#include <holdfast/shared_mutex.hpp>

#include <gmock/gmock.h>

#include <functional>
#include <string>
#include <vector>

namespace holdfast::test {
namespace {

using testing::HasSubstr;

class misnamed : public testing::Test {
 protected:
  /// What a name is, how its use begins, and the words for it in the errors of other kinds.
  struct use {
    std::string kind;
    std::function<void()> begin;
    std::string words;
  };
  /// Asks for the name as another kind; the words for that one.
  struct other_use {
    std::string kind;
    std::function<void()> ask;
    std::string words;
  };

  [[nodiscard]] std::vector<use> uses() {
    return {
        {"mutex", [this] { held_.push_back(mutex{first_client_, "n"}.acquire()); }, "a lock"},
        {"readers", [this] { held_.push_back(shared_mutex{first_client_, "n"}.acquire_shared()); }, "a lock"},
        {"permits", [this] { held_.push_back(expiring_semaphore{first_client_, "n", 2}.acquire()); },
         "the permits of an expiring_semaphore"},
        {"latch", [this] { latch{first_client_, "n"}.try_set_count(2); }, "a latch"},
        {"barrier", [this] { raw_.command({"SET", "n", "holdfast_barrier 2 1000 1000"}); }, "a barrier"},
        {"permits without leases", [this] { semaphore{first_client_, "n", 2}.acquire(); },
         "the permits of an expiring_semaphore"},
        {"semaphore of Redisson", [this] { semaphore{first_client_, "n", on_redisson_}.try_set_permits(2); },
         "number"},
        {"lock of the version before", [this] { raw_.command({"HSET", "n", "mode", "read"}); }, "a hash"}};
  }
  [[nodiscard]] std::vector<other_use> other_uses() {
    auto const lock = [this](auto ask) { return [this, ask] { ask(second_client_); }; };
    return {
        {"mutex", lock([](client& c) { (void)mutex{c, "n"}.try_acquire(); }), "not a lock"},
        {"fair_mutex", lock([](client& c) { (void)fair_mutex{c, "n"}.try_acquire(); }), "not a lock"},
        {"writer", lock([](client& c) { (void)shared_mutex{c, "n"}.try_acquire(); }), "not a lock"},
        {"reader", lock([](client& c) { (void)shared_mutex{c, "n"}.try_acquire_shared(); }), "not a lock"},
        {"upgrade lease", lock([](client& c) { (void)shared_mutex{c, "n"}.try_acquire_upgrade(); }),
         "not a lock"},
        {"election", lock([](client& c) { (void)election{c, "n"}.try_campaign("v"); }), "not a lock"},
        {"permits", lock([](client& c) { (void)expiring_semaphore{c, "n", 2}.try_acquire(); }),
         "not the permits of a semaphore"},
        {"latch", lock([](client& c) { latch{c, "n"}.count_down(); }), "not a latch"},
        {"barrier", lock([](client& c) { (void)barrier{c, "n", 2}.try_arrive_and_wait_for(1ms); }),
         "not a barrier"},
        {"permits without leases", lock([](client& c) { (void)semaphore{c, "n"}.try_acquire(); }),
         "not the permits of a semaphore"},
        {"semaphore of Redisson",
         lock([](client& c) { (void)semaphore{c, "n", on_redisson_}.try_acquire(); }),
         "not the number of permits of a semaphore"}};
  }
  /// Those that exclude each other instead, since they are one lock, or one object.
  [[nodiscard]] static bool go_together(std::string const& one, std::string const& other) {
    static std::vector<std::string> const locks{"mutex",  "fair_mutex",    "readers", "writer",
                                                "reader", "upgrade lease", "election"};
    static std::vector<std::string> const permits{"permits", "permits without leases"};
    auto const both_in = [&](std::vector<std::string> const& kinds) {
      return std::ranges::find(kinds, one) != kinds.end() && std::ranges::find(kinds, other) != kinds.end();
    };
    return one == other || both_in(locks) || both_in(permits);
  }

  static constexpr waiting_options on_redisson_{.wire = wire::redisson};

  deployment_under_test server_{};
  raw_servers raw_ = server_.raw();
  client first_client_{server_.url(), with_long_timeouts()};
  client second_client_{server_.url(), with_long_timeouts()};
  std::vector<lease> held_;
};

TEST_F(misnamed, is_told_with_both_kinds) {
  for (auto const& there : uses()) {
    there.begin();
    for (auto const& wanted : other_uses()) {
      if (go_together(there.kind, wanted.kind)) continue;
      SCOPED_TRACE(wanted.kind + ", and there is: " + there.kind);
      EXPECT_EQ(code_of(wanted.ask), errc::wrong_type);
      auto const text = message_of(wanted.ask);
      EXPECT_THAT(text, HasSubstr("\"n\""));
      EXPECT_THAT(text, HasSubstr(there.words));
      EXPECT_THAT(text, HasSubstr(wanted.words));
    }
    held_.clear();
    raw_.del("n");
  }
}

}  // namespace
}  // namespace holdfast::test
