/// Each conversation with the server, with something wrong at each of its requests, and with each of its
/// messages.

#include "simulation/conversations.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace holdfast::simulation {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

class conversations : public testing::TestWithParam<std::tuple<std::size_t, std::size_t>> {
 protected:
  struct counts {
    std::uint64_t requests;
    std::uint64_t messages;
  };
  static counts play(network conditions, std::string const& disturbance) {
    auto const& [index, kinds] = GetParam();
    stage scene{1, std::move(conditions)};
    all_conversations()[index].begin(scene, all_casts()[kinds]);
    EXPECT_THAT(scene.play(), ElementsAre()) << disturbance;
    return {scene.requests(), scene.messages()};
  }
};

TEST_P(conversations, bear_what_goes_wrong_at_each_request) {
  static constexpr std::pair<fate, char const*> disturbances[]{{fate::lost, "lost"},
                                                               {fate::unanswered, "unanswered"},
                                                               {fate::refused, "refused"},
                                                               {fate::forgotten, "forgotten"},
                                                               {fate::delayed, "delayed"}};
  auto const all = play({}, "all is well");
  for (std::uint64_t disturbed = 0; disturbed != all.requests && !HasFailure(); ++disturbed) {
    for (auto const& [outcome, name] : disturbances) {
      (void)play({.fate_of =
                      [&, number = std::uint64_t{0}]() mutable {
                        return number++ == disturbed ? outcome : fate::answered;
                      }},
                 "request " + std::to_string(disturbed) + " is " + name);
    }
  }
}

TEST_P(conversations, bear_that_each_message_is_lost_or_late) {
  static constexpr std::pair<std::optional<nanoseconds>, char const*> disturbances[]{
      {std::nullopt, "lost"}, {300ms, "late"}, {1600ms, "nearly too late"}, {2500ms, "too late"}};
  auto const all = play({}, "all is well");
  for (std::uint64_t disturbed = 0; disturbed != all.messages && !HasFailure(); ++disturbed) {
    for (auto const& [delay, name] : disturbances) {
      (void)play({.delay_of_message =
                      [&, number = std::uint64_t{0}]() mutable {
                        return number++ == disturbed ? delay : std::optional{0ns};
                      }},
                 "message " + std::to_string(disturbed) + " is " + name);
    }
  }
}

std::vector<std::tuple<std::size_t, std::size_t>> all_that_fit() {
  std::vector<std::tuple<std::size_t, std::size_t>> all;
  for (std::size_t i = 0; i != all_conversations().size(); ++i) {
    for (std::size_t k = 0; k != all_casts().size(); ++k) {
      auto const fits = all_conversations()[i].fits;
      if (fits == nullptr || fits(all_casts()[k])) all.emplace_back(i, k);
    }
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(each, conversations, testing::ValuesIn(all_that_fit()), [](auto const& info) {
  return std::string{all_conversations()[std::get<0>(info.param)].title} + '_' +
         all_casts()[std::get<1>(info.param)].title;
});

}  // namespace
}  // namespace holdfast::simulation
