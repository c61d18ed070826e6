/// Each conversation with the server, with something wrong at each of its requests, and with each of its
/// messages.

#include "simulation/conversations.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "support/sanitizers.hpp"

namespace holdfast::simulation {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

/// Each step of a conversation is disturbed in two ways, and of a quorum, which has three times the steps,
/// each second step in one way: all in turn. So it is under AddressSanitizer, which is five times as slow. Of
/// a long conversation each second or third step, since all that follow are played again for each. With
/// HOLDFAST_THOROUGH=1 each step is disturbed in all ways.
class conversations : public testing::TestWithParam<std::tuple<std::size_t, std::size_t>> {
 protected:
  struct counts {
    std::uint64_t requests;
    std::uint64_t messages;
  };
  [[nodiscard]] static cast const& kinds() { return all_casts()[std::get<1>(GetParam())]; }

  static counts play(network conditions, std::string const& disturbance, stage** scene_of = nullptr) {
    stage scene{1, std::move(conditions), kinds().masters};
    if (scene_of != nullptr) *scene_of = &scene;
    all_conversations()[std::get<0>(GetParam())].begin(scene, kinds());
    EXPECT_THAT(scene.play(), ElementsAre()) << disturbance;
    return {scene.requests(), scene.messages()};
  }

  template <class Disturbance>
  static std::vector<Disturbance> ways_at(std::uint64_t step, std::uint64_t steps,
                                          std::vector<Disturbance> const& all) {
    static auto const thorough = std::getenv("HOLDFAST_THOROUGH") != nullptr;
    if (thorough) return all;
    constexpr std::uint64_t long_one = 80;
    auto const few = kinds().masters > 1 || test::under_address_sanitizer;
    auto const interval = (few ? 2 : 1) + steps / long_one;
    if (step % interval != 0) return {};
    auto const turn = step / interval;
    if (few) return {all[turn % all.size()]};
    return {all[2 * turn % all.size()], all[(2 * turn + 1) % all.size()]};
  }
};

TEST_P(conversations, bear_what_goes_wrong_at_each_request) {
  static std::vector<std::pair<fate, char const*>> const disturbances{{fate::lost, "lost"},
                                                                      {fate::unanswered, "unanswered"},
                                                                      {fate::refused, "refused"},
                                                                      {fate::forgotten, "forgotten"},
                                                                      {fate::delayed, "delayed"}};
  auto const all = play({}, "all is well");
  for (std::uint64_t disturbed = 0; disturbed != all.requests && !HasFailure(); ++disturbed) {
    for (auto const& [outcome, name] : ways_at(disturbed, all.requests, disturbances)) {
      (void)play({.fate_of =
                      [&, number = std::uint64_t{0}]() mutable {
                        return number++ == disturbed ? outcome : fate::answered;
                      }},
                 "request " + std::to_string(disturbed) + " is " + name);
    }
  }
}

TEST_P(conversations, bear_that_each_message_is_lost_or_late) {
  static std::vector<std::pair<std::optional<nanoseconds>, char const*>> const disturbances{
      {std::nullopt, "lost"}, {300ms, "late"}, {1600ms, "nearly too late"}, {2500ms, "too late"}};
  auto const all = play({}, "all is well");
  for (std::uint64_t disturbed = 0; disturbed != all.messages && !HasFailure(); ++disturbed) {
    for (auto const& [delay, name] : ways_at(disturbed, all.messages, disturbances)) {
      (void)play({.delay_of_message =
                      [&, number = std::uint64_t{0}]() mutable {
                        return number++ == disturbed ? delay : std::optional{0ns};
                      }},
                 "message " + std::to_string(disturbed) + " is " + name);
    }
  }
}

TEST_P(conversations, bear_that_no_message_comes) {
  (void)play({.delay_of_message = [] { return std::optional<nanoseconds>{}; }}, "all messages are lost");
}

class conversations_of_masters : public conversations {};

TEST_P(conversations_of_masters, bear_that_one_is_away_from_some_request_on) {
  static std::vector<std::pair<nanoseconds, char const*>> const absences{
      {300ms, "300 ms"}, {3s, "3 s"}, {24h, "ever"}};
  auto const all = play({}, "all is well");
  constexpr std::uint64_t interval = 7;  // of no pattern among the requests
  for (std::uint64_t begin = 0; begin < all.requests && !HasFailure(); begin += interval) {
    auto const index = begin / interval % static_cast<std::uint64_t>(kinds().masters);
    for (auto const& [time, name] : ways_at(begin / interval * 2, 0, absences)) {
      stage* scene = nullptr;
      (void)play({.fate_of =
                      [&, number = std::uint64_t{0}]() mutable {
                        if (number++ == begin)
                          scene->master(index).vanish(scene->shared_world().now() + time);
                        return fate::answered;
                      }},
                 "master " + std::to_string(index) + " is away for " + name + " from request " +
                     std::to_string(begin) + " on",
                 &scene);
    }
  }
}

using pairs = std::vector<std::tuple<std::size_t, std::size_t>>;

/// The conversations with the kinds that fit, of those that `chosen` selects.
template <class Chosen>
pairs all_that_fit(Chosen chosen) {
  pairs all;
  for (std::size_t i = 0; i != all_conversations().size(); ++i) {
    for (std::size_t k = 0; k != all_casts().size(); ++k) {
      auto const fits = all_conversations()[i].fits;
      if (chosen(all_casts()[k]) && (fits == nullptr || fits(all_casts()[k]))) all.emplace_back(i, k);
    }
  }
  return all;
}

std::string title_of(testing::TestParamInfo<std::tuple<std::size_t, std::size_t>> const& info) {
  return std::string{all_conversations()[std::get<0>(info.param)].title} + '_' +
         all_casts()[std::get<1>(info.param)].title;
}

INSTANTIATE_TEST_SUITE_P(each, conversations,
                         testing::ValuesIn(all_that_fit([](cast const&) { return true; })), title_of);
INSTANTIATE_TEST_SUITE_P(each, conversations_of_masters,
                         testing::ValuesIn(all_that_fit([](cast const& kinds) { return kinds.masters > 1; })),
                         title_of);

}  // namespace
}  // namespace holdfast::simulation
