// `holdfast doctor` on members of etcd.

#include "members.hpp"
#include "support/eventually.hpp"
#include "support/redis_server.hpp"

#include <gmock/gmock.h>

#include <string>
#include <utility>

namespace holdfast::test {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

/// The exit code, and what it prints.
std::pair<int, std::string> doctor(std::string const& url, words const& rest = {}) {
  words all{HOLDFAST_CLI, "doctor", "--url", url};
  all.insert(all.end(), rest.begin(), rest.end());
  process run{all};
  auto const code = run.wait();
  return {code, run.out() + run.err()};
}

TEST(etcd_doctor, finds_three_members_fit) {
  etcd_cluster const three{{.members = 3}};
  auto const [code, text] = doctor(three.url("jobs"));
  EXPECT_EQ(code, 0) << text;
  EXPECT_THAT(text,
              AllOf(HasSubstr("3 of 3 answer"), HasSubstr("etcd 3."), HasSubstr("all are of the cluster"),
                    ContainsRegex("leader +127[.]0[.]0[.]1:[0-9]+, in term [0-9]+"),
                    HasSubstr("3 that vote, of which 1 may be lost"),
                    HasSubstr("keys that begin with \"jobs/\""), HasSubstr("problem: 0, warning: ")));
  EXPECT_TRUE(three.keys("").empty());
}

/// FOUND 484.
TEST(etcd_doctor, warns_of_versions_that_end_leases_wrongly) {
  auto const [code, text] = doctor(shared_etcd().url());
  EXPECT_EQ(code, 0) << text;
  EXPECT_EQ(text.find("update it to 3.4.31, 3.5.13 or later") != std::string::npos,
            etcd_ends_leases_wrongly())
      << text;
}

TEST(etcd_doctor, says_which_member_is_away_and_when_there_is_no_majority) {
  etcd_cluster three{{.members = 3}};
  three.kill9(2);
  auto const [fit, text] = doctor(three.url());
  EXPECT_EQ(fit, 0) << text;
  EXPECT_THAT(text, AllOf(HasSubstr("2 of 3 answer"), HasSubstr(three.endpoint(2))));
  three.kill9(1);
  std::pair<int, std::string> last;
  EXPECT_TRUE(eventually(60s, [&] {
    last = doctor(three.url());
    return last.first == 78 && last.second.find("it knows no leader") != std::string::npos;
  })) << last.second;
}

TEST(etcd_doctor, warns_of_a_single_member_and_knows_two_clusters) {
  auto const [code, text] = doctor(shared_etcd().url());
  EXPECT_EQ(code, 0) << text;
  EXPECT_THAT(text, HasSubstr("1 that vote, of which 0 may be lost"));
  etcd_cluster const other;
  auto const [both, names] = doctor("etcd://" + shared_etcd().endpoint() + "," + other.endpoint());
  EXPECT_EQ(both, 78) << names;
  EXPECT_THAT(names, AllOf(ContainsRegex("problem +cluster"), HasSubstr(other.endpoint())));
}

TEST(etcd_doctor, shows_that_the_space_is_used_up) {
  etcd_cluster const small{{.args = {"--quota-backend-bytes=1000000"}}};
  small.use_up_space();
  auto const [code, text] = doctor(small.url());
  EXPECT_EQ(code, 78) << text;
  EXPECT_THAT(text, AllOf(HasSubstr("NOSPACE"), HasSubstr("etcdctl alarm disarm")));
}

TEST(etcd_doctor, tries_the_rights_of_the_user) {
  etcd_cluster const guarded;
  guarded.ctl({"user", "add", "root:secret"});
  guarded.ctl({"user", "add", "ann:word"});
  guarded.ctl({"role", "add", "jobs"});
  guarded.ctl({"role", "grant-permission", "jobs", "readwrite", "--prefix=true", "jobs/"});
  guarded.ctl({"user", "grant-role", "ann", "jobs"});
  guarded.ctl({"user", "grant-role", "root", "root"});
  guarded.ctl({"auth", "enable"});
  auto const as_ann = "etcd://ann:word@" + guarded.endpoint();
  EXPECT_EQ(doctor(as_ann + "/jobs").first, 0) << doctor(as_ann + "/jobs").second;
  EXPECT_EQ(doctor(as_ann, {"jobs/nightly"}).first, 0);
  auto const [code, text] = doctor(as_ann);
  EXPECT_EQ(code, 78) << text;
  EXPECT_THAT(text, AllOf(ContainsRegex("problem +rights"), HasSubstr("etcdctl role grant-permission"),
                          Not(HasSubstr("ann:word"))));
  EXPECT_EQ(doctor("etcd://ann:wrong@" + guarded.endpoint() + "/jobs").first, 77);
  EXPECT_EQ(doctor(guarded.url("jobs")).first, 77);
}

TEST(etcd_doctor, says_that_it_is_no_etcd) {
  auto const redis = redis_server::make({.transport = server_transport::tcp});
  auto const [code, text] = doctor("etcd://" + redis->address());
  EXPECT_TRUE(code == 76 || code == 69) << code << text;
  EXPECT_THAT(text, HasSubstr(redis->address()));
}

}  // namespace
}  // namespace holdfast::test
