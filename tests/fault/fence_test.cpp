/// Checked writes whose request or reply is lost: each is made once, whatever happens to the connection.
#include <holdfast/fence.hpp>

#include <future>

#include "fault.hpp"
#include "scripts/fence.hpp"

namespace holdfast::test {
namespace {

constexpr auto written = fence_result::written;

class fence_fault : public fault {
 protected:
  static bool writes(request const& r) { return r.has(scripts::fence::write::source.sha1); }

  /// Disturbs the next write.
  void harm_next_write(fate f) { proxy_.once(writes, std::move(f)); }

  flaky_proxy proxy_{server_.socket_path()};
  client redis_{proxy_.url(), with_long_timeouts({.reply_timeout = 300ms})};
  fence orders_{redis_, "orders"};
};

TEST_F(fence_fault, does_not_double_a_write_whose_request_or_reply_is_lost) {
  std::string expected;
  for (auto const& effect : {fate::pass(), fate::cut_before(), fate::cut_after(), fate::swallow(),
                             fate::swallow_reply(), fate::delay_reply(800ms)}) {
    SCOPED_TRACE(static_cast<int>(effect.type));
    harm_next_write(effect);
    EXPECT_EQ(orders_.append("log", "x", 7), written);
    expected += 'x';
    EXPECT_EQ(raw_.get("log"), expected);
    harm_next_write(effect);
    EXPECT_EQ(orders_.increment("count", 1, 7), written);
    EXPECT_EQ(raw_.get("count"), std::to_string(expected.size()));
  }
  EXPECT_GE(redis_.stats().resent, 10u);
}

TEST_F(fence_fault, does_not_double_writes_of_many_threads_when_connections_are_cut_all_the_time) {
  std::atomic<int> writes_seen = 0;
  auto const decision = proxy_.decide_by([&writes_seen](request const& r) {
    return writes(r) && ++writes_seen % 7 == 0 ? fate::cut_after() : fate::pass();
  });
  {
    std::vector<std::jthread> threads;
    for (auto i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        for (auto n = 0; n < 50; ++n) EXPECT_EQ(orders_.increment("count", 1, 7), written);
      });
    }
  }
  EXPECT_GT(redis_.stats().resent, 10u);
  EXPECT_EQ(raw_.get("count"), "200");
}

TEST_F(fence_fault, does_not_double_a_write_when_the_scripts_were_lost_together_with_the_reply) {
  EXPECT_EQ(orders_.append("log", "x", 7), written);
  proxy_.decide([this, cut = false, flushed = false](request const& r) mutable {
    if (cut && !flushed) {
      flushed = true;
      server_.raw().command({"SCRIPT", "FLUSH"});
    }
    if (!writes(r) || cut) return fate::pass();
    cut = true;
    return fate::cut_after();
  });
  EXPECT_EQ(orders_.append("log", "x", 7), written);
  EXPECT_EQ(raw_.get("log"), "xx");
}

TEST_F(fence_fault, knows_that_it_has_written_although_a_newer_token_came_before_its_request_was_sent_again) {
  EXPECT_EQ(orders_.append("log", "a", 7), written);
  client other_client{server_.url(), with_long_timeouts()};
  fence other_fence{other_client, "orders"};
  auto const decision =
      proxy_.decide_by([&other_fence, cut = false, overtaken = false](request const& r) mutable {
        if (cut && !overtaken) {
          overtaken = true;
          EXPECT_EQ(other_fence.append("log", "c", 9), written);
        }
        if (!writes(r) || cut) return fate::pass();
        cut = true;
        return fate::cut_after();
      });
  EXPECT_EQ(orders_.append("log", "b", 7), written);
  EXPECT_EQ(raw_.get("log"), "abc");
  EXPECT_EQ(orders_.append("log", "late", 7), fence_result::refused_stale);
}

