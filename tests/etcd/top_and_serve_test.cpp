// `holdfast top` and `holdfast serve` on etcd.

#include "cli/http_visitor.hpp"
#include "members.hpp"
#include "support/eventually.hpp"
#include "support/line_process.hpp"

#include <gmock/gmock.h>

#include <holdfast/client.hpp>
#include <holdfast/expiring_semaphore.hpp>
#include <holdfast/latch.hpp>
#include <holdfast/mutex.hpp>

#include <chrono>
#include <deque>
#include <optional>
#include <regex>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace holdfast::test {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;

class etcd_shown : public testing::Test {
 protected:
  explicit etcd_shown(std::string const& prefix) : url_{shared_etcd().url(prefix)}, prefix_{prefix} {}

  static client_options options() { return {.label = "first job", .patience = wait_limit, .recheck = 30s}; }
  /// Waits for that lock until it is told to stop.
  [[nodiscard]] std::jthread waiter(std::string const& name) {
    auto const before = shared_etcd().keys(prefix_ + "/" + name + "/").size();
    std::jthread waits{[this, name](std::stop_token const& stopped) {
      client other{url_, options()};
      mutex lock{other, name};
      try {
        (void)lock.acquire(stopped);
      } catch (error const&) {
      }
    }};
    EXPECT_TRUE(
        eventually([&] { return shared_etcd().keys(prefix_ + "/" + name + "/").size() == before + 1; }));
    return waits;
  }

  std::string const url_;
  std::string const prefix_;
  client etcd_{url_, options()};
};

class etcd_top : public etcd_shown {
 protected:
  etcd_top() : etcd_shown{"top"} {}

  [[nodiscard]] words command(words rest) const {
    words all{HOLDFAST_CLI, "top", "--url", url_};
    all.insert(all.end(), rest.begin(), rest.end());
    return all;
  }
  /// How many transactions the member has carried out.
  [[nodiscard]] static std::int64_t transactions() {
    auto const endpoint = shared_etcd().endpoint();
    auto const port = static_cast<std::uint16_t>(std::stoi(endpoint.substr(endpoint.find(':') + 1)));
    auto const text = http_exchange(port, http_request_text(port, "GET", "/metrics")).body;
    std::smatch found;
    std::regex const line{
        R"re(grpc_server_handled_total\{grpc_code="OK",grpc_method="Txn"[^}]*\} ([0-9.e+]+))re"};
    return std::regex_search(text, found, line) ? static_cast<std::int64_t>(std::stod(found[1])) : 0;
  }
};

TEST_F(etcd_top, prints_holders_and_those_that_wait_the_most_contended_first) {
  mutex quiet{etcd_, "a-quiet"};
  mutex busy{etcd_, "busy"};
  auto const one = quiet.acquire();
  auto const two = busy.acquire();
  auto const waits = waiter("busy");
  process table{command({"--once", "--interval", "100ms"})};
  EXPECT_EQ(table.wait(), 0) << table.err();
  EXPECT_THAT(table.out(), ContainsRegex("busy +exclusive +[^ ]+:[0-9]+ +first job +- +[0-9]+s +1 +0 +etcd\n"
                                         "a-quiet +exclusive .* 0 +0 +etcd\n"));
  process object{command({"--once", "--interval", "100ms", "--json", "bu*"})};
  EXPECT_EQ(object.wait(), 0) << object.err();
  auto const seen = nlohmann::json::parse(object.out());
  ASSERT_EQ(seen["locks"].size(), 1U) << seen;
  EXPECT_EQ(seen["locks"][0]["name"], "busy");
  EXPECT_EQ(seen["locks"][0]["waiting"], 1);
  EXPECT_EQ(seen["locks"][0]["token"], two.token());
  EXPECT_TRUE(seen["locks"][0]["held_ms"].is_null());
}

TEST_F(etcd_top, estimates_how_often_a_lock_is_acquired) {
  words all{"/usr/bin/env"};
  for (auto const& each : command({"--json", "--interval", "100ms"})) all.push_back(each);
  mutex lock{etcd_, "rate"};
  auto held = lock.acquire();
  line_process top{all};
  EXPECT_TRUE(eventually([&] {
    auto const seen = nlohmann::json::parse(top.read_line());
    held.release();
    held = lock.acquire();
    return !seen["locks"].empty() && seen["locks"][0]["acquired_per_s"] > 0.0;
  }));
}

