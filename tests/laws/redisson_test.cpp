/// Locks on Redisson's wire: the choice of the wire, and their particular behaviour.
#include <holdfast/fair_mutex.hpp>
#include <holdfast/multi_mutex.hpp>
#include <holdfast/mutex.hpp>
#include <holdfast/recursive_mutex.hpp>

#include <gmock/gmock.h>

#include <deque>

#include "law.hpp"

namespace holdfast::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr lock_options java{.wire = wire::redisson};
constexpr lock_options fenced{.wire = wire::redisson, .fenced = true};

class on_wire : public testing::Test {
 protected:
  [[nodiscard]] client connect(std::string const& parameters = "", client_options options = {}) const {
    return client{server_.url() + parameters, with_long_timeouts(std::move(options))};
  }
  [[nodiscard]] std::string kind(std::string const& key = "orders") {
    return raw_.command({"TYPE", key}).text;
  }

  deployment_under_test server_{};
  raw_servers raw_ = server_.raw();
};

TEST_F(on_wire, is_as_the_lock_says_then_the_client_then_the_url) {
  struct sample {
    std::string url;
    wire of_client;
    wire of_lock;
    std::string kind;
  };
  for (auto const& [url, of_client, of_lock, wanted] :
       {sample{"", wire::automatic, wire::automatic, "string"},
        {"?wire=plain", wire::automatic, wire::automatic, "string"},
        {"?wire=redisson", wire::automatic, wire::automatic, "hash"},
        {"?wire=redisson", wire::plain, wire::automatic, "string"},
        {"?wire=plain", wire::redisson, wire::automatic, "hash"},
        {"?wire=redisson", wire::redisson, wire::plain, "string"},
        {"", wire::automatic, wire::redisson, "hash"}}) {
    auto redis = connect(url, {.wire = of_client});
    lock_options const options{.wire = of_lock};
    auto const lease = mutex{redis, "orders", options}.acquire();
    EXPECT_EQ(kind(), wanted) << url;
    auto const all = multi_mutex{redis, {"a", "b"}, options}.acquire();
    EXPECT_EQ(kind("a"), wanted) << url;
    auto const fair = fair_mutex{redis, "fair", options}.acquire();
    EXPECT_EQ(kind("fair"), wanted) << url;
    auto const recursive = recursive_mutex{redis, "again", options}.acquire();
    EXPECT_EQ(kind("again"), wanted) << url;
  }
}

TEST_F(on_wire, counts_tokens_for_a_fenced_lock_only) {
  auto redis = connect();
  EXPECT_EQ((mutex{redis, "orders", java}.acquire().token()), 0);
  EXPECT_FALSE(raw_.exists("redisson_lock_token:{orders}"));
  mutex counted{redis, "orders", fenced};
  std::int64_t last = 0;
  for (auto round = 0; round < 20; ++round) {
    auto first = counted.acquire();
    EXPECT_GT(first.token(), last);
    pending next;
    counted.async_acquire(next.handler());
    last = first.token();
    first.release();
    ASSERT_TRUE(eventually([&] { return next.done(); }));
    auto const second = next.take();
    ASSERT_TRUE(second);
    EXPECT_GT(second->token(), last);
    last = second->token();
  }
  EXPECT_EQ(raw_.pttl("redisson_lock_token:{orders}"), -1);
  EXPECT_GT((recursive_mutex{redis, "orders", fenced}.acquire().token()), last);
}

TEST_F(on_wire, refuses_to_fence_what_redisson_does_not_fence) {
  auto redis = connect();
  auto const reason =
      AllOf(HasSubstr("fenced"), HasSubstr("only mutex and recursive_mutex"), HasSubstr("wire::plain"));
  auto const code = make_error_code(std::errc::invalid_argument);
  EXPECT_THAT(message_of(code, [&] { fair_mutex{redis, "orders", fenced}; }), reason);
  EXPECT_THAT(message_of(code, [&] { multi_mutex{redis, {"a", "b"}, fenced}; }), reason);
  EXPECT_THAT(message_of(code, [&] { multi_mutex{redis, {"a"}, fenced}; }), reason);
  EXPECT_GT((fair_mutex{redis, "orders", {.fenced = true}}.acquire().token()), 0);
}

