// What is wrong is named, with what to do.

#include "members.hpp"
#include "support/eventually.hpp"
#include "support/failure_of.hpp"
#include "support/redis_server.hpp"

#include <gmock/gmock.h>

#include <holdfast/client.hpp>
#include <holdfast/condition.hpp>
#include <holdfast/multi_mutex.hpp>
#include <holdfast/mutex.hpp>
#include <holdfast/semaphore.hpp>

namespace holdfast::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

client_options patient() { return {.patience = wait_limit}; }

void lock_at(std::string const& url, client_options const& options = {}) {
  client etcd{url, options};
  mutex lock{etcd, "bad"};
  (void)lock.acquire();
}

TEST(etcd_url, has_parts_that_are_checked) {
  auto const refused = [](std::string const& url, std::string const& text) {
    auto const [code, what] = failure_of([&] { client const etcd{url}; });
    EXPECT_EQ(code, errc::bad_url) << url;
    EXPECT_THAT(what, HasSubstr(text)) << url;
  };
  refused("etcd://h1,,h3", "a host is missing");
  refused("etcd://h1?ca=x", "needs etcds://");
  refused("etcds://h1?verify=no", "is always checked");
  refused("etcd://h1?wire=plain", "unknown parameter \"wire\"");
  refused("etcds://h1?ca=/does/not/exist", "/does/not/exist");
}

TEST(etcd_lock_options, that_cannot_be_are_refused_with_the_reason) {
  client etcd{shared_etcd().url(), patient()};
  auto const refused = [&](std::string const& name, lock_options const& options, std::string const& text) {
    auto const [code, what] = failure_of([&] { mutex const lock{etcd, name, options}; });
    EXPECT_EQ(code, std::errc::invalid_argument) << text;
    EXPECT_THAT(what, HasSubstr(text));
  };
  refused("", {}, "a lock needs a name");
  refused("a/b", {}, "has a slash");
  refused("a", {.keep = true}, "keep");
  refused("a", {.replicas = 1}, "replicas");
  refused("a", {.wire = wire::redisson}, "Redisson");
  refused("a", {.detect_deadlock = true}, "detect_deadlock");
}

TEST(etcd_client, refuses_the_kinds_that_are_not_there) {
  client etcd{shared_etcd().url(), patient()};
  auto const [code, what] = failure_of([&] { condition const changed{etcd, "meeting"}; });
  EXPECT_EQ(code, std::errc::invalid_argument);
  EXPECT_THAT(what, HasSubstr("this isn't there on etcd"));
  EXPECT_EQ(failure_of([&] { semaphore const permits{etcd, "permits"}; }).code, std::errc::invalid_argument);
}

TEST(etcd_client, refuses_several_names_that_it_cannot_take_together) {
  client etcd{shared_etcd().url(), patient()};
  auto const refused = [](auto const& make, std::string const& text) {
    auto const [code, what] = failure_of(make);
    EXPECT_EQ(code, std::errc::invalid_argument) << text;
    EXPECT_THAT(what, HasSubstr(text));
  };
  refused([&] { multi_mutex const lock{etcd, {"a", "b/c"}}; }, "\"b/c\" has a slash");
  refused([&] { multi_mutex const lock(etcd, {write("a"), read("b")}); }, "not \"b\" to read");
  refused([&] { multi_mutex const lock(etcd, {write("a"), permits("b", 1, 2)}); }, "for its permits");
  refused([&] { multi_mutex const lock{etcd, {"a", "b"}, {.keep = true}}; }, "keep");
  std::vector<std::string> many;
  for (int i = 0; i != 43; ++i) many.push_back("name" + std::to_string(i));
  refused([&] { multi_mutex const lock{etcd, many}; }, "at most 42 names");
  many.pop_back();
  multi_mutex lock{etcd, many};
  EXPECT_TRUE(lock.try_acquire());
  EXPECT_TRUE(lock.try_acquire_for(wait_limit));
}

TEST(etcd_client, says_that_a_ttl_is_below_the_servers_minimum) {
  client etcd{shared_etcd().url(), patient()};
  mutex lock{etcd, "short", {.ttl = 500ms}};
  auto const [code, what] = failure_of([&] { (void)lock.acquire(); });
  EXPECT_EQ(code, errc::refused);
  EXPECT_THAT(what, AllOf(HasSubstr("shortest lease is 2 s"), HasSubstr("use a longer one")));
}