TEST_F(etcd_top, looks_at_many_locks_with_few_requests) {
  std::deque<mutex> locks;
  std::vector<lease> held;
  for (int i = 0; i != 40; ++i) {
    auto& lock = locks.emplace_back(etcd_, "many:" + std::to_string(i), lock_options{.ttl = 300s});
    held.push_back(lock.acquire());
  }
  auto const before = transactions();
  ASSERT_GT(before, 0);
  process table{command({"--once", "--interval", "200ms"})};
  EXPECT_EQ(table.wait(), 0) << table.err();
  // Two searches of a page of keys and three groups of locks, and nine looks at two groups.
  EXPECT_LE(transactions() - before, 2 * (1 + 3) + 9 * 2 + 4);
}

TEST_F(etcd_top, refuses_the_wire_of_redis) {
  process other{command({"--once", "--wire", "redisson"})};
  EXPECT_EQ(other.wait(), 64) << other.err();
  EXPECT_THAT(other.err(), HasSubstr("etcd"));
}

class etcd_serve : public etcd_shown {
 protected:
  etcd_serve() : etcd_shown{"served"} {}

  void open(words const& more = {}, std::string const& url = {}) {
    words arguments{HOLDFAST_CLI, "serve", "--listen", "127.0.0.1:0", "--url", url.empty() ? url_ : url};
    arguments.insert(arguments.end(), more.begin(), more.end());
    page_.emplace(arguments);
    std::smatch found;
    std::string said;
    ASSERT_TRUE(eventually([&] {
      said = page_->err();
      return std::regex_search(said, found, std::regex{"listening on http://[0-9.]+:([0-9]+)/"});
    })) << said;
    port_ = static_cast<std::uint16_t>(std::stoi(found[1]));
  }
  [[nodiscard]] http_answer get(std::string const& target) const {
    return http_exchange(port_, http_request_text(port_, "GET", target));
  }
  [[nodiscard]] nlohmann::json json(std::string const& target) const {
    return get("/api/v1/" + target).json();
  }
  /// Waits until the list, which is sorted by names, is as `wanted` says.
  template <class Wanted>
  nlohmann::json list(Wanted wanted) const {
    nlohmann::json answer;
    EXPECT_TRUE(eventually([&] {
      answer = json("locks?sort=name");
      return answer.contains("locks") && wanted(answer["locks"]);
    })) << answer.dump();
    return answer["locks"];
  }
  nlohmann::json list_of(std::size_t count) const {
    return list([&](auto const& all) { return all.size() == count; });
  }

  std::optional<process> page_{};
  std::uint16_t port_ = 0;
};

TEST_F(etcd_serve, shows_who_holds_a_lock_and_who_waits) {
  open();
  EXPECT_TRUE(eventually([&] { return get("/readyz").status == 200; }));
  mutex lock{etcd_, "deploy"};
  auto held = lock.acquire();
  auto waits = waiter("deploy");
  auto const listed = list([](auto const& all) { return all.size() == 1 && all[0]["waiting"] == 1; })[0];
  EXPECT_EQ(listed["wire"], "etcd");
  EXPECT_EQ(listed["kind"], "exclusive");
  EXPECT_EQ(listed["holder"]["label"], "first job");
  EXPECT_EQ(listed["token"], held.token());
  EXPECT_GT(listed["ttl_ms"], 0);
  auto const one = json("locks/" + listed["id"].get<std::string>());
  ASSERT_EQ(one["queue"].size(), 1U) << one;
  EXPECT_GT(one["queue"][0]["token"], held.token());
  auto const blocking = json("blocking");
  ASSERT_EQ(blocking["edges"].size(), 1U) << blocking;
  EXPECT_EQ(blocking["edges"][0]["holder"]["owner"], held.owner());
  EXPECT_EQ(get("/api/v1/deadlocks").status, 200);
  EXPECT_EQ(json("deadlocks")["deadlocks"], nlohmann::json::array());
  EXPECT_EQ(json("processes")["count"], 1);
  auto const text = get("/metrics").body;
  EXPECT_THAT(text, AllOf(ContainsRegex("holdfast_serve_up[{][^}]*[}] 1\n"),
                          ContainsRegex("holdfast_serve_locks_held[{][^}]*[}] 1\n"),
                          ContainsRegex("holdfast_serve_waiters[{][^}]*[}] 1\n")));
  waits.request_stop();
  list([](auto const& all) { return all.size() == 1 && all[0]["waiting"] == 0; });
  held.release();
  list_of(0);
  auto const changes = json("inspect?name=deploy")["changes"];
  ASSERT_FALSE(changes.empty());
  EXPECT_EQ(changes[0]["event"], "released");
  EXPECT_THAT(get("/metrics").body, ContainsRegex("holdfast_serve_locks_held[{][^}]*[}] 0\n"));
}

