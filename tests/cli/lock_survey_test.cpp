// The search of `holdfast serve`, which has only so many requests a second.
#include "probe/lock_survey.hpp"

#include "objects_of_java.hpp"
#include "script/names.hpp"
#include "support/rounds.hpp"

#include <gmock/gmock.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace {

using namespace holdfast::test;
using namespace std::chrono_literals;
using holdfast::lock_state;
using testing::UnorderedElementsAre;

class lock_survey : public objects_of_java {
 protected:
  /// What was sent to the server, by its own count.
  std::uint64_t sent() {
    auto counts = redis.command_counts();
    return counts["scan"] + counts["evalsha"] + counts["eval"] + counts["pubsub|channels"];
  }
};

TEST_F(lock_survey, finds_what_has_no_token_and_counts_each_request) {
  std::vector<std::vector<std::string>> others;
  for (int i = 0; i != 2'000; ++i) others.push_back({"SET", "other:" + std::to_string(i), "x"});
  redis.pipeline(others);
  lock("of java");
  permits("permits of java", 1);
  take("permits of java", 'a');
  listen("redisson_sc:{waited for}");
  holdfast::client client{server.url()};
  holdfast::probe::lock_survey survey{client};
  auto const search = [&survey] {
    std::vector<std::string> found;
    auto const see_all = [&found](std::vector<std::string> const& names) {
      found.insert(found.end(), names.begin(), names.end());
      return true;
    };
    survey.find_names(see_all);
    survey.find_others(see_all, [&found](lock_state const& lock) {
      found.push_back(lock.name);
      return true;
    });
    return found;
  };
  (void)search();  // the server has the scripts now
  auto const by_server = sent();
  auto const by_itself = survey.requests();
  EXPECT_THAT(search(), UnorderedElementsAre("of java", "permits of java", "waited for"));
  EXPECT_EQ(survey.requests() - by_itself, sent() - by_server);
}

TEST_F(lock_survey, reads_what_clients_say_of_their_traces_twice_a_second_at_the_most) {
  std::string const uuid{"11111111-1111-4111-8111-111111111111"};
  redis.command({"HSET", holdfast::names::client_record(uuid), "host", "web-3", "traces", "-"});
  redis.command({"SET", "orders", uuid + ":1"});
  holdfast::client client{server.url()};
  holdfast::probe::lock_survey survey{client};
  std::vector<std::string> const names{"orders"};
  retry_if_slower_than(400ms, [&] {
    survey.look(names, [](lock_state const&) { return true; });
    auto const before = survey.requests();
    survey.look(names, [&survey](lock_state const& lock) {
      EXPECT_EQ(survey.expects_trace_of(lock), lock.name == "orders" && !lock.holders.empty());
      return true;
    });
    EXPECT_EQ(survey.requests() - before, 1U) << "the lock alone";
  });
}

}  // namespace