TEST_F(on_wire, refuses_names_that_a_cluster_could_not_unlock) {
  auto redis = connect("?wire=redisson");
  for (std::string const name : {"a{b", "a}b", "{}z"}) {
    auto const reason =
        AllOf(HasSubstr("\"" + name + "\""), HasSubstr("Redisson's wire"), HasSubstr("hash slot"));
    auto const code = make_error_code(std::errc::invalid_argument);
    EXPECT_THAT(message_of(code, [&] { mutex{redis, name}; }), reason);
    EXPECT_THAT(message_of(code, [&] { fair_mutex{redis, name}; }), reason);
    EXPECT_THAT(message_of(code, [&] { multi_mutex{redis, {"fine", name}}; }), reason);
    EXPECT_TRUE((mutex{redis, name, {.wire = wire::plain}}.try_acquire()));
  }
}

TEST_F(on_wire, names_the_key_what_was_found_and_what_was_expected) {
  auto redis = connect("?wire=redisson");
  raw_.command({"SET", "orders", "x"});
  raw_.command({"SET", "redisson_lock_queue:{fair}", "x"});
  auto const mismatch = HasSubstr("the key \"orders\" holds a string, not the hash of a lock of Redisson");
  EXPECT_THAT(message_of(errc::wrong_type, [&] { (void)mutex{redis, "orders"}.acquire(); }), mismatch);
  EXPECT_THAT(message_of(errc::wrong_type, [&] { (void)multi_mutex{redis, {"a", "orders"}}.acquire(); }),
              mismatch);
  EXPECT_THAT(
      message_of(errc::wrong_type, [&] { (void)fair_mutex{redis, "fair"}.acquire(); }),
      HasSubstr("the key \"redisson_lock_queue:{fair}\" holds a string, not the queue of a fair lock"));
  EXPECT_FALSE(raw_.exists("a"));
}

TEST_F(on_wire, shortens_the_ttl_of_a_lock_that_is_kept) {
  auto redis = connect("?wire=redisson");
  EXPECT_EQ((mutex{redis, "orders"}.acquire().keep_for(20s)), release_result::kept);
  EXPECT_LE(raw_.pttl("orders"), 20'000);
  EXPECT_GT(raw_.pttl("orders"), 10'000);
  auto all = multi_mutex{redis, {"a", "b"}}.acquire();
  EXPECT_EQ(all.parts().front().keep_for(20s), release_result::kept);
  EXPECT_LE(raw_.pttl("a"), 20'000);
}

TEST_F(on_wire, serves_the_callers_of_several_clients_in_their_order) {
  auto holder = connect("?wire=redisson");
  auto first = fair_mutex{holder, "orders"}.acquire();
  std::deque<client> clients;
  std::deque<fair_mutex> locks;
  std::deque<pending> waiting;
  for (auto queue_length = 1; queue_length <= 4; ++queue_length) {
    locks.emplace_back(clients.emplace_back(connect("?wire=redisson")), "orders");
    locks.back().async_acquire(waiting.emplace_back().handler());
    ASSERT_TRUE(eventually(
        [&] { return raw_.command({"LLEN", "redisson_lock_queue:{orders}"}).integer == queue_length; }));
  }
  first.release();
  for (auto i = std::size_t{0}; i < waiting.size(); ++i) {
    ASSERT_TRUE(eventually([&] { return waiting[i].done(); })) << i << " is kept waiting";
    EXPECT_EQ(std::ranges::count_if(waiting, &pending::done), std::ptrdiff_t(i) + 1)
        << "somebody overtook " << i;
    waiting[i].take()->release();
  }
  EXPECT_FALSE(raw_.exists("redisson_lock_queue:{orders}"));
  EXPECT_FALSE(raw_.exists("redisson_lock_timeout:{orders}"));
}

TEST_F(on_wire, leaves_no_trace_in_the_queue_of_a_fair_lock) {
  auto redis = connect("?wire=redisson");
  auto other = connect("?wire=redisson");
  auto const lease = fair_mutex{redis, "orders"}.acquire();
  EXPECT_FALSE((fair_mutex{other, "orders"}.try_acquire_for(100ms)));
  EXPECT_TRUE(eventually([&] { return !raw_.exists("redisson_lock_queue:{orders}"); }));
  EXPECT_FALSE(raw_.exists("redisson_lock_timeout:{orders}"));
}

}  // namespace
}  // namespace holdfast::test
