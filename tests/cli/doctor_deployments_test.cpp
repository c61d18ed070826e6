// `holdfast doctor` on deployments of several servers. Its judgement is tested without servers.
#include "doctor_report_of.hpp"
#include "support/cluster_servers.hpp"
#include "support/eventually.hpp"
#include "support/independent_servers.hpp"
#include "support/sentinel_servers.hpp"

#include <gmock/gmock.h>

namespace {

using namespace holdfast::test;
using testing::AllOf;
using testing::HasSubstr;
using testing::SizeIs;

TEST(doctor_of_deployments, examines_sentinels_a_master_and_its_replicas) {
  sentinel_servers servers{{.password = "data",
                            .sentinel_password = "watch",
                            .persistent = true,
                            .args = {"--min-replicas-to-write", "1"}}};
  auto const result = doctor_when_idle([&] { return doctor(servers.url()); });
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.report["counts"]["ok"], result.report["findings"].size()) << result.report.dump(2);
  EXPECT_THAT(result.finding("agreement")["found"], HasSubstr(servers.master().address()));
  EXPECT_THAT(result.finding("stand-by")["found"], HasSubstr("2 replicas"));
  EXPECT_THAT(result.finding("version")["servers"], SizeIs(3));
  EXPECT_THAT(result.report.dump(), testing::Not(HasSubstr("watch@")));
  EXPECT_TRUE(servers.master().raw().keys().empty());
}

TEST(doctor_of_deployments, finds_sentinels_that_the_url_does_not_have_and_those_that_are_down) {
  sentinel_servers servers{{.replicas = 1}};
  auto const url = "redis+sentinel://" + servers.sentinel(0).address() + "/mymaster";
  auto result = doctor(url);
  EXPECT_EQ(result.severity("sentinels"), "advice");
  EXPECT_THAT(result.finding("sentinels")["found"], HasSubstr(servers.sentinel(1).address()));
  servers.sentinel(1).kill9();
  servers.sentinel(2).kill9();
  result = doctor(url);
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.severity("sentinels"), "warning");
  EXPECT_TRUE(eventually([&] { return doctor(url).severity("quorum") == "warning"; }));
}

TEST(doctor_of_deployments, gives_the_rule_for_a_prefix_with_what_the_deployment_needs) {
  auto const rule_on = [](std::string const& url) {
    auto const finding = doctor_on("tenant", url, {"--prefix", "jobs:"}).finding("tenant");
    return finding.value("found", std::string{"no finding"});
  };
  sentinel_servers const sentinels{{.replicas = 0, .sentinels = 1}};
  EXPECT_THAT(rule_on(sentinels.url()), AllOf(HasSubstr("~jobs:*"), HasSubstr(" +role")));
  cluster_servers const cluster;
  EXPECT_THAT(rule_on(cluster.url()), AllOf(HasSubstr("~jobs:*"), HasSubstr("+cluster|slots")));
  independent_servers const masters{3};
  EXPECT_THAT(rule_on(masters.url()), AllOf(HasSubstr("~jobs:*"), HasSubstr(" +info")));
}

TEST(doctor_of_deployments, lists_the_names_that_sentinels_know) {
  sentinel_servers servers{{.replicas = 0, .sentinels = 1}};
  auto const result = doctor("redis+sentinel://" + servers.sentinel(0).address() + "/theirs");
  EXPECT_EQ(result.code, 78);
  EXPECT_THAT(result.finding("master name")["found"], HasSubstr(R"(no master "theirs"; it knows mymaster)"));
}

TEST(doctor_of_deployments, reaches_what_is_announced_elsewhere_as_nat_says) {
  sentinel_servers servers{{.replicas = 0, .sentinels = 1}};
  auto const url = servers.url();
  auto const master = servers.master().address();
  redis_server const other_server = redis_server::with({.transport = server_transport::tcp});
  closed_port const unused_port;
  auto const unreachable_url = url + "?nat=" + master + "/127.0.0.1:" + std::to_string(unused_port.number());
  auto result = doctor(unreachable_url);
  EXPECT_EQ(result.code, 69);
  EXPECT_EQ(result.severity("master"), "problem");
  EXPECT_THAT(result.finding("master")["advice"], HasSubstr("?nat=" + master + "/HOST:PORT"));
  result = doctor(url + "?nat=" + master + "/" + other_server.address());
  EXPECT_EQ(result.severity("master"), "ok");
  EXPECT_EQ(result.severity("role"), "ok");
}

