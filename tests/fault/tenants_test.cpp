/// S8: users with rights to different prefixes of names share a server and can't affect each other. A tenant
/// may know only that the clients of another exist, and their uuids.
#include "fault.hpp"

#include <holdfast/expiring_semaphore.hpp>
#include <holdfast/fair_mutex.hpp>
#include <holdfast/inspect.hpp>
#include <holdfast/multi_mutex.hpp>
#include <holdfast/mutex.hpp>
#include <holdfast/shared_mutex.hpp>

#include <algorithm>
#include <sstream>

#include "script/acl.hpp"
#include "script/names.hpp"

namespace holdfast::test {
namespace {

using raw_kind = raw_reply::kind;

class tenants : public fault {
 protected:
  tenants() {
    admit("jobs", "jobs:");
    admit("web", "web:");
  }

  /// With the same rule that docs/protocol.md and the doctor give.
  void admit(std::string const& user, std::string const& prefix) {
    std::stringstream rule;
    rule << "resetchannels " << acl::keys(prefix) << ' ' << acl::keys_of_clients << ' '
         << acl::channels(prefix) << ' ' << acl::channels_of_clients << ' ' << acl::to_connect << ' '
         << acl::to_lock << ' ' << acl::to_be_told << ' ' << acl::redisson::keys(prefix) << ' '
         << acl::redisson::channels(prefix) << ' ' << acl::redisson::to_lock;
    std::vector<std::string> words{"ACL", "SETUSER", user, "reset", "on", ">s3cret"};
    for (std::string word; rule >> word;) words.push_back(word);
    EXPECT_EQ(raw_.command(words).text, "OK");
  }

  [[nodiscard]] std::string url_of(std::string const& user, std::string const& suffix = {}) const {
    return "redis+unix://" + user + ":s3cret@" + server_.socket_path() + suffix;
  }
  [[nodiscard]] raw_redis raw_as(std::string const& user) const {
    auto raw = server_.raw();
    EXPECT_EQ(raw.command({"AUTH", user, "s3cret"}).text, "OK");
    return raw;
  }