TEST_F(etcd_serve, tells_when_a_lock_was_handed_over) {
  open();
  mutex lock{etcd_, "handed"};
  auto held = lock.acquire();
  client other{url_, options()};
  mutex there{other, "handed"};
  list_of(1);
  std::optional<lease> next;
  {
    std::jthread const waits{[&] { next = there.try_acquire_for(wait_limit); }};
    list([](auto const& all) { return all.size() == 1 && all[0]["waiting"] == 1; });
    held.release();
  }
  ASSERT_TRUE(next);
  list([&](auto const& all) { return all.size() == 1 && all[0]["token"] == next->token(); });
  EXPECT_EQ(json("inspect?name=handed")["changes"][0]["event"], "handed_over");
}

TEST_F(etcd_serve, sees_that_a_lease_is_kept_alive) {
  open();
  mutex lock{etcd_, "kept", {.ttl = 9s}};
  auto const held = lock.acquire();
  std::int64_t before = list_of(1)[0]["ttl_ms"];
  EXPECT_TRUE(eventually([&] {
    auto const all = json("locks");
    std::int64_t const left = all["locks"].empty() ? 0 : all["locks"][0].value("ttl_ms", std::int64_t{0});
    return left > std::exchange(before, left) + 1'000;
  }));
}

TEST_F(etcd_serve, shows_all_kinds) {
  expiring_semaphore slots{etcd_, "slots", 3};
  latch opens{etcd_, "latch"};
  auto const two = slots.acquire(2);
  ASSERT_TRUE(opens.try_set_count(2));
  open();
  auto listed = list_of(2);
  EXPECT_EQ(listed[0]["kind"], "latch");
  EXPECT_EQ(listed[0]["available"], 2);
  EXPECT_EQ(listed[1]["kind"], "permits");
  EXPECT_EQ(listed[1]["available"], 1);
  opens.count_down();
  slots.set_permits(5);
  list([](auto const& all) { return all[0]["available"] == 1 && all[1]["available"] == 3; });
  EXPECT_TRUE(opens.open());
  list_of(1);
  shared_etcd().ctl({"del", "served/slots/size"});
}

TEST_F(etcd_serve, releases_by_force) {
  open({"--allow-release"});
  mutex lock{etcd_, "forced"};
  auto held = lock.acquire();
  std::jthread const holder{[&] {
    EXPECT_TRUE(eventually([&] { return !held.valid(); }));
    (void)held.release();
  }};
  auto const id = list_of(1)[0]["id"].get<std::string>();
  auto const csrf = json("session")["csrf"].get<std::string>();
  auto const answer = http_exchange(
      port_, http_request_text(port_, "POST", "/api/v1/locks/" + id + "/release",
                               "Content-Type: application/json\r\nX-Holdfast-Csrf: " + csrf + "\r\n",
                               R"({"owner":")" + held.owner() + "\"}"));
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(answer.json()["result"], "released_by_holder") << answer.body;
  list_of(0);
}

TEST_F(etcd_serve, says_that_etcd_does_not_answer_and_goes_on_when_it_does) {
  etcd_cluster alone;
  open({}, alone.url());
  EXPECT_TRUE(eventually([&] { return get("/readyz").status == 200; }));
  alone.kill9(0);
  EXPECT_TRUE(eventually([&] { return get("/readyz").status == 503; }));
  EXPECT_THAT(json("deployments")["deployments"][0]["trouble"].dump(), HasSubstr("etcd can't be asked"));
  alone.start_again(0);
  EXPECT_TRUE(eventually([&] { return get("/readyz").status == 200; }));
}

}  // namespace
}  // namespace holdfast::test
