// What the keys of a barrier on etcd say.

#include "etcd/barrier_keys.hpp"

#include <gmock/gmock.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace holdfast::etcd {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

barrier_words words_of(std::string const& text) {
  return barrier_words::read(text).value_or(barrier_words{});
}

/// With those slots taken; the processes of `alive` live.
barrier_reading reading(std::int64_t parties, std::vector<int> const& slots, std::vector<int> const& alive) {
  std::vector<found> answers(2);
  for (auto const each : slots)
    answers[0].keys.push_back({.key = "n/barrier-arrived-" + std::to_string(each)});
  for (auto const each : alive)
    answers[1].keys.push_back({.key = "n/barrier-here-7-" + std::to_string(each)});
  answers[1].keys.push_back({.key = "n/barrier-here-6-1"});  // of the generation before
  return {"n/", "holdfast barrier " + std::to_string(parties) + " 7 7", answers};
}

TEST(barrier_words, are_read_as_they_were_written) {
  std::string const text =
      "holdfast barrier 3 9 5\n6 died uuid:4 web-1 pid 7 'a b'\n8 left uuid:6 web-2 pid 9";
  auto const words = words_of(text);
  EXPECT_EQ(words.parties, 3);
  EXPECT_EQ(words.generation, 9);
  EXPECT_EQ(words.since, 5);
  EXPECT_THAT(words.breaks, SizeIs(2));
  EXPECT_EQ(words.text(), text);
}

TEST(barrier_words, are_nobody_elses) {
  for (auto const* const text : {"", "holdfast barrier", "holdfast barrier 3 9", "holdfast barrier 0 9 5",
                                 "holdfast barrier x 9 5", "holdfast latch 3 9 5"})
    EXPECT_FALSE(barrier_words::read(text)) << text;
}

TEST(barrier_words, say_how_a_generation_has_ended) {
  auto const broken = words_of("holdfast barrier 3 7 7").next("left uuid:1 web-1 pid 7");
  EXPECT_EQ(broken.cause_of(7, "lost"), "left uuid:1 web-1 pid 7");
  auto const opened = broken.next();
  EXPECT_EQ(opened.generation, 9);
  EXPECT_EQ(opened.cause_of(7, "lost"), "left uuid:1 web-1 pid 7");
  EXPECT_EQ(opened.cause_of(8, "lost"), "");
  EXPECT_EQ(opened.cause_of(6, "lost"), "lost");  // of a barrier before
  EXPECT_EQ(opened.cause_of(9, "lost"), "lost");  // it isn't over there
}

TEST(barrier_words, have_the_last_generations_that_were_broken) {
  auto words = words_of("holdfast barrier 3 100 100");
  for (int i = 0; i != 40; ++i) words = words.next("left uuid:1 web-1");
  EXPECT_THAT(words.breaks, SizeIs(32));
  EXPECT_EQ(words.since, 108);
  EXPECT_EQ(words.cause_of(107, "lost"), "lost");
  EXPECT_EQ(words.cause_of(108, "lost"), "left uuid:1 web-1");
  EXPECT_EQ(words_of(words.text()).text(), words.text());
}

TEST(barrier_words, are_others_for_another_number_of_parties_and_the_first_again) {
  auto const first = words_of("holdfast barrier 3 7 7");
  EXPECT_NE(first.resized(2).resized(3).text(), first.text());
  EXPECT_EQ(first.resized(2).parties, 2);
}

TEST(barrier_reading, tells_who_is_dead_by_the_key_that_is_missing) {
  auto const seen = reading(4, {3, 1, 2}, {2});
  EXPECT_THAT(seen.arrived, ElementsAre(1, 2, 3));
  EXPECT_THAT(seen.dead, ElementsAre(1, 3));
  EXPECT_EQ(seen.first_alive(), 2);
  EXPECT_FALSE(seen.complete());
  EXPECT_TRUE(reading(2, {1, 2}, {1, 2}).complete());
  EXPECT_THAT(reading(2, {1, 2}, {1, 2}).dead, IsEmpty());
}

TEST(barrier_reading, gives_each_choice_a_free_slot) {
  auto const seen = reading(5, {1, 3, 4}, {1, 3, 4});
  EXPECT_EQ(seen.free_slot(0), 2);
  EXPECT_EQ(seen.free_slot(1), 5);
  EXPECT_EQ(seen.free_slot(2), 2);
  EXPECT_TRUE(seen.is_free(2));
  for (auto const slot : {0, 1, 3, 6}) EXPECT_FALSE(seen.is_free(slot)) << slot;
  auto const empty = reading(3, {}, {});
  for (std::size_t i = 0; i != 6; ++i) EXPECT_TRUE(empty.is_free(empty.free_slot(i))) << i;
}

}  // namespace
}  // namespace holdfast::etcd