  /// The owner id of the only waiter for that name; empty when there is none, or more than one.
  [[nodiscard]] std::string waiter_of(std::string const& name) {
    auto const all = raw_.command({"ZRANGE", names::queue(name), "0", "-1"}).elements;
    return all.size() == 1 ? all.front().text : std::string{};
  }
  [[nodiscard]] bool has_subscriber(std::string const& channel) {
    return raw_.command({"PUBSUB", "NUMSUB", channel}).elements.at(1).integer == 1;
  }
  /// The client is in the queue and subscribed.
  [[nodiscard]] bool waits(client const& redis, std::string const& name) {
    return eventually(
        [&] { return !waiter_of(name).empty() && has_subscriber(names::inbox(redis.uuid(), name)); });
  }
  static std::string number_in(std::string const& owner) { return owner.substr(owner.find(':') + 1); }
};

#define EXPECT_REFUSED(raw, ...) EXPECT_EQ((raw).command(__VA_ARGS__).text.substr(0, 6), "NOPERM")

TEST_F(tenants, have_all_that_locks_need) {
  log_lines log;
  client first_client{url_of("jobs"), with_long_timeouts({.log = log.hook()})};
  client second_client{url_of("jobs"), with_long_timeouts({.recheck = 30s, .log = log.hook()})};
  for (std::string const name : {"jobs:1", "jobs:{x}1"}) {
    SCOPED_TRACE(name);
    fair_mutex first{first_client, name};
    fair_mutex second{second_client, name};
    auto lease = first.acquire();
    waiter next{second};
    ASSERT_TRUE(waits(second_client, name));
    EXPECT_EQ(lease.release(), release_result::released);
    ASSERT_TRUE(eventually([&] { return next.done(); })) << "by message: it looks again in 30 s";
    auto next_lease = next.take();
    EXPECT_GT(next_lease.token(), lease.token());
    EXPECT_EQ(next_lease.release(), release_result::released);
  }
  EXPECT_TRUE(eventually([&] {
    return raw_.command({"PUBSUB", "CHANNELS", "*:holdfast_inbox:*"}).elements.empty();
  })) << "who doesn't wait any more isn't told in vain";
  multi_mutex multi{first_client, {"jobs:1", "jobs:2"}};
  multi.acquire().release();
  EXPECT_TRUE(log.of(log_level::warning).empty()) << log.of(log_level::warning).front();
  EXPECT_TRUE(nothing_left_behind());
}

TEST_F(tenants, have_all_that_readers_need) {
  log_lines log;
  client first_client{url_of("jobs"), with_long_timeouts({.log = log.hook()})};
  client second_client{url_of("jobs"), with_long_timeouts({.recheck = 30s, .log = log.hook()})};
  shared_mutex first{first_client, "jobs:1"};
  shared_mutex second{second_client, "jobs:1"};
  auto reading = first.acquire_shared();
  auto const state = inspect(second_client, "jobs:1");
  ASSERT_EQ(state.holders.size(), 1u);
  EXPECT_EQ(state.holders[0].side, hold_side::read);
  pending writing;
  second.async_acquire(writing.handler());
  ASSERT_TRUE(waits(second_client, "jobs:1"));
  pending late;
  first.async_acquire_shared(late.handler());
  ASSERT_TRUE(eventually([&] { return raw_.command({"ZCARD", names::queue("jobs:1")}).integer == 2; }));
  EXPECT_EQ(reading.release(), release_result::released);
  ASSERT_TRUE(eventually([&] { return writing.done(); })) << "by message: it looks again in 30 s";
  auto downgraded = second.downgrade(std::move(*writing.take()));
  ASSERT_TRUE(eventually([&] { return late.done(); }));
  EXPECT_EQ(force_release(first_client, "jobs:1", {.grace = 10ms}), force_result::deleted);
  EXPECT_TRUE(eventually([&] { return !downgraded.valid(); }));
  raw_.command({"ZADD", names::queue("jobs:1"), "1000", "11111111-1111-4111-8111-111111111111:1"});
  auto const beside = first.acquire_shared();
  raw_.command({"ZADD", names::queue("jobs:1"), "1000", "11111111-1111-4111-8111-111111111111:1"});
  EXPECT_TRUE(second.try_acquire_shared()) << "it sees that the writer that waits is gone";
  auto const all = log.of(log_level::warning);
  EXPECT_TRUE(std::ranges::none_of(all, [](auto const& line) { return line.find("NOPERM") != line.npos; }));
}

TEST_F(tenants, have_all_that_a_release_by_force_needs) {
  client redis{url_of("jobs"), with_long_timeouts()};
  client operator_of_jobs{url_of("jobs"), with_long_timeouts()};
  mutex lock{redis, "jobs:1", {.ttl = 60s}};
  auto lease = lock.acquire();
  std::atomic<bool> reported = false;
  lease.on_lost([&](loss_cause cause) {
    reported = cause == loss_cause::forced;
    lease.release();
  });
  EXPECT_EQ(force_release(operator_of_jobs, "jobs:1", {.grace = 20s}), force_result::released_by_holder);
  EXPECT_TRUE(reported);
  EXPECT_TRUE(nothing_left_behind());
}

TEST_F(tenants, have_all_that_locks_of_redisson_need) {
  log_lines log;
  client first_client{url_of("jobs", "?wire=redisson"), with_long_timeouts({.log = log.hook()})};
  client second_client{url_of("jobs", "?wire=redisson"),
                       with_long_timeouts({.recheck = 30s, .log = log.hook()})};
  fair_mutex first{first_client, "jobs:1"};
  fair_mutex second{second_client, "jobs:1"};
  auto lease = first.acquire();
  waiter next{second};
  ASSERT_TRUE(
      eventually([&] { return !raw_.command({"PUBSUB", "CHANNELS", "redisson_*"}).elements.empty(); }));
  EXPECT_EQ(lease.release(), release_result::released);
  ASSERT_TRUE(eventually([&] { return next.done(); }));
  next.take().release();
  shared_mutex read_write{first_client, "jobs:2"};
  read_write.acquire().release();
  EXPECT_TRUE(log.of(log_level::warning).empty()) << log.of(log_level::warning).front();
}

TEST_F(tenants, have_all_that_a_look_at_locks_of_redisson_needs) {
  client redis{url_of("jobs", "?wire=redisson"), with_long_timeouts()};
  std::vector<lease> held;
  held.push_back(mutex(redis, "jobs:plain").acquire());
  held.push_back(fair_mutex(redis, "jobs:fair").acquire());
  held.push_back(shared_mutex(redis, "jobs:read").acquire_shared());
  held.push_back(shared_mutex(redis, "jobs:written").acquire());
  held.push_back(expiring_semaphore(redis, "jobs:permits", 2).acquire());
  for (auto const* const name : {"jobs:plain", "jobs:fair", "jobs:read", "jobs:written", "jobs:permits"}) {
    SCOPED_TRACE(name);
    EXPECT_FALSE(inspect(redis, name).holders.empty());
  }
  held[1].on_lost([&](loss_cause) { held[1].release(); });
  EXPECT_EQ(force_release(redis, "jobs:fair", {.grace = 20s}), force_result::released_by_holder);
}

TEST_F(tenants, can_touch_no_key_of_another) {
  client redis{url_of("jobs"), with_long_timeouts()};
  client other{url_of("jobs"), with_long_timeouts()};
  for (std::string const name : {"jobs:1", "jobs:{x}1"}) {
    mutex first{redis, name};
    mutex second{other, name};
    auto const lease = first.acquire();
    waiter const next{second};
    ASSERT_TRUE(waits(other, name));
    auto web = raw_as("web");
    for (auto const& key :
         {name, names::token_counter(name), names::queue(name), names::fence_mark(name), names::readers(name),
          names::permits(name), names::permit_queue(name), names::asked(name, lease.owner())}) {
      SCOPED_TRACE(key);
      EXPECT_REFUSED(web, {"GET", key});
      EXPECT_REFUSED(web, {"TYPE", key});
      EXPECT_REFUSED(web, {"EXISTS", key});
      EXPECT_REFUSED(web, {"PTTL", key});
      EXPECT_REFUSED(web, {"SET", key, "1"});
      EXPECT_REFUSED(web, {"DEL", key});
      EXPECT_REFUSED(web, {"PEXPIRE", key, "1"});
      EXPECT_REFUSED(web, {"ZCARD", key});
      EXPECT_REFUSED(web, {"ZRANGE", key, "0", "-1"});
      EXPECT_REFUSED(web, {"ZADD", key, "1", "me"});
      EXPECT_REFUSED(web, {"ZREM", key, lease.owner()});
      EXPECT_REFUSED(web, {"EVAL", "return redis.call('GET', KEYS[1])", "1", key});
      EXPECT_TRUE(web.command({"EVAL", "return redis.call('DEL', '" + key + "')", "0"}).is_error());
    }
    EXPECT_TRUE(lease.valid());
  }
}

TEST_F(tenants, can_not_find_out_what_others_lock) {
  auto web = raw_as("web");
  for (std::vector<std::string> const& command : {std::vector<std::string>{"SCAN", "0"},
                                                  {"KEYS", "*"},
                                                  {"RANDOMKEY"},
                                                  {"DBSIZE"},
                                                  {"INFO"},
                                                  {"MONITOR"},
                                                  {"CLIENT", "LIST"},
                                                  {"PUBSUB", "CHANNELS"},
                                                  {"PSUBSCRIBE", "*"},
                                                  {"PSUBSCRIBE", "holdfast_inbox:*"},
                                                  {"SLOWLOG", "GET"}})
    EXPECT_REFUSED(web, command);
}

TEST_F(tenants, can_neither_hear_nor_send_what_is_said_about_a_lock_of_another) {
  client redis{url_of("jobs"), with_long_timeouts()};
  mutex waiting_mutex{redis, "jobs:1"};
  raw_.command({"SET", "jobs:1", "somebody", "PX", "60000"});
  waiter const next{waiting_mutex};
  ASSERT_TRUE(waits(redis, "jobs:1"));
  auto web = raw_as("web");
  auto const inbox = names::inbox(redis.uuid(), "jobs:1");
  auto const grant = "granted " + number_in(waiter_of("jobs:1")) + " 9000000000000000 65 jobs:1";
  EXPECT_REFUSED(web, {"PUBLISH", inbox, grant});
  EXPECT_REFUSED(web, {"SUBSCRIBE", inbox});
  EXPECT_REFUSED(web, {"PUBLISH", "redisson_lock__channel:{jobs:1}", "0"});
  EXPECT_REFUSED(web, {"SUBSCRIBE", "redisson_lock__channel:{jobs:1}"});
  // It may publish to the client's own inbox. Attacks once came that way, so no grant from it is believed.
  EXPECT_EQ(web.command({"EVAL", "return redis.call('PUBLISH', ARGV[1], ARGV[2])", "0", inbox, grant}).type,
            raw_kind::error);
  ASSERT_TRUE(eventually([&] { return has_subscriber(names::hints(redis.uuid())); }));
  EXPECT_EQ(web.command({"PUBLISH", names::hints(redis.uuid()), grant}).integer, 1);
  ASSERT_TRUE(eventually([&] { return redis.stats().messages >= 1; }));
  redis.connect();
  EXPECT_FALSE(next.done());
  EXPECT_EQ(redis.stats().granted, 0u);
}

// Both tenants share a client, so each knows its uuid, and its owner ids go up one by one.
TEST_F(tenants, can_forge_no_grant_of_another_to_a_client_that_they_share) {
  client shared{server_.url(), with_long_timeouts({.recheck = 30s})};
  mutex jobs_mutex{shared, "jobs:1"};
  mutex web_mutex{shared, "web:1"};
  for (std::string const name : {"jobs:1", "web:1"}) {
    raw_.command({"SET", names::token_counter(name), "1000"});
    raw_.command({"SET", name, "somebody", "PX", "60000"});
  }
  waiter const jobs_waiter{jobs_mutex};
  waiter const web_waiter{web_mutex};
  ASSERT_TRUE(waits(shared, "jobs:1") && waits(shared, "web:1"));
  auto web = raw_as("web");
  auto const inbox = names::inbox(shared.uuid(), "web:1");
  auto const forged = "granted " + number_in(waiter_of("jobs:1")) + " 9000000000000000 65 jobs:1";
  EXPECT_EQ(web.command({"PUBLISH", inbox, forged}).integer, 1);
  ASSERT_TRUE(eventually([&] { return shared.stats().messages >= 1; }));
  EXPECT_FALSE(jobs_waiter.done()) << "only its own inbox says that a lock is granted";
  EXPECT_EQ(shared.stats().granted, 0u);
}

TEST_F(tenants, can_end_no_lease_of_another_by_asking_for_it) {
  client shared{server_.url(), with_long_timeouts()};
  mutex jobs_mutex{shared, "jobs:1", {.ttl = 60s, .renew_every = 50ms}};
  auto const lease = jobs_mutex.acquire();
  auto const owner = lease.owner();
  ASSERT_TRUE(eventually([&] { return has_subscriber(names::hints(shared.uuid())); }));
  auto web = raw_as("web");
  EXPECT_REFUSED(web, {"SET", names::asked("jobs:1", owner), "1"});
  web.command({"SET", names::asked("web:1", owner), "1"});
  EXPECT_EQ(web.command({"PUBLISH", names::hints(shared.uuid()), "asked " + number_in(owner)}).integer, 1);
  ASSERT_TRUE(eventually([&] { return raw_.calls_of("exists") >= 1; })) << "it looks";
  auto const renewals = shared.stats().renewals;
  EXPECT_TRUE(eventually([&] { return shared.stats().renewals >= renewals + 3; }));
  EXPECT_TRUE(lease.valid());
  client web_client{url_of("web"), with_long_timeouts()};
  EXPECT_EQ(failure_of([&] { (void)force_release(web_client, "jobs:1"); }).code, errc::unauthorized);
}

TEST_F(tenants, can_not_keep_a_client_busy_with_forged_hints) {
  client shared{server_.url(), with_long_timeouts()};
  mutex jobs_mutex{shared, "jobs:1", {.ttl = 60s}};
  auto const lease = jobs_mutex.acquire();
  ASSERT_TRUE(eventually([&] { return has_subscriber(names::hints(shared.uuid())); }));
  auto web = raw_as("web");
  auto const begin = boot_now();
  std::vector<std::vector<std::string>> hints;
  for (auto i = 0; i != 5'000; ++i) {
    auto const number = i % 2 == 0 ? number_in(lease.owner()) : std::to_string(1'000'000 + i);
    hints.push_back({"PUBLISH", names::hints(shared.uuid()), "asked " + number});
  }
  web.pipeline(hints);
  ASSERT_TRUE(eventually([&] { return shared.stats().messages >= hints.size(); }));
  ASSERT_TRUE(eventually([&] { return raw_.calls_of("exists") >= 1; }));
  auto const checks = raw_.calls_of("exists");
  auto const elapsed_ms = (boot_now() - begin) / 1'000'000;
  EXPECT_LE(checks, static_cast<std::uint64_t>(elapsed_ms / 10 + 2)) << "one look in 10 ms at the most";
  EXPECT_TRUE(lease.valid());
}

}  // namespace
}  // namespace holdfast::test
