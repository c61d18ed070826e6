// Checked writes on three members of etcd.

#include "clients_of_etcd.hpp"
#include "support/failure_of.hpp"

#include <gmock/gmock.h>

#include <holdfast/client.hpp>
#include <holdfast/fence.hpp>
#include <holdfast/inspect.hpp>
#include <holdfast/mutex.hpp>

#include <array>
#include <charconv>
#include <functional>
#include <future>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace holdfast::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

constexpr auto written = fence_result::written;
constexpr auto refused_stale = fence_result::refused_stale;
constexpr auto refused_lost = fence_result::refused_lost;

class etcd_fence : public clients_of_etcd {
 protected:
  etcd_fence() : clients_of_etcd{"fences"} {}

  [[nodiscard]] std::string value(std::string const& key) const {
    auto text = three_etcds().ctl({"get", prefix_ + "/" + key, "--print-value-only"});
    if (!text.empty()) text.pop_back();  // the end of the line
    return text;
  }
  void put(std::string const& key, std::string const& text) const {
    three_etcds().ctl({"put", prefix_ + "/" + key, text});
  }
  /// How long the lease of a key lasts from its grant on, and what is left of that; 0: it is under none.
  [[nodiscard]] std::pair<std::chrono::seconds, std::chrono::seconds> lease_of(std::string const& key) const {
    auto const number_behind = [](std::string const& text, std::string const& label) {
      auto const from = text.find(label);
      std::int64_t number = 0;
      if (from != std::string::npos)
        std::from_chars(text.data() + from + label.size(), text.data() + text.size(), number);
      return number;
    };
    auto const entry = three_etcds().ctl({"get", prefix_ + "/" + key, "--write-out=fields"});
    auto const lease = number_behind(entry, "\"Lease\" : ");
    if (lease == 0) return {};
    std::array<char, 16> digits{};
    auto const [end, failure] =
        std::to_chars(digits.data(), digits.data() + digits.size(), static_cast<std::uint64_t>(lease), 16);
    auto const times =
        three_etcds().ctl({"lease", "timetolive", std::string{digits.data(), end}, "--write-out=fields"});
    return {std::chrono::seconds{number_behind(times, "\"GrantedTTL\" : ")},
            std::chrono::seconds{number_behind(times, "\"TTL\" : ")}};
  }
};

TEST_F(etcd_fence, refuses_the_late_write_of_a_holder_that_was_frozen) {
  mutex lock{first_, "orders"};
  fence here{first_, "orders"};
  fence there{second_, "orders"};
  auto const stale_token = lock.acquire().token();
  auto const held = lock.acquire();
  EXPECT_EQ(there.set("orders.total", "new", held), written);
  EXPECT_EQ(here.set("orders.total", "late", stale_token), refused_stale);
  EXPECT_EQ(here.append("orders.total", "late", stale_token), refused_stale);
  EXPECT_EQ(here.increment("orders.count", 1, stale_token), refused_stale);
  EXPECT_EQ(here.erase("orders.total", stale_token), refused_stale);
  EXPECT_EQ(here.claim(stale_token), refused_stale);
  EXPECT_EQ(value("orders.total"), "new");
  EXPECT_THAT(value("orders.count"), IsEmpty());
  EXPECT_EQ(here.newest(), held.token());
  EXPECT_TRUE(held.valid());
}

TEST_F(etcd_fence, refuses_the_first_late_write_too_once_the_new_holder_has_claimed) {
  fence here{first_, "claimed"};
  fence there{second_, "claimed"};
  EXPECT_EQ(here.newest(), 0);
  EXPECT_EQ(here.claim(7), written);
  EXPECT_EQ(here.claim(7), written);
  EXPECT_EQ(there.claim(9), written);
  EXPECT_EQ(here.set("claimed.total", "late", 7), refused_stale);  // it knows the mark of its own claim
  EXPECT_THAT(value("claimed.total"), IsEmpty());
  EXPECT_THAT(value("claimed:holdfast_fence"), StartsWith("holdfast fence 9\n"));
}

TEST_F(etcd_fence, compares_tokens_as_numbers_of_64_bits) {
  fence here{first_, "numbers"};
  EXPECT_EQ(here.claim(9), written);
  EXPECT_EQ(here.claim(10), written);
  EXPECT_EQ(here.claim(9'223'372'036'854'775'807), written);
  EXPECT_EQ(here.claim(9'223'372'036'854'775'806), refused_stale);
  EXPECT_EQ(here.newest(), 9'223'372'036'854'775'807);
}

