/// S3 applied: a write that comes too late has no effect, and the writer is notified.
#include <holdfast/fence.hpp>

#include <future>

#include "law.hpp"

namespace holdfast::test {
namespace {

constexpr auto written = fence_result::written;
constexpr auto refused_stale = fence_result::refused_stale;
constexpr auto refused_lost = fence_result::refused_lost;

class fenced : public testing::Test {
 protected:
  deployment_under_test server_{};
  raw_servers raw_ = server_.raw();
  client redis_{server_.url(), with_long_timeouts()};
  mutex lock_{redis_, "orders"};
  fence orders_{redis_, "orders"};
};

TEST_F(fenced, lets_a_lease_write_as_often_as_it_likes) {
  auto const lease = lock_.acquire();
  EXPECT_EQ(orders_.set("total", "1", lease), written);
  EXPECT_EQ(orders_.set("total", "2", lease), written);
  EXPECT_EQ(raw_.get("total"), "2");
  EXPECT_EQ(orders_.newest(), lease.token());
}

TEST_F(fenced, refuses_what_an_earlier_lease_writes_after_a_later_one) {
  auto const stale_token = lock_.acquire().token();
  auto const lease = lock_.acquire();
  ASSERT_EQ(orders_.set("total", "new", lease), written);
  EXPECT_EQ(orders_.set("total", "late", stale_token), refused_stale);
  EXPECT_EQ(orders_.set("total", "late", stale_token, 1h), refused_stale);
  EXPECT_EQ(orders_.append("total", "late", stale_token), refused_stale);
  EXPECT_EQ(orders_.erase("total", stale_token), refused_stale);
  EXPECT_EQ(orders_.increment("count", 1, stale_token), refused_stale);
  EXPECT_EQ(orders_.hash_set("hash", "field", "late", stale_token), refused_stale);
  EXPECT_EQ(orders_.write(stale_token, "LPUSH", "log", "late"), refused_stale);
  EXPECT_EQ(orders_.claim(stale_token), refused_stale);
  EXPECT_EQ(raw_.get("total"), "new");
  for (auto const* const key : {"count", "hash", "log"}) EXPECT_FALSE(raw_.exists(key)) << key;
}

TEST_F(fenced, refuses_the_first_late_write_too_once_the_new_holder_has_claimed) {
  auto const stale_token = lock_.acquire().token();
  auto const lease = lock_.acquire();
  EXPECT_EQ(orders_.claim(lease), written);
  EXPECT_EQ(orders_.set("total", "late", stale_token), refused_stale);
  EXPECT_FALSE(raw_.exists("total"));
}

TEST_F(fenced, asks_no_server_for_a_lease_that_is_lost) {
  auto const lost_lease = mutex{redis_, "orders", {.ttl = 300ms, .watchdog = false}}.acquire();
  ASSERT_TRUE(eventually([&] { return lost_lease.lost().stop_requested(); }));
  auto const commands = commands_at_rest(redis_);
  EXPECT_EQ(orders_.set("total", "late", lost_lease), refused_lost);
  EXPECT_EQ(orders_.claim(lost_lease), refused_lost);
  EXPECT_EQ(redis_.stats().commands, commands);
  EXPECT_EQ(orders_.set("total", "no lease", lease{}), refused_lost);
  EXPECT_FALSE(raw_.exists("total"));
}

TEST_F(fenced, refuses_by_resource_and_not_by_key) {
  fence other_fence{redis_, "others"};
  EXPECT_EQ(orders_.set("total", "1", 9), written);
  EXPECT_EQ(orders_.set("other key", "late", 7), refused_stale);
  EXPECT_EQ(other_fence.set("total", "2", 7), written);
}

TEST_F(fenced, shares_what_was_seen_with_fences_of_other_clients) {
  client other_client{server_.url(), with_long_timeouts()};
  EXPECT_EQ(fence(other_client, "orders").claim(9), written);
  EXPECT_EQ(orders_.newest(), 9);
  EXPECT_EQ(orders_.set("total", "late", 7), refused_stale);
}

TEST_F(fenced, writes_what_it_is_asked_to) {
  EXPECT_EQ(orders_.set("text", "a", 7, 1h), written);
  EXPECT_GT(raw_.pttl("text"), 3'000'000);
  EXPECT_EQ(orders_.append("text", "b", 7), written);
  EXPECT_EQ(raw_.get("text"), "ab");
  EXPECT_EQ(orders_.increment("count", -3, 7), written);
  EXPECT_EQ(raw_.get("count"), "-3");
  EXPECT_EQ(orders_.hash_set("hash", "one", "1", 7), written);
  EXPECT_EQ(orders_.hash_set("hash", {{"two", "2"}, {"three", "3"}}, 7), written);
  EXPECT_EQ(raw_.command({"HGET", "hash", "three"}).text, "3");
  EXPECT_EQ(raw_.command({"HLEN", "hash"}).integer, 3);
  EXPECT_EQ(orders_.write(7, "LPUSH", "log", "x", std::string{"y\0z", 3}), written);
  EXPECT_EQ(raw_.command({"LINDEX", "log", "0"}).text, (std::string{"y\0z", 3}));
  EXPECT_EQ(orders_.erase("text", 7), written);
  EXPECT_FALSE(raw_.exists("text"));
}

TEST_F(fenced, costs_one_request_and_leaves_one_note_behind_however_much_is_written) {
  (void)orders_.claim(7);
  (void)orders_.append("log", "x", 7);  // the server knows the scripts from here on
  auto const commands = commands_at_rest(redis_);
  auto const resent = redis_.stats().resent;
  for (auto i = 0; i < 10; ++i) EXPECT_EQ(orders_.append("log", "x", 7), written);
  EXPECT_EQ(orders_.claim(7), written);
  EXPECT_EQ(orders_.newest(), 7);
  EXPECT_EQ(redis_.stats().commands, commands + 12);
  EXPECT_EQ(redis_.stats().resent, resent);
  EXPECT_EQ(raw_.keys("*:holdfast_fence_done:*").size(), 1u);
}

TEST_F(fenced, remembers_the_newest_token_for_as_long_as_it_was_told) {
  EXPECT_EQ(orders_.claim(7), written);
  EXPECT_GT(raw_.pttl("{orders}:holdfast_fence"), 6 * 86'400'000);
  EXPECT_EQ(fence(redis_, "brief", {.remember = 50ms}).claim(7), written);
  EXPECT_TRUE(eventually([&] { return fence(redis_, "brief").newest() == 0; }));
  EXPECT_EQ(fence(redis_, "eternal", {.remember = 0ms}).claim(7), written);
  EXPECT_EQ(raw_.pttl("{eternal}:holdfast_fence"), -1);
}

TEST_F(fenced, may_be_used_by_many_threads) {
  {
    std::vector<std::jthread> threads;
    for (auto i = 0; i < 8; ++i) {
      threads.emplace_back([&] {
        for (auto n = 0; n < 100; ++n) EXPECT_EQ(orders_.increment("count", 1, 7), written);
      });
    }
  }
  EXPECT_EQ(raw_.get("count"), "800");
  EXPECT_LE(raw_.keys("*:holdfast_fence_done:*").size(), 8u);
}

TEST_F(fenced, names_key_and_server_when_a_key_has_another_type_and_changes_nothing) {
  raw_.command({"LPUSH", "total", "x"});
  auto const refusal = failure_of([&] { (void)orders_.append("total", "y", 7); });
  EXPECT_EQ(refusal.code, errc::wrong_type);
  for (auto const& part : {std::string{"total"}, std::string{"orders"}, server_.url(), std::string{"APPEND"}})
    EXPECT_TRUE(refusal.mentions(part)) << part << " in " << refusal;
  EXPECT_EQ(orders_.newest(), 0);
  EXPECT_EQ(raw_.command({"LLEN", "total"}).integer, 1);
}

TEST_F(fenced, says_when_its_mark_is_no_token) {
  for (auto const& spoil : {std::vector<std::string>{"SET", "{orders}:holdfast_fence", "apples"},
                            {"HSET", "{orders}:holdfast_fence", "token", "7"}}) {
    raw_.command({"DEL", "{orders}:holdfast_fence"});
    raw_.command(spoil);
    EXPECT_EQ(code_of([&] { (void)orders_.set("total", "x", 7); }), errc::wrong_type);
    EXPECT_EQ(code_of([&] { (void)orders_.claim(7); }), errc::wrong_type);
    EXPECT_EQ(code_of([&] { (void)orders_.newest(); }), errc::wrong_type);
    EXPECT_FALSE(raw_.exists("total"));
  }
}

/// The outcome of one asynchronous operation.
template <class Result>
class outcome {
 public:
  auto handler() {
    return [done = std::move(done_)](std::optional<Result> result, std::exception_ptr reason) mutable {
      if (reason) {
        done.set_exception(std::move(reason));
      } else {
        done.set_value(*result);
      }
    };
  }
  Result get() { return result_.get(); }