TEST(doctor_of_deployments, examines_a_cluster_and_leaves_nothing_behind) {
  cluster_servers servers{
      {.persistent = true,
       .args = {"--min-replicas-to-write", "1", "--cluster-require-full-coverage", "no"}}};
  auto const result = doctor_when_idle([&] { return doctor(servers.url()); });
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.report["counts"]["ok"], result.report["findings"].size()) << result.report.dump(2);
  EXPECT_THAT(result.finding("writing")["servers"], SizeIs(3));
  EXPECT_THAT(result.finding("version")["servers"], SizeIs(6));
  for (auto* const node : servers.masters()) EXPECT_TRUE(node->raw().keys().empty());
}

TEST(doctor_of_deployments, finds_a_slot_that_moves_and_a_replica_that_is_gone) {
  cluster_servers servers;
  auto& source = servers.master_of(93);
  auto& target = servers.another_master(93);
  servers.begin_migration(93, source, target);
  servers.replica_of(target).kill9();
  ASSERT_TRUE(eventually([&] { return doctor(servers.url()).severity("nodes") == "warning"; }));
  auto const result = doctor(servers.url());
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.severity("open slots"), "warning");
  EXPECT_EQ(result.finding("stand-by")["servers"], nlohmann::json{target.address()});
}

TEST(doctor_of_deployments, examines_a_quorum) {
  independent_servers servers{3, {.persistent = true}};
  auto result = doctor_when_idle([&] { return doctor(servers.url()); });
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.report["counts"]["ok"], result.report["findings"].size()) << result.report.dump(2);
  EXPECT_THAT(result.finding("clock")["found"], HasSubstr("% (±"));

  servers[0].kill9();
  result = doctor(servers.url());
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.severity("majority"), "warning");
  servers[1].kill9();
  result = doctor(servers.url());
  EXPECT_EQ(result.code, 78);
  EXPECT_EQ(result.severity("majority"), "problem");
  servers[2].kill9();
  EXPECT_EQ(doctor(servers.url()).code, 69);
}

TEST(doctor_of_deployments, finds_a_server_that_votes_twice_and_one_that_forgets) {
  independent_servers servers{2};
  auto const port = servers[0].address().substr(servers[0].address().find(':'));
  auto const result = doctor(servers.url() + ",localhost" + port);
  EXPECT_EQ(result.code, 78);
  EXPECT_EQ(result.severity("distinct"), "problem");
  EXPECT_THAT(result.finding("distinct")["found"], HasSubstr("localhost" + port));
  EXPECT_EQ(result.severity("restarts"), "warning");
  EXPECT_EQ(result.severity("persistence"), "warning");
}

TEST(doctor_of_deployments, tells_urls_of_the_wrong_kind_which_one_to_write) {
  auto const plain = redis_server::with({.transport = server_transport::tcp});
  auto const node = redis_server::with({.transport = server_transport::tcp, .cluster = true});
  struct wrong {
    std::string url;
    std::string check;
    std::string advice;
  };
  for (auto const& [url, check, advice] : std::vector<wrong>{
           {"redis+sentinel://" + plain.address() + "/mymaster", "sentinels", "write redis://"},
           {"redis+cluster://" + plain.address(), "hosts", "write redis://"},
           {node.url(), "mode", "write redis+cluster://"},
           {"redis+quorum://" + node.address(), "mode", "in no cluster"}}) {
    auto const result = doctor(url);
    EXPECT_EQ(result.code, 78) << url;
    EXPECT_EQ(result.severity(check), "problem") << url;
    EXPECT_THAT(result.finding(check)["advice"], HasSubstr(advice)) << url;
  }
}

}  // namespace