TEST_F(etcd_fence, writes_what_it_is_asked_to) {
  fence here{first_, "all"};
  EXPECT_EQ(here.set("text", "a", 7), written);
  EXPECT_EQ(lease_of("text").first, 0s);
  EXPECT_EQ(here.append("text", "b", 7), written);
  EXPECT_EQ(value("text"), "ab");
  EXPECT_EQ(here.set("brief", "a", 7, 1h), written);
  EXPECT_EQ(lease_of("brief").first, 1h);
  EXPECT_EQ(here.append("brief", "b", 7), written);
  EXPECT_EQ(lease_of("brief").first, 1h) << "to append takes no time from a key, nor gives it any";
  EXPECT_EQ(here.increment("count", -3, 7), written);
  EXPECT_EQ(here.increment("count", 5, 7), written);
  EXPECT_EQ(value("count"), "2");
  EXPECT_EQ(here.erase("text", 7), written);
  EXPECT_EQ(here.erase("text", 7), written);
  EXPECT_THAT(value("text"), IsEmpty());
}

TEST_F(etcd_fence, asks_nobody_for_a_lease_that_is_lost) {
  fence here{first_, "lost"};
  mutex lock{first_, "lost"};
  auto held = lock.acquire();
  held.release();
  auto const commands = first_.stats().commands;
  EXPECT_EQ(here.set("total", "late", held), refused_lost);
  EXPECT_EQ(here.claim(held), refused_lost);
  EXPECT_EQ(first_.stats().commands, commands);
}

TEST_F(etcd_fence, costs_one_request_a_write_while_nobody_else_writes) {
  fence here{first_, "cost"};
  EXPECT_EQ(here.set("cost.total", "0", 7), written);
  auto const before = first_.stats().commands;
  for (int i = 0; i != 10; ++i) EXPECT_EQ(here.set("cost.total", std::to_string(i), 7), written);
  EXPECT_EQ(first_.stats().commands, before + 10);
  EXPECT_THAT(three_etcds().keys("fences/cost"), SizeIs(2)) << "the key, and the mark";
}

TEST_F(etcd_fence, remembers_for_at_least_as_long_as_it_was_told) {
  EXPECT_EQ(fence(first_, "usual").claim(7), written);
  EXPECT_GT(lease_of("usual:holdfast_fence").second, 7 * 24h);
  EXPECT_LE(lease_of("usual:holdfast_fence").second, 8 * 24h);
  EXPECT_EQ(fence(first_, "brief", {.remember = 50ms}).claim(7), written);
  EXPECT_LE(lease_of("brief:holdfast_fence").second, 1h + 1s);
  EXPECT_EQ(fence(first_, "eternal", {.remember = 0ms}).claim(7), written);
  EXPECT_EQ(lease_of("eternal:holdfast_fence").first, 0s);
  // Whoever wants it to last longer makes it so, and whoever wants less leaves it.
  EXPECT_EQ(fence(second_, "brief").claim(7), written);
  EXPECT_GT(lease_of("brief:holdfast_fence").second, 7 * 24h);
  EXPECT_EQ(fence(second_, "brief", {.remember = 50ms}).claim(7), written);
  EXPECT_GT(lease_of("brief:holdfast_fence").second, 7 * 24h);
  EXPECT_EQ(fence(second_, "eternal").claim(7), written);
  EXPECT_EQ(lease_of("eternal:holdfast_fence").first, 0s);
}

TEST_F(etcd_fence, may_be_used_by_many_threads_and_several_processes) {
  fence here{first_, "many"};
  fence there{second_, "many"};
  std::vector<std::jthread> all;
  for (int i = 0; i != 6; ++i) {
    all.emplace_back([&, i] {
      for (int n = 0; n != 20; ++n) EXPECT_EQ((i % 2 == 0 ? here : there).increment("sum", 1, 7), written);
    });
  }
  all.clear();
  EXPECT_EQ(value("sum"), "120");
}

TEST_F(etcd_fence, makes_asynchronous_writes_in_their_order) {
  fence here{first_, "async"};
  std::string wanted;
  std::vector<std::promise<std::optional<fence_result>>> results(20);
  for (auto& each : results) {
    auto const word = std::to_string(wanted.size()) + ' ';
    wanted += word;
    here.async_append("words", word, 7,
                      [&each](auto result, std::exception_ptr const&) { each.set_value(result); });
  }
  std::promise<std::optional<std::int64_t>> newest;
  here.async_newest([&](auto token, std::exception_ptr const&) { newest.set_value(token); });
  for (auto& each : results) EXPECT_EQ(each.get_future().get(), written);
  EXPECT_EQ(newest.get_future().get(), 7);
  EXPECT_EQ(value("words"), wanted);
  std::promise<std::optional<fence_result>> late;
  here.async_claim(6, [&](auto result, std::exception_ptr const&) { late.set_value(result); });
  EXPECT_EQ(late.get_future().get(), refused_stale);
}

