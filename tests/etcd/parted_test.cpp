// A leader that hears nothing of its peers, nor they of it, though its clients reach it.

#include "members.hpp"
#include "support/eventually.hpp"
#include "support/line_process.hpp"
#include "support/private_network.hpp"

#include <gmock/gmock.h>

#include <chrono>
#include <optional>

namespace holdfast::test {
namespace {

/// What uses the locks are processes: threads of gRPC may be in another network by now.
class etcd_parted : public testing::Test {
 protected:
  void SetUp() override {
    if (auto const reason = private_network::lacking(); !reason.empty()) GTEST_SKIP() << reason;
    network_.emplace();
    for (std::size_t i = 0; i != 3; ++i) network_->know(etcd_cluster::group(i));
    all_.emplace(etcd_options{.members = 3, .own_groups = true});
  }

  void part(std::size_t member) {
    network_->part(etcd_cluster::group(member), {all_->peer_port(member)},
                   {all_->peer_port((member + 1) % 3), all_->peer_port((member + 2) % 3)});
  }
  /// Each of them answers its clients, and none of the others.
  void part_all() { network_->part(0, {all_->peer_port(0), all_->peer_port(1), all_->peer_port(2)}, {}); }
  /// One of them is root, whose password is "secret".
  void enable_users() const {
    all_->ctl({"user", "add", "root:secret"});
    all_->ctl({"user", "grant-role", "root", "root"});
    all_->ctl({"auth", "enable"});
  }
  /// `holdfast run`, with a history; `of`: the members that it knows.
  [[nodiscard]] words run(std::string const& of, std::string const& history, words const& then) const {
    words all{HOLDFAST_CLI,      "run",   "--url", "etcd://" + of, "--history",
              folder_ / history, "--ttl", ttl_,    "parted",       "--"};
    all.insert(all.end(), then.begin(), then.end());
    return all;
  }
  [[nodiscard]] bool come_to_be(std::size_t count) const {
    return eventually([&] { return all_->keys("parted/").size() == count; });
  }
  [[nodiscard]] bool has_another_leader(std::size_t than) const {
    return eventually([&] {
      try {
        return all_->leader() != than;
      } catch (std::exception const&) {
        return false;  // at the moment
      }
    });
  }
  /// What the judge says of both histories; empty: all was kept.
  [[nodiscard]] std::string verdict() const {
    process judge{{HOLDFAST_CLI, "judge", folder_ / "first", folder_ / "second"}};
    return judge.wait() == 0 ? "" : judge.out() + judge.err();
  }

  std::string ttl_ = "20s";
  temporary_folder folder_;
  std::optional<private_network> network_;
  std::optional<etcd_cluster> all_;
};

TEST_F(etcd_parted, leader_is_left_by_its_clients) {
  auto const leader = all_->leader();
  auto const members = all_->endpoint(leader) + "," + all_->endpoint((leader + 1) % 3) + "," +
                       all_->endpoint((leader + 2) % 3);
  line_process first{run(members, "first", {"sh", "-c", "echo begun; read line"})};
  ASSERT_EQ(first.read_line(), "begun");
  process second{run(members, "second", {"true"})};
  ASSERT_TRUE(come_to_be(2));
  part(leader);
  ASSERT_TRUE(has_another_leader(leader));
  first.write_line("end");
  EXPECT_EQ(first.wait(), 0);
  EXPECT_EQ(second.wait(), 0) << second.err();
  EXPECT_EQ(verdict(), "");
}

/// The member that answers a new client first can't check its password.
TEST_F(etcd_parted, member_is_left_by_a_client_that_has_to_authenticate) {
  auto const apart = (all_->leader() + 1) % 3;
  enable_users();
  part(apart);
  auto const other = (apart + 1) % 3;
  all_->freeze(other);
  auto command = run("root:secret@" + all_->endpoint(apart) + "," + all_->endpoint(other), "first", {"true"});
  command.insert(command.begin() + 2, {"--wait-server", "20s"});
  process late{command};
  EXPECT_TRUE(always(1s, [&] { return !late.exit_code(); }));
  all_->thaw(other);
  EXPECT_EQ(late.wait(), 0) << late.err();
}

/// FOUND 635.
TEST_F(etcd_parted, members_without_a_majority_do_not_hold_up_a_try_one_after_the_other) {
  enable_users();
  part_all();
  auto const members = all_->endpoint(0) + "," + all_->endpoint(1) + "," + all_->endpoint(2);
  auto const begun = std::chrono::steady_clock::now();
  process only_tries{
      {HOLDFAST_CLI, "run", "--url", "etcd://root:secret@" + members, "--no-wait", "parted", "--", "true"}};
  EXPECT_EQ(only_tries.wait(), 69) << only_tries.err();
  // connect_timeout, reply_timeout, and a second
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 5s);
}

/// It goes on to answer for some time.
TEST_F(etcd_parted, leader_extends_no_lease_of_a_client_that_knows_no_other_member) {
  ttl_ = "3s";
  auto const leader = all_->leader();
  line_process first{run(all_->endpoint(leader), "first", {"sh", "-c", "echo begun; exec sleep 600"})};
  ASSERT_EQ(first.read_line(), "begun");
  part(leader);
  process second{
      run(all_->endpoint((leader + 1) % 3) + "," + all_->endpoint((leader + 2) % 3), "second", {"true"})};
  EXPECT_EQ(second.wait(), 0) << second.err();
  EXPECT_EQ(first.wait(), 79);
  EXPECT_EQ(verdict(), "");
}

}  // namespace
}  // namespace holdfast::test
