// URLs of deployments of several servers.

#include "net/deployment_url.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <holdfast/client.hpp>
#include <holdfast/error.hpp>
#include <string>
#include <vector>

#include "support/failure_of.hpp"

namespace {

using holdfast::net::deployment_url;
using holdfast::net::parse_deployment_url;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::vector<std::string> hosts_of(deployment_url const& url) {
  std::vector<std::string> displays;
  for (auto const& host : url.hosts) displays.push_back(host.display);
  return displays;
}

/// The message of the error of parse_deployment_url; empty when it accepts the URL.
std::string deployment_error(std::string const& url) {
  return holdfast::test::message_of(holdfast::errc::bad_url, [&] { (void)parse_deployment_url(url); });
}

TEST(deployment_url, of_one_server_is_that_server) {
  auto const url = parse_deployment_url("redis://h:7000/2");
  EXPECT_EQ(url.deployment, deployment_url::kind::single);
  EXPECT_EQ(url.server.port, 7000);
  EXPECT_TRUE(url.hosts.empty());
}

TEST(deployment_url, of_sentinels_has_them_their_credentials_and_the_masters_name) {
  auto const url = parse_deployment_url(
      "redis+sentinel://u:p@h1,h2:5,[::1]/mymaster/3?sentinel_user=s&sentinel_password=t");
  EXPECT_EQ(url.deployment, deployment_url::kind::sentinel);
  EXPECT_EQ(url.master, "mymaster");
  EXPECT_THAT(hosts_of(url), ElementsAre("redis://h1:26379", "redis://h2:5", "redis://[::1]:26379"));
  EXPECT_EQ(url.server.user, "u");
  EXPECT_EQ(url.server.password, "p");
  EXPECT_EQ(url.server.db, 3);
  EXPECT_EQ(url.hosts.front().user, "s");
  EXPECT_EQ(url.hosts.front().password, "t");
  EXPECT_EQ(url.hosts.front().db, 0);
  EXPECT_EQ(url.server.display,
            "redis+sentinel://u:***@h1,h2:5,[::1]/mymaster/3?sentinel_user=s&sentinel_password=***");
}

TEST(deployment_url, lets_sentinels_do_without_tls) {
  using scheme = holdfast::net::endpoint::scheme;
  EXPECT_EQ(parse_deployment_url("rediss+sentinel://h/m").hosts.front().transport, scheme::tls);
  EXPECT_EQ(parse_deployment_url("rediss+sentinel://h/m?sentinel_tls=no").hosts.front().transport,
            scheme::tcp);
  EXPECT_EQ(parse_deployment_url("rediss+sentinel://h/m?sentinel_tls=no").server.transport, scheme::tls);
}

TEST(deployment_url, of_a_cluster_names_some_nodes_and_knows_where_announced_ones_are) {
  auto const url = parse_deployment_url("redis+cluster://:pw@h1,h2:7000?nat=10.0.0.1:7000/127.0.0.1:7001");
  EXPECT_EQ(url.deployment, deployment_url::kind::cluster);
  EXPECT_THAT(hosts_of(url), ElementsAre("redis://h1:6379", "redis://h2:7000"));
  EXPECT_EQ(url.announced("10.0.0.1", 7000).display, "redis://127.0.0.1:7001");
  EXPECT_EQ(url.announced("10.0.0.2", 7000).display, "redis://10.0.0.2:7000");
  EXPECT_EQ(url.announced("10.0.0.2", 7000).password, "pw");
}

TEST(deployment_url, of_a_quorum_names_them_all_once) {
  EXPECT_THAT(hosts_of(parse_deployment_url("rediss+quorum://h1:1,h2,h3?verify=no")),
              ElementsAre("rediss://h1:1", "rediss://h2:6379", "rediss://h3:6379"));
  EXPECT_THAT(deployment_error("redis+quorum://h1,h2,h1:6379"), HasSubstr("h1:6379 is given twice"));
}

TEST(deployment_url, of_etcd_names_members_and_what_all_keys_begin_with) {
  auto const url = parse_deployment_url("etcds://u:p@h1,h2:5/jobs/daily?ca=ca.crt");
  EXPECT_EQ(url.deployment, deployment_url::kind::etcd);
  EXPECT_EQ(url.prefix, "jobs/daily/");
  ASSERT_EQ(url.hosts.size(), 2U);
  EXPECT_EQ(url.hosts[0].port, 2379);
  EXPECT_EQ(url.hosts[1].port, 5);
  EXPECT_EQ(url.server.password, "p");
  EXPECT_EQ(url.server.tls.ca, "ca.crt");
  EXPECT_EQ(url.server.display, "etcds://u:***@h1,h2:5/jobs/daily?ca=ca.crt");
  EXPECT_EQ(parse_deployment_url("etcd://h").prefix, "");
  EXPECT_EQ(parse_deployment_url("etcd://h//locks").prefix, "/locks/");
  EXPECT_THAT(deployment_error("etcd://h?db=1"), HasSubstr("unknown parameter \"db\" of an etcd URL"));
}

TEST(client_of_etcd, says_what_is_missing_where_it_can_not_be_had) {
  try {
    holdfast::client const etcd{"etcd://127.0.0.1:1"};  // sends nothing
  } catch (holdfast::error const& problem) {
    EXPECT_EQ(problem.code(), holdfast::errc::bad_url);
    EXPECT_THAT(problem.what(), AllOf(HasSubstr("etcd://127.0.0.1:1"), HasSubstr("-DHOLDFAST_ETCD=ON")));
  }
}

TEST(deployment_url, says_what_is_wrong) {
  EXPECT_THAT(deployment_error("redis+sentinel://h1,h2"), HasSubstr("the name of the master is missing"));
  EXPECT_THAT(deployment_error("redis+cluster://h1/2"), HasSubstr("database 0 alone"));
  EXPECT_THAT(deployment_error("redis+quorum://h1,,h2"), HasSubstr("a host is missing"));
  EXPECT_THAT(deployment_error("redis+cluster://h1?nat=x"), HasSubstr("announced/reachable"));
  EXPECT_THAT(deployment_error("redis+cluster://h1?sentinel_password=x"), HasSubstr("unknown parameter"));
  EXPECT_THAT(deployment_error("redis+sentinel://h1/m?sentinel_user=x"),
              HasSubstr("needs sentinel_password"));
  EXPECT_THAT(deployment_error("redis+sentinel://h1/m?sentinel_usr=x"),
              HasSubstr("allowed are db, wire, cas, scripts, nat, sentinel_user, sentinel_password, "
                        "sentinel_tls, and with rediss:// ca"));
  EXPECT_THAT(deployment_error("redis+cluster://h1?nta=x"), HasSubstr("scripts, nat, and with"));
  EXPECT_THAT(deployment_error("redis+quorum://h1?nat=x"), HasSubstr("scripts, and with"));
  EXPECT_THAT(deployment_error("redis+cluster://h1:99999,h2"), HasSubstr("port"));
  EXPECT_THAT(deployment_error("redis+sentinel://[::]@h"), HasSubstr("not of the form"));
  EXPECT_THAT(deployment_error("redis+quorum://h1,[::1]2,h3"), HasSubstr("not of the form"));
}

TEST(deployment_url, with_a_fragment_is_refused_before_anything_is_read) {
  for (auto const* const url : {"redis+quorum://h1,h2/1?#a=b", "redis+cluster://h1?#", "etcd://h1#x",
                                "redis+sentinel://h1/m?sentinel_user=x#sentinel_password=y"}) {
    EXPECT_THAT(deployment_error(url), HasSubstr("'#' has no meaning here")) << url;
  }
}

TEST(deployment_url, of_a_scheme_alone_is_a_host) {
  EXPECT_EQ(parse_deployment_url("redis+sentinel").server.host, "redis+sentinel");
}

TEST(deployment_url, never_shows_a_password_in_an_error) {
  for (auto const* const url : {"redis+cluster://:secret@h1,h2/7", "redis+quorum://u:secret@h1,h1",
                                "redis+sentinel://h1/m?sentinel_password=secret&x=y",
                                "redis+sentinel://:se@secret@h1,h2/m", "redis+cluster://:secret@h1:x,h2"}) {
    EXPECT_THAT(deployment_error(url), AllOf(Not(testing::IsEmpty()), Not(HasSubstr("secret")))) << url;
  }
}

}  // namespace