TEST_F(etcd_fence, is_in_no_locks_way_and_shown_as_none) {
  fence here{first_, "beside"};
  mutex lock{second_, "beside"};
  EXPECT_EQ(here.set("beside.total", "1", 7), written);
  EXPECT_TRUE(lock.try_acquire());
  std::vector<std::string> names;
  for_each_lock(second_, "besi*", [&](lock_state const& each) {
    names.push_back(each.name);
    return true;
  });
  EXPECT_THAT(names, IsEmpty());
  EXPECT_EQ(inspect(second_, "beside").kind, lock_kind::free);
}

TEST_F(etcd_fence, leaves_a_mark_alone_that_is_somebody_elses) {
  fence here{first_, "theirs"};
  put("theirs:holdfast_fence", "12 apples");
  for (auto const& act :
       std::vector<std::function<void()>>{[&] { (void)here.set("theirs.total", "x", 7); },
                                          [&] { (void)here.claim(7); }, [&] { (void)here.newest(); }}) {
    auto const [code, what] = failure_of(act);
    EXPECT_EQ(code, errc::wrong_type);
    EXPECT_THAT(what, HasSubstr("theirs:holdfast_fence"));
  }
  EXPECT_THAT(value("theirs.total"), IsEmpty());
  EXPECT_EQ(value("theirs:holdfast_fence"), "12 apples");
}

TEST_F(etcd_fence, adds_to_numbers_only_and_changes_nothing_else) {
  fence here{first_, "adds"};
  put("adds.text", "12 apples");
  put("adds.most", "9223372036854775807");
  for (std::string const key : {"adds.text", "adds.most"}) {
    auto const before = value(key);
    auto const [code, what] = failure_of([&] { (void)here.increment(key, 1, 7); });
    EXPECT_EQ(code, errc::refused);
    EXPECT_THAT(what, AllOf(HasSubstr(key), HasSubstr("was not made")));
    EXPECT_EQ(value(key), before);
  }
  EXPECT_EQ(here.newest(), 0) << "the token of a write that isn't made isn't remembered";
}

TEST_F(etcd_fence, says_that_a_ttl_is_too_short) {
  fence here{first_, "short"};
  auto const [code, what] = failure_of([&] { (void)here.set("short.key", "x", 7, 10ms); });
  EXPECT_EQ(code, errc::refused);
  EXPECT_THAT(what, AllOf(HasSubstr("shortest lease is 2 s"), HasSubstr("short.key")));
  EXPECT_THAT(value("short.key"), IsEmpty());
}

TEST_F(etcd_fence, refuses_misuse_before_anything_is_sent) {
  fence here{first_, "orders"};
  auto const refused = [&](std::errc code, std::string const& text, auto act) {
    auto const [found, what] = failure_of(act);
    EXPECT_EQ(found, code) << text;
    EXPECT_THAT(what, HasSubstr(text));
  };
  auto const commands = first_.stats().commands;
  refused(std::errc::invalid_argument, "it is empty", [&] { fence const none(first_, ""); });
  refused(std::errc::invalid_argument, "has a slash", [&] { fence const slash(first_, "a/b"); });
  refused(std::errc::invalid_argument, "greater than 0", [&] { (void)here.set("total", "x", 0); });
  refused(std::errc::invalid_argument, "one is empty", [&] { (void)here.set("", "x", 7); });
  refused(std::errc::invalid_argument, "the mark of the fence itself",
          [&] { (void)here.erase("orders:holdfast_fence", 7); });
  refused(std::errc::invalid_argument, "where the places of the lock \"orders\" are",
          [&] { (void)here.set("orders/total", "x", 7); });
  refused(std::errc::not_supported, "HSET of the key \"hash\"",
          [&] { (void)here.hash_set("hash", "field", "x", 7); });
  refused(std::errc::not_supported, "no commands of Redis",
          [&] { (void)here.write(7, "LPUSH", "list", "x"); });
  EXPECT_EQ(first_.stats().commands, commands);
}

TEST_F(etcd_fence, goes_on_when_the_member_that_it_asks_is_killed) {
  etcd_cluster three{{.members = 3}};
  client etcd{three.url("killed"), {.connect_timeout = wait_limit}};  // the election may last
  fence here{etcd, "orders"};
  std::string wanted;
  for (int i = 0; i != 12; ++i) {
    if (i == 4) three.kill9(three.leader());
    wanted += std::to_string(i) + ' ';
    EXPECT_EQ(here.append("words", std::to_string(i) + ' ', 7), written);
  }
  auto const found = three.ctl({"get", "killed/words", "--print-value-only"});
  EXPECT_EQ(found, wanted + '\n');
}

}  // namespace
}  // namespace holdfast::test