TEST_F(fence_fault, does_not_forget_a_request_of_which_a_copy_may_still_come) {
  EXPECT_EQ(orders_.append("log", "x", 7), written);
  proxy_.forget();
  harm_next_write(fate::swallow());
  EXPECT_EQ(orders_.append("log", "x", 7), written);
  request swallowed;
  for (auto const& r : proxy_.requests()) {
    if (!writes(r)) continue;
    swallowed = r;
    break;
  }
  EXPECT_EQ(orders_.append("log", "x", 7), written);
  EXPECT_EQ(raw_.command(swallowed.words).integer, 1) << "what the network had kept back is delivered";
  EXPECT_EQ(raw_.get("log"), "xxx");
}

TEST_F(fence_fault, says_that_the_outcome_is_open_when_a_request_sent_again_is_refused) {
  EXPECT_EQ(orders_.append("log", "x", 7), written);
  proxy_.decide([cut = false](request const& r) mutable {
    if (!writes(r)) return fate::pass();
    if (std::exchange(cut, true)) return fate::error("READONLY You can't write against a read only replica.");
    return fate::cut_after();
  });
  auto const f = failure_of([&] { (void)orders_.append("log", "x", 7); });
  EXPECT_EQ(f.code, errc::unreachable) << f;
  EXPECT_TRUE(f.mentions("READONLY")) << f;
  EXPECT_TRUE(f.mentions("may have been carried out")) << f;
}

TEST_F(fence_fault, does_not_double_a_write_that_is_refused_for_a_while_behind_a_lost_reply) {
  EXPECT_EQ(orders_.append("log", "x", 7), written);
  std::atomic<int> copies = 0;
  auto const decision = proxy_.decide_by([&](request const& r) {
    if (!writes(r)) return fate::pass();
    auto const copy = ++copies;
    if (copy == 1) return fate::cut_after();
    return copy <= 4 ? fate::error("BUSY Redis is busy running a script.") : fate::pass();
  });
  EXPECT_EQ(orders_.append("log", "y", 7), written);
  EXPECT_EQ(copies, 5);
  EXPECT_EQ(raw_.get("log"), "xy");
}

TEST_F(fence_fault, does_not_double_an_asynchronous_write_either) {
  std::atomic<int> copies = 0;
  auto const decision = proxy_.decide_by([&](request const& r) {
    if (!writes(r)) return fate::pass();
    auto const copy = ++copies;
    if (copy == 1) return fate::cut_after();
    return copy <= 4 ? fate::error("BUSY Redis is busy running a script.") : fate::pass();
  });
  std::promise<std::optional<fence_result>> outcome;
  orders_.async_append("log", "x", 7, [&](auto result, auto const&) { outcome.set_value(result); });
  EXPECT_EQ(outcome.get_future().get(), written);
  EXPECT_EQ(copies, 5);
  EXPECT_EQ(raw_.get("log"), "x");
}

TEST_F(fence_fault, tells_an_asynchronous_writer_that_its_client_has_ended_meanwhile) {
  proxy_.decide([](request const& r) {
    return writes(r) ? fate::error("BUSY Redis is busy running a script.") : fate::pass();
  });
  std::promise<std::exception_ptr> outcome;
  {
    client passing{proxy_.url(), with_long_timeouts()};
    fence{passing, "orders"}.async_append(
        "log", "x", 7, [&](auto, std::exception_ptr reason) { outcome.set_value(std::move(reason)); });
  }
  EXPECT_EQ(code_of([&] { std::rethrow_exception(outcome.get_future().get()); }), errc::closed);
}

TEST_F(fence_fault, fails_when_the_server_cannot_be_reached) {
  client redis{"redis+unix:///nowhere/redis.sock", {.connect_timeout = 100ms}};
  EXPECT_EQ(failure_of([&] { (void)fence{redis, "orders"}.set("total", "x", 7); }).code, errc::unreachable);
}

TEST_F(fence_fault, names_the_missing_right) {
  raw_.command({"ACL", "SETUSER", "default", "-append"});
  auto const f = failure_of([&] { (void)orders_.append("log", "x", 7); });
  raw_.command({"ACL", "SETUSER", "default", "+append"});
  EXPECT_EQ(f.code, errc::unauthorized) << f;
  EXPECT_TRUE(f.mentions("+APPEND")) << f;
  EXPECT_EQ(orders_.newest(), 0);
}

}  // namespace
}  // namespace holdfast::test
