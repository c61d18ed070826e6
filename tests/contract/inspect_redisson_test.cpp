// The scripts of `inspect` on objects of Redisson.
#include "contract/contract.hpp"
#include "inspect/states.hpp"
#include "inspect/view.hpp"
#include "script/names_redisson.hpp"
#include "scripts/inspect.hpp"

namespace holdfast::contract::inspect_redisson_test {

using testing::ElementsAre;
using testing::IsEmpty;
namespace lua = holdfast::scripts::inspect;
namespace redisson_names = holdfast::names::redisson;

constexpr std::string_view java = "33333333-3333-4333-8333-333333333333:1";
std::string const permits_key = redisson_names::permits(lock_name);

class inspect_redisson_script : public testing::Test {
 protected:
  raw_reply state(holdfast::inspection::look_for scope) {
    return raw_.command(
        eval(holdfast::inspection::look_at(lock_name, holdfast::engine::publishing::counted, 10, scope)));
  }
  /// The last element of the reply, which only objects of Redisson have.
  raw_reply facts() {
    auto reply = state(holdfast::inspection::look_for::holder);
    EXPECT_EQ(reply.elements.size(), 8U);
    return reply.elements.empty() ? raw_reply{} : reply.elements.back();
  }
  raw_reply force_reentrant(std::string_view owner) {
    auto const queue = redisson_names::fair_queue(lock_name);
    auto const timeouts = redisson_names::fair_timeouts(lock_name);
    auto const channel = redisson_names::lock_channel(lock_name);
    return raw_.command(eval(lua::force_reentrant{.lock = {lock_name},
                                                  .queue = {queue},
                                                  .timeouts = {timeouts},
                                                  .owner = owner,
                                                  .publish = "PUBLISH",
                                                  .channel = channel}()));
  }
  raw_reply force_permits(std::string const& bytes, std::string const& text = {}) {
    auto const channel = redisson_names::semaphore_channel(lock_name);
    return raw_.command(eval(lua::force_permits{.counter = {lock_name},
                                                .permits = {permits_key},
                                                .publish = "PUBLISH",
                                                .channel = channel,
                                                .bytes = bytes,
                                                .text = text}()));
  }
  void queue_up(std::string_view owner, std::string const& score) {
    raw_.command({"RPUSH", redisson_names::fair_queue(lock_name), std::string{owner}});
    raw_.command({"ZADD", redisson_names::fair_timeouts(lock_name), score, std::string{owner}});
  }

