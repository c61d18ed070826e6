/// Locks of several servers taken together, while one of the servers is away.
#include "fault.hpp"

#include <holdfast/multi_mutex.hpp>

#include <atomic>
#include <thread>

namespace holdfast::test {
namespace {

/// Counts the outcomes of acquisitions, each of which releases at once.
struct outcomes {
  std::atomic<int> served = 0;
  std::atomic<int> failed = 0;

  void acquire_async(multi_mutex& m) {
    m.async_acquire([this](std::optional<multi_lease> acquired, std::exception_ptr const& failure) {
      ++(acquired && !failure ? served : failed);
    });
  }
  void acquire_blocking(multi_mutex& m) {
    auto const failure = failure_of([&] { m.acquire().release(); });
    ++(failure.code ? failed : served);
  }
  [[nodiscard]] bool none() const { return served + failed == 0; }
};

class several_servers_fault : public testing::Test {
 protected:
  /// The client requests the lock of the first server first, then that of the second.
  several_servers_fault() {
    if (second_->url() < first_->url()) std::swap(first_, second_);
  }

  static client_options impatient() { return {.connect_timeout = 1s, .reply_timeout = 1s}; }

  std::unique_ptr<redis_server> first_ = redis_server::make({});
  std::unique_ptr<redis_server> second_ = redis_server::make({});
};

TEST_F(several_servers_fault, is_waited_out_by_who_waits_and_nothing_is_held_meanwhile) {
  client first_client{first_->url(), impatient()};
  client second_client{second_->url(), impatient()};
  multi_mutex m{{{first_client, "x"}, {second_client, "y"}}};
  EXPECT_TRUE(eventually([&] { return !failure_of([&] { m.acquire().release(); }).code; }));
  second_->kill9();
  outcomes results;
  {
    results.acquire_async(m);
    std::jthread const thread{[&] { results.acquire_blocking(m); }};
    EXPECT_TRUE(always(5s, [&] { return results.none(); })) << "for longer than connect_timeout, twice";
    mutex single_mutex{first_client, "x"};
    EXPECT_TRUE(single_mutex.try_acquire_for(20s).has_value());
    second_->start();
    EXPECT_TRUE(eventually([&] { return results.served == 2; }));
  }
  EXPECT_EQ(results.failed, 0);
}

TEST_F(several_servers_fault, keeps_nobody_beyond_its_time_who_wants_one_of_the_names_alone) {
  outcomes results;
  std::atomic<int> requests = 0;
  std::atomic<int> done = 0;
  flaky_proxy first_proxy{first_->socket_path()};
  flaky_proxy second_proxy{second_->socket_path()};
  auto& earlier = first_proxy.url() < second_proxy.url() ? first_proxy : second_proxy;
  auto& later = &earlier == &first_proxy ? second_proxy : first_proxy;
  client first_client{earlier.url(), impatient()};
  client second_client{later.url(), impatient()};
  for (auto const& server : {first_.get(), second_.get()}) server->raw().command({"SET", "y", "of others"});
  EXPECT_TRUE((mutex{second_client, "z"}.try_acquire_for(20s))) << "and the server knows the script";
  // The second name is busy. So the client requests that name first and waits, and gets no further answer.
  later.decide(
      [&](request const& r) { return r.has("y") && ++requests > 1 ? fate::swallow() : fate::pass(); });
  multi_mutex m{{{first_client, "x"}, {second_client, "y"}}};
  results.acquire_async(m);
  ASSERT_TRUE(eventually([&] { return requests > 1; }));
  mutex single_mutex{second_client, "y"};
  auto const attempts = 20;
  for (auto i = 0; i < attempts; ++i) {
    single_mutex.async_try_acquire_for(500ms,
                                       [&](std::optional<lease>, std::exception_ptr const&) { ++done; });
    std::this_thread::sleep_for(100ms);  // at each moment between two connections
  }
  EXPECT_TRUE(eventually([&] { return done == attempts; })) << done;
  EXPECT_TRUE(results.none());
}

TEST_F(several_servers_fault, is_told_to_who_only_tries_or_whose_time_is_up) {
  client first_client{first_->url(), impatient()};
  client second_client{second_->url(), impatient()};
  multi_mutex m{{{first_client, "x"}, {second_client, "y"}}};
  EXPECT_TRUE(eventually([&] { return !failure_of([&] { m.acquire().release(); }).code; }));
  second_->kill9();
  EXPECT_EQ(failure_of([&] { (void)m.try_acquire(); }).code, errc::unreachable);
  EXPECT_EQ(failure_of([&] { (void)m.try_acquire_for(3s); }).code, errc::unreachable);
}

TEST_F(several_servers_fault, keeps_nothing_of_what_it_did_not_get_altogether) {
  client first_client{first_->url(), with_long_timeouts()};
  client second_client{second_->url(), impatient()};
  multi_mutex m{{{first_client, "x"}, {second_client, "y"}}, {.ttl = 60s, .keep = true}};
  auto first = first_->raw();
  auto const is_free = [&] { return !first.exists("x"); };
  second_->raw().command({"SET", "y", "of others"});
  EXPECT_FALSE(m.try_acquire());
  EXPECT_TRUE(eventually(is_free)) << "the other one was busy";
  second_->raw().del("y");
  m.acquire().release();
  EXPECT_GT(first.pttl("x"), 0) << "what it got altogether is kept";
  first.del("x");
  second_->kill9();
  EXPECT_EQ(failure_of([&] { (void)m.try_acquire(); }).code, errc::unreachable);
  EXPECT_TRUE(eventually(is_free)) << "the other one could not be asked";
}

TEST_F(several_servers_fault, is_told_when_nobody_has_ever_reached_that_server) {
  closed_port const unused;
  client first_client{first_->url()};
  client unreachable_client{"redis://127.0.0.1:" + std::to_string(unused.number()), impatient()};
  multi_mutex m{{{first_client, "x"}, {unreachable_client, "y"}}};
  EXPECT_EQ(failure_of([&] { (void)m.acquire(); }).code, errc::unreachable);
}

TEST_F(several_servers_fault, are_waited_for_together_at_a_release) {
  constexpr std::size_t how_many = 6;
  std::vector<std::unique_ptr<redis_server>> servers;
  std::vector<std::unique_ptr<client>> clients;
  std::vector<multi_mutex::member> members;
  while (servers.size() != how_many) {
    servers.push_back(redis_server::make({}));
    clients.push_back(std::make_unique<client>(servers.back()->url(), impatient()));
    members.push_back({*clients.back(), "x"});
  }
  multi_mutex m{members};
  auto to_release = m.acquire();
  for (auto& server : servers) server->freeze();
  auto const begun = std::chrono::steady_clock::now();
  EXPECT_EQ(to_release.release(), release_result::unknown);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 7s) << "two seconds for all, not for each";
  for (auto& server : servers) server->thaw();
}

TEST_F(several_servers_fault, are_not_waited_for_one_after_the_other_by_who_does_not_get_them_all) {
  constexpr std::size_t how_many = 6;
  std::vector<std::unique_ptr<redis_server>> servers;
  std::vector<std::unique_ptr<flaky_proxy>> proxies;
  std::vector<std::unique_ptr<client>> clients;
  std::vector<multi_mutex::member> members;
  while (servers.size() != how_many) {
    servers.push_back(redis_server::make({}));
    proxies.push_back(std::make_unique<flaky_proxy>(servers.back()->socket_path()));
    clients.push_back(std::make_unique<client>(proxies.back()->url(), impatient()));
    clients.back()->connect();
    members.push_back({*clients.back(), "x"});
  }
  auto const last = std::ranges::max_element(proxies, {}, [](auto const& proxy) { return proxy->url(); });
  auto const decision = (*last)->decide_by([&](request const& r) {
    if (!r.has("x")) return fate::pass();
    for (auto& proxy : proxies) {
      if (proxy != *last) proxy->freeze();
    }
    return fate::error("WRONGTYPE no lock");
  });
  multi_mutex m{members};
  auto const begun = std::chrono::steady_clock::now();
  EXPECT_EQ(failure_of([&] { (void)m.acquire(); }).code, errc::wrong_type);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 2s) << "it gives back without waiting";
  for (auto& proxy : proxies) proxy->thaw();
  for (auto& server : servers) EXPECT_TRUE(eventually([&] { return !server->raw().exists("x"); }));
}

}  // namespace
}  // namespace holdfast::test
