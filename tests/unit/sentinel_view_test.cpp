#include "topology/sentinel_view.hpp"

#include <gmock/gmock.h>

namespace {

using namespace holdfast::topology;
using holdfast::resp::kind;
using holdfast::resp::reply;

reply text(std::string words) {
  return {.type = kind::text, .integer = 0, .text = std::move(words), .elements = {}};
}
reply refused(std::string words) {
  return {.type = kind::error, .integer = 0, .text = std::move(words), .elements = {}};
}
reply list_reply(std::vector<std::string> const& words) {
  reply result{.type = kind::array, .integer = 0, .text = {}, .elements = {}};
  for (auto const& word : words) result.elements.push_back(text(word));
  return result;
}

holdfast::net::server_address const a{.host = "10.0.0.1", .port = 6379};
holdfast::net::server_address const b{.host = "10.0.0.2", .port = 6379};

sentinel_view view_of(std::string id, holdfast::net::server_address const& master, std::int64_t epoch,
                      std::size_t sentinels = 3) {
  sentinel_view view{.id = std::move(id), .master = master, .epoch = epoch};
  view.others.resize(sentinels - 1);
  return view;
}

std::optional<sentinel_verdict> verdict(std::vector<sentinel_view> const& views,
                                        std::optional<holdfast::net::server_address> const& last = {},
                                        tie of_equals = tie::leave) {
  std::vector<sentinel_view const*> all;
  all.reserve(views.size());
  for (auto const& view : views) all.push_back(&view);
  return verdict_of(all, last, of_equals);
}

TEST(sentinel_view, reads_what_a_sentinel_says) {
  sentinel_view view;
  EXPECT_TRUE(read_id(text("abc"), view));
  EXPECT_TRUE(read_address(list_reply({"10.0.0.1", "6379"}), view));
  EXPECT_TRUE(read_master(list_reply({"name", "mymaster", "config-epoch", "7", "quorum", "2"}), view));
  reply other_sentinels{.type = kind::array, .integer = 0, .text = {}, .elements = {}};
  other_sentinels.elements.push_back(
      list_reply({"name", "x", "ip", "10.0.0.9", "port", "26379", "runid", "def"}));
  EXPECT_TRUE(read_others(other_sentinels, view));
  EXPECT_EQ(view.id, "abc");
  EXPECT_EQ(view.master, a);
  EXPECT_EQ(view.epoch, 7);
  ASSERT_EQ(view.others.size(), 1u);
  EXPECT_EQ(view.others[0].id, "def");
  EXPECT_EQ(view.others[0].at, (holdfast::net::server_address{.host = "10.0.0.9", .port = 26379}));
}

TEST(sentinel_view, tells_a_sentinel_that_leads_a_failover) {
  sentinel_view view;
  EXPECT_TRUE(read_master(list_reply({"ip", "10.0.0.2", "port", "6379", "config-epoch", "7"}), view));
  EXPECT_TRUE(read_address(list_reply({"10.0.0.1", "6379"}), view));
  EXPECT_FALSE(view.age().firm) << "it watches another master than it names";
  EXPECT_TRUE(read_master(list_reply({"ip", "10.0.0.1", "port", "6379", "config-epoch", "7"}), view));
  EXPECT_TRUE(view.age().firm);
  EXPECT_TRUE(read_master(refused("NOPERM"), view));
  EXPECT_TRUE(view.age().firm) << "it doesn't say";
}

TEST(sentinel_view, knows_no_master_when_the_answer_is_nil) {
  sentinel_view view = view_of("x", a, 1);
  EXPECT_TRUE(read_address({}, view));
  EXPECT_EQ(view.master, std::nullopt);
  EXPECT_TRUE(read_master(refused("ERR No such master with that name"), view));
  EXPECT_TRUE(read_others(refused("ERR No such master with that name"), view));
}

TEST(sentinel_view, is_not_made_of_what_no_sentinel_says) {
  sentinel_view view;
  EXPECT_TRUE(read_id(refused("ERR unknown subcommand 'MYID'"), view)) << "an old one doesn't say";
  EXPECT_FALSE(read_address(refused("ERR unknown command 'SENTINEL'"), view));
  EXPECT_FALSE(read_address(list_reply({"10.0.0.1"}), view));
  EXPECT_FALSE(read_address(list_reply({"10.0.0.1", "port"}), view));
  EXPECT_FALSE(read_address(list_reply({"10.0.0.1", "70000"}), view));
  EXPECT_FALSE(read_master(text("OK"), view));
  EXPECT_FALSE(read_others(text("OK"), view));
}

TEST(sentinel_view, tells_a_switch_of_its_master_from_those_of_others) {
  EXPECT_TRUE(is_switch("mymaster 10.0.0.1 6379 10.0.0.2 6379", "mymaster"));
  EXPECT_FALSE(is_switch("other 10.0.0.1 6379 10.0.0.2 6379", "mymaster"));
  EXPECT_FALSE(is_switch("mymaster2 10.0.0.1 6379 10.0.0.2 6379", "mymaster"));
  EXPECT_FALSE(is_switch("mymaster", "mymaster"));
  EXPECT_FALSE(is_switch("", "mymaster"));
  constexpr auto promotion = "slave 10.0.0.2:6379 10.0.0.2 6379 @ mymaster 10.0.0.1 6379";
  EXPECT_TRUE(is_promotion(promotion, "mymaster"));
  EXPECT_FALSE(is_promotion(promotion, "master"));
  EXPECT_FALSE(is_promotion(promotion, "mymaster2"));
  EXPECT_FALSE(is_promotion("master mymaster 10.0.0.1 6379", "mymaster"));
  EXPECT_FALSE(is_promotion("slave @ mymaster", "mymaster"));
}

TEST(sentinel_verdict, is_settled_by_a_majority_of_all_sentinels) {
  EXPECT_EQ(verdict({}), std::nullopt);
  auto const minority = verdict({view_of("1", a, 0)});
  ASSERT_TRUE(minority);
  EXPECT_FALSE(minority->settled) << "one of three";
  EXPECT_TRUE(verdict({view_of("1", a, 0), view_of("2", a, 0)})->settled);
  EXPECT_TRUE(verdict({view_of("1", a, 0, 1)})->settled) << "it is the only one";
}

TEST(sentinel_verdict, counts_a_sentinel_once_under_two_names) {
  EXPECT_FALSE(verdict({view_of("1", a, 0), view_of("1", a, 0)})->settled);
}

TEST(sentinel_verdict, is_the_newest_word_though_most_say_otherwise) {
  auto const newest = verdict({view_of("1", a, 3), view_of("2", b, 4), view_of("3", a, 3)});
  ASSERT_TRUE(newest);
  EXPECT_EQ(newest->master, b);
  EXPECT_EQ(newest->age.epoch, 4);
  EXPECT_FALSE(newest->settled);
}

TEST(sentinel_verdict, is_what_most_say_where_none_is_newer) {
  EXPECT_EQ(verdict({view_of("1", b, 3), view_of("2", a, 3), view_of("3", a, 3)}, a)->master, a);
}

TEST(sentinel_verdict, is_not_that_of_an_unfinished_failover_under_the_same_number) {
  auto leader = view_of("1", a, 3);
  leader.watched = b;
  EXPECT_EQ(verdict({leader, view_of("2", b, 3)}, a, tie::stay)->master, b);
  EXPECT_EQ(verdict({view_of("2", b, 3), leader}, b, tie::leave)->master, b);
  EXPECT_TRUE(verdict({leader, view_of("2", a, 3)})->settled) << "with one that has followed it";
}

TEST(sentinel_verdict, is_another_one_than_was_tried_when_it_is_a_tie) {
  EXPECT_EQ(verdict({view_of("1", a, 3, 2), view_of("2", b, 3, 2)}, a)->master, b);
  EXPECT_EQ(verdict({view_of("1", a, 3, 2), view_of("2", b, 3, 2)}, b)->master, a);
}

TEST(sentinel_verdict, is_the_one_that_serves_when_it_is_a_tie) {
  EXPECT_EQ(verdict({view_of("1", a, 3, 2), view_of("2", b, 3, 2)}, a, tie::stay)->master, a);
  EXPECT_EQ(verdict({view_of("1", a, 3, 2), view_of("2", b, 3, 2)}, b, tie::stay)->master, b);
  EXPECT_EQ(verdict({view_of("1", a, 3), view_of("2", b, 3), view_of("3", b, 3)}, a, tie::stay)->master, b)
      << "no tie";
}

TEST(sentinel_verdict, ignores_those_that_know_no_master) {
  sentinel_view const ignorant{.id = "1", .epoch = 9};
  EXPECT_EQ(verdict({ignorant, view_of("2", a, 0, 2)})->master, a);
  EXPECT_EQ(verdict({ignorant}), std::nullopt);
}

TEST(sentinels, disagree_when_two_name_different_masters) {
  auto const view_of_a = view_of("1", a, 0);
  auto const same_master = view_of("2", a, 1);
  auto const other_master = view_of("3", b, 1);
  sentinel_view const ignorant{};
  EXPECT_FALSE(disagree(std::vector{&view_of_a, &same_master, &ignorant}));
  EXPECT_TRUE(disagree(std::vector{&view_of_a, &ignorant, &other_master}));
}

}  // namespace