  holdfast::test::redis_server& server_ = empty_server();
  raw_redis raw_ = server_.raw();
  std::string const channel_ = redisson_names::lock_channel(lock_name);
};

TEST_F(inspect_redisson_script, says_who_holds_a_lock_and_how_often) {
  raw_.command({"HSET", lock_key, std::string{java}, "2"});
  EXPECT_THAT(facts(), is_array({is_text("holding"), is(1), is_text("holders"),
                                 is_array({is_text(java), is_text("2"), is(-1)})}));
}

TEST_F(inspect_redisson_script, says_the_token_and_the_queue) {
  raw_.command({"HSET", lock_key, std::string{java}, "1"});
  raw_.command({"SET", redisson_names::token(lock_name), "7"});
  queue_up(anna, "1795166999549");
  EXPECT_THAT(facts().elements.at(5), is_text("7"));
  EXPECT_THAT(facts().elements.at(7), is(1));
  EXPECT_THAT(facts().elements.at(9), is_array({is_text(anna), is_text("1795166999549")}));
}

TEST_F(inspect_redisson_script, says_of_each_reader_how_long_its_longest_hold_lasts) {
  raw_.command({"HSET", lock_key, "mode", "read", std::string{java}, "2", std::string{anna}, "1"});
  raw_.command({"SET", redisson_names::reader_timeout(lock_name, java, 1), "1", "PX", "9000"});
  raw_.command({"SET", redisson_names::reader_timeout(lock_name, java, 2), "1", "PX", "20000"});
  auto const nearly_20_s = is_number(testing::AllOf(testing::Gt(10'000), testing::Le(20'000)));
  EXPECT_THAT(
      facts(),
      is_array({is_text("mode"), is_text("read"), is_text("holding"), is(2), is_text("holders"),
                is_array({is_text(java), is_text("2"), nearly_20_s, is_text(anna), is_text("1"), is(0)})}));
}

TEST_F(inspect_redisson_script, says_who_waits_for_a_lock_of_the_plain_wire_only_when_asked) {
  raw_.command({"SET", lock_key, std::string{java}});
  queue_up(anna, "1795166999549");
  EXPECT_EQ(state(holdfast::inspection::look_for::holder).elements.size(), 7U);
  EXPECT_EQ(state(holdfast::inspection::look_for::plain).elements.size(), 7U);
  auto const reply = state(holdfast::inspection::look_for::both);
  ASSERT_EQ(reply.elements.size(), 8U);
  EXPECT_THAT(reply.elements.back(), is_array({is_text("fair"), is(1), is_text("fair queue"),
                                               is_array({is_text(anna), is_text("1795166999549")})}));
}

TEST_F(inspect_redisson_script, says_what_was_refused_or_passes_it_over) {
  raw_.command({"ACL", "SETUSER", "default", "-hlen", "-llen"});
  raw_.command({"SET", lock_key, std::string{java}});
  auto const reply = state(holdfast::inspection::look_for::both);
  raw_.command({"DEL", lock_key});
  raw_.command({"HSET", lock_key, "mode", "read", std::string{java}, "1"});
  auto const plain = state(holdfast::inspection::look_for::plain);
  auto const failed = state(holdfast::inspection::look_for::holder);
  auto const sifted = raw_.command(eval(lua::sift{.hashes = {{lock_name}}}()));
  raw_.command({"ACL", "SETUSER", "default", "+@all"});
  ASSERT_EQ(reply.elements.size(), 8U);
  EXPECT_THAT(reply.elements.back().elements.at(0), is_text("refused"));
  EXPECT_EQ(plain.elements.size(), 7U);
  EXPECT_TRUE(failed.is_error());
  EXPECT_TRUE(sifted.is_error());
}

TEST_F(inspect_redisson_script, changes_nothing) {
  raw_.command({"HSET", lock_key, "mode", "write", std::string{java} + ":write", "1"});
  raw_.command({"ZADD", permits_key, "1", std::string(16, 'a')});
  EXPECT_TRUE(changes_nothing(raw_, [this] { (void)facts(); }));
}

TEST_F(inspect_redisson_script, sifts_out_what_can_be_no_lock) {
  raw_.command({"HSET", "lock", std::string{java}, "1"});
  raw_.command({"HSET", "read-write", "mode", "read", std::string{java}, "1"});
  raw_.command({"HSET", "session", "user", "anna"});
  raw_.command({"HSET", "fields", "a", "1", "b", "2"});
  raw_.command({"SET", "string", "x"});
  EXPECT_THAT(raw_.command(eval(lua::sift{
                  .hashes = {{"lock"}, {"session"}, {"fields"}, {"string"}, {"gone"}, {"read-write"}}}())),
              is_list({1, 6}));
}

TEST_F(inspect_redisson_script, deletes_a_lock_and_wakes_who_waits) {
  raw_.command({"HSET", lock_key, std::string{java}, "3"});
  subscription all{server_};
  EXPECT_THAT(force_reentrant(anna), is(-1));
  EXPECT_THAT(all.take(), IsEmpty());
  EXPECT_THAT(force_reentrant(java), is(1));
  EXPECT_THAT(all.take(), ElementsAre(channel_ + " 0"));
  EXPECT_FALSE(raw_.exists(lock_key));
  EXPECT_THAT(force_reentrant(java), is(0));
  EXPECT_THAT(all.take(), IsEmpty());
}

TEST_F(inspect_redisson_script, wakes_the_first_in_a_fair_queue_that_is_not_dead) {
  raw_.command({"HSET", lock_key, std::string{java}, "1"});
  auto const now_s = std::stoll(raw_.command({"TIME"}).elements.at(0).text);
  queue_up(anna, std::to_string((now_s - 1) * 1'000));
  queue_up(ben, std::to_string((now_s + 60) * 1'000));
  subscription all{server_};
  EXPECT_THAT(force_reentrant(java), is(1));
  EXPECT_THAT(all.take(),
              ElementsAre(channel_ + " 0", redisson_names::waiter_channel(lock_name, ben) + " 0"));
  EXPECT_EQ(raw_.command({"LLEN", redisson_names::fair_queue(lock_name)}).integer, 1);
}

TEST_F(inspect_redisson_script, deletes_the_lock_whatever_became_of_the_queue) {
  raw_.command({"HSET", lock_key, std::string{java}, "1"});
  raw_.command({"SET", redisson_names::fair_queue(lock_name), "full"});
  EXPECT_THAT(force_reentrant(java), is(1));
  EXPECT_FALSE(raw_.exists(lock_key));
}

TEST_F(inspect_redisson_script, deletes_no_hash_of_another_kind) {
  raw_.command({"HSET", lock_key, std::string{java}, "1", "mode", "read"});
  EXPECT_THAT(force_reentrant(java), is(-1));
  EXPECT_TRUE(raw_.exists(lock_key));
}

TEST_F(inspect_redisson_script, gives_permits_back_once_and_tells) {
  auto const channel = redisson_names::semaphore_channel(lock_name);
  raw_.command({"SET", lock_key, "-1"});
  for (char const id : {'a', 'b', 'c'}) raw_.command({"ZADD", permits_key, "1", std::string(16, id)});
  raw_.command({"ZADD", permits_key, "1", "00112233445566778899aabbccddeeff"});
  subscription all{server_};
  EXPECT_THAT(force_permits(std::string(16, 'a'), "61616161616161616161616161616161"), is(1));
  EXPECT_THAT(all.take(), IsEmpty()) << "a number that helps nobody";
  EXPECT_THAT(force_permits(std::string(16, 'a'), "61616161616161616161616161616161"), is(0));
  EXPECT_EQ(raw_.get(lock_key), "0");
  EXPECT_THAT(force_permits("", "00112233445566778899aabbccddeeff"), is(1));
  EXPECT_THAT(all.take(), ElementsAre(channel + " 1"));
  EXPECT_THAT(force_permits(""), is(2));
  EXPECT_THAT(all.take(), ElementsAre(channel + " 3"));
  EXPECT_THAT(force_permits(""), is(0));
  EXPECT_EQ(raw_.get(lock_key), "3");
}

TEST_F(inspect_redisson_script, leaves_permits_alone_beside_something_else) {
  raw_.command({"ZADD", permits_key, "1", std::string(16, 'a')});
  raw_.command({"SET", lock_key, "lots"});
  EXPECT_THAT(force_permits(""),
              is_error("MISFIT something that is no number, where the rest of a semaphore should be"));
  raw_.del(permits_key);
  raw_.command({"SET", lock_key, "1"});
  raw_.command({"SET", permits_key, "x"});
  EXPECT_THAT(force_permits(""), is_error("MISFIT a number without a sorted set of permits beside it"));
}

TEST_F(inspect_redisson_script, asks_a_holder_on_either_side) {
  auto const release_request = [](std::string_view owner) {
    auto const request_key = names::asked(lock_name, owner);
    return eval(lua::ask{.lock = {lock_name}, .asked = {request_key}, .owner = owner, .mode = "ask"}());
  };
  raw_.command({"HSET", lock_key, "mode", "write", std::string{anna} + ":write", "1", std::string{ben}, "1"});
  subscription inboxes{server_, {anna, ben}};
  EXPECT_THAT(raw_.command(release_request(anna)), is_array({is(1), is(-1)}));
  EXPECT_THAT(raw_.command(release_request(ben)), is_array({is(1), is(-1)}));
  EXPECT_THAT(raw_.command(release_request(java)), is(-2));
  EXPECT_EQ(inboxes.take().size(), 2U);
}

}  // namespace holdfast::contract::inspect_redisson_test