 private:
  std::promise<Result> done_;
  std::future<Result> result_ = done_.get_future();
};

template <class Result = fence_result, class Start>
Result async_result(Start start) {
  outcome<Result> result;
  start(result.handler());
  return result.get();
}

TEST_F(fenced, writes_asynchronously) {
  auto const stale_token = lock_.acquire().token();
  auto const lease = lock_.acquire();
  EXPECT_EQ(async_result([&](auto done) { orders_.async_claim(lease, std::move(done)); }), written);
  EXPECT_EQ(async_result([&](auto done) { orders_.async_set("total", "4", lease, std::move(done)); }),
            written);
  EXPECT_EQ(async_result([&](auto done) { orders_.async_append("total", "1", lease, std::move(done)); }),
            written);
  EXPECT_EQ(async_result([&](auto done) { orders_.async_increment("total", 1, lease, std::move(done)); }),
            written);
  EXPECT_EQ(raw_.get("total"), "42");
  EXPECT_EQ(async_result([&](auto done) { orders_.async_set("brief", "x", lease, 1h, std::move(done)); }),
            written);
  EXPECT_GT(raw_.pttl("brief"), 0);
  EXPECT_EQ(
      async_result([&](auto done) { orders_.async_hash_set("hash", "a", "1", lease, std::move(done)); }),
      written);
  EXPECT_EQ(async_result([&](auto done) {
              orders_.async_hash_set("hash", {{"b", "2"}, {"c", "3"}}, lease, std::move(done));
            }),
            written);
  EXPECT_EQ(raw_.command({"HLEN", "hash"}).integer, 3);
  EXPECT_EQ(async_result([&](auto done) { orders_.async_erase("hash", lease, std::move(done)); }), written);
  EXPECT_FALSE(raw_.exists("hash"));
  EXPECT_EQ(async_result<std::int64_t>([&](auto done) { orders_.async_newest(std::move(done)); }),
            lease.token());
  EXPECT_EQ(
      async_result([&](auto done) { orders_.async_set("total", "late", stale_token, std::move(done)); }),
      refused_stale);
  EXPECT_EQ(raw_.get("total"), "42");
}

TEST_F(fenced, carries_out_asynchronous_writes_in_their_order_without_waiting_for_each) {
  auto const lease = lock_.acquire();
  std::vector<outcome<fence_result>> all(100);
  std::string expected;
  for (auto i = 0; i < 100; ++i) {
    auto const word = std::to_string(i) + " ";
    expected += word;
    orders_.async_append("words", word, lease, all[static_cast<std::size_t>(i)].handler());
  }
  for (auto& each : all) EXPECT_EQ(each.get(), written);
  EXPECT_EQ(raw_.get("words"), expected);
}

TEST_F(fenced, tells_an_asynchronous_writer_what_went_wrong) {
  auto lost_lease = mutex{redis_, "lost"}.acquire();
  lost_lease.release();
  EXPECT_EQ(code_of([&] { orders_.async_set("total", "x", lost_lease, {}); }), std::errc::invalid_argument)
      << "there is no handler";
  auto const lease = lock_.acquire();
  raw_.command({"RPUSH", "list", "x"});
  EXPECT_EQ(
      code_of([&] {
        (void)async_result([&](auto done) { orders_.async_append("list", "x", lease, std::move(done)); });
      }),
      errc::wrong_type);
  std::promise<std::optional<fence_result>> answer;
  orders_.async_set("total", "x", std::move(lost_lease),
                    [&](auto result, auto) { answer.set_value(result); });
  auto told = answer.get_future();
  EXPECT_EQ(told.wait_for(0s), std::future_status::ready) << "before the call returns";
  EXPECT_EQ(told.get(), refused_lost);
}

TEST_F(fenced, may_be_destroyed_while_it_writes_and_its_client_too) {
  auto const lease = lock_.acquire();
  outcome<fence_result> first;
  {
    fence brief{redis_, "brief"};
    brief.async_set("{brief}:x", "1", lease, first.handler());
  }
  EXPECT_EQ(first.get(), written);
  outcome<fence_result> last;
  {
    client passing{server_.url(), with_long_timeouts()};
    fence{passing, "brief"}.async_set("{brief}:x", "2", lease, last.handler());
  }
  auto const code = code_of([&] { (void)last.get(); });
  EXPECT_TRUE(code == errc::closed || code == std::error_code{}) << code.message();
}

TEST_F(fenced, refuses_misuse_before_anything_is_sent) {
  auto const invalid = std::make_error_code(std::errc::invalid_argument);
  auto const commands = commands_at_rest(redis_);
  EXPECT_EQ(code_of([&] { fence nameless(redis_, ""); }), invalid);
  EXPECT_EQ(code_of([&] { fence too_long(redis_, std::string(65'537, 'x')); }), invalid);
  EXPECT_EQ(code_of([&] { fence negative(redis_, "orders", {.remember = -1ms}); }), invalid);
  EXPECT_EQ(code_of([&] { (void)orders_.set("total", "x", 0); }), invalid);
  EXPECT_EQ(code_of([&] { (void)orders_.claim(-1); }), invalid);
  EXPECT_EQ(code_of([&] { (void)orders_.set("", "x", 7); }), invalid);
  EXPECT_EQ(code_of([&] { (void)orders_.set("total", "x", 7, 0ms); }), invalid);
  EXPECT_EQ(code_of([&] { (void)orders_.hash_set("total", std::span<fence_field const>{}, 7); }), invalid);
  EXPECT_EQ(code_of([&] { (void)orders_.erase("{orders}:holdfast_fence", 7); }), invalid);
  std::vector<std::string_view> const too_many(4001, "x");
  EXPECT_EQ(code_of([&] { (void)orders_.write(7, "LPUSH", "log", std::span{too_many}); }), invalid);
  EXPECT_EQ(redis_.stats().commands, commands);
  std::vector<std::string_view> const many(4000, "x");
  EXPECT_EQ(orders_.write(7, "LPUSH", "log", std::span{many}), written);
}

}  // namespace
}  // namespace holdfast::test