TEST(etcd_client, says_that_a_key_below_the_name_is_none_of_a_lock) {
  shared_etcd().ctl({"put", "config/size", "7"});
  client etcd{shared_etcd().url(), patient()};
  mutex lock{etcd, "config"};
  auto const [code, what] = failure_of([&] { (void)lock.acquire(); });
  EXPECT_EQ(code, errc::wrong_type);
  EXPECT_THAT(what, HasSubstr("config/size"));
  EXPECT_TRUE(eventually([] { return shared_etcd().keys("config/").size() == 1; }));
}

TEST(etcd_client, says_that_nothing_listens) {
  closed_port const nobody;
  auto const [code, what] = failure_of(
      [&] { lock_at("etcd://127.0.0.1:" + std::to_string(nobody.number()), {.connect_timeout = 300ms}); });
  EXPECT_EQ(code, errc::unreachable);
  EXPECT_THAT(what, HasSubstr("etcd can't be asked"));
}

TEST(etcd_client, says_that_it_is_no_etcd) {
  auto const redis = redis_server::make({.transport = server_transport::tcp});
  auto const [code, what] =
      failure_of([&] { lock_at("etcd://" + redis->address(), {.connect_timeout = 1s}); });
  EXPECT_TRUE(code == errc::protocol || code == errc::unreachable) << code;
  EXPECT_THAT(what, HasSubstr(redis->address()));
}

TEST(etcd_client, says_that_a_user_is_needed) {
  etcd_cluster guarded;
  guarded.ctl({"user", "add", "root:secret"});
  guarded.ctl({"user", "add", "ann:word"});
  guarded.ctl({"role", "add", "jobs"});
  guarded.ctl({"role", "grant-permission", "jobs", "readwrite", "--prefix=true", "jobs/"});
  guarded.ctl({"user", "grant-role", "ann", "jobs"});
  guarded.ctl({"user", "grant-role", "root", "root"});
  guarded.ctl({"auth", "enable"});
  auto const refused = [](std::string const& url) {
    auto const [code, what] = failure_of([&] { lock_at(url, patient()); });
    EXPECT_EQ(code, errc::unauthorized) << url << ": " << what;
    EXPECT_THAT(what, HasSubstr("grant-permission"));
  };
  refused(guarded.url());
  refused("etcd://ann:wrong@" + guarded.endpoint() + "/jobs");
  refused("etcd://ann:word@" + guarded.endpoint() + "/other");
  lock_at("etcd://ann:word@" + guarded.endpoint() + "/jobs", patient());
}

TEST(etcd_client, trusts_only_the_authority_of_its_url) {
  etcd_cluster const secret{{.tls = true}};
  lock_at(secret.url("tls"), patient());
  auto const [code, what] = failure_of([&] {
    lock_at("etcds://" + secret.endpoint() + "?ca=" + secret.other_ca_file(), {.connect_timeout = 1s});
  });
  EXPECT_EQ(code, errc::unreachable);
  EXPECT_THAT(what, HasSubstr(secret.endpoint()));
}

TEST(etcd_client, shows_the_certificate_of_its_url) {
  etcd_cluster const secret{{.tls = true, .client_certificates = true}};
  lock_at(secret.url(), patient());
  auto const without = "etcds://" + secret.endpoint() + "?ca=" + secret.ca_file();
  for (auto const& url : {without, without + secret.other_client_certificate()}) {
    auto const [code, what] = failure_of([&] { lock_at(url, {.connect_timeout = 1s}); });
    EXPECT_EQ(code, errc::unreachable) << url;
    EXPECT_THAT(what, HasSubstr(secret.endpoint()));
  }
}

TEST(etcd_client, says_that_its_members_are_of_two_clusters) {
  etcd_cluster const other;
  client const probe{other.url(), patient()};
  auto const [code, what] =
      failure_of([&] { lock_at("etcd://" + shared_etcd().endpoint() + "," + other.endpoint(), patient()); });
  EXPECT_EQ(code, errc::bad_url) << what;
  EXPECT_THAT(what, AllOf(HasSubstr(other.endpoint()), HasSubstr("two clusters")));
}

}  // namespace
}  // namespace holdfast::test
