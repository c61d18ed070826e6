/// Any one allocation fails while a cluster or sentinels are asked for the server of a request.
#include "memory.hpp"

#include "net/broken_connections.hpp"
#include "net/deployment_url.hpp"
#include "support/cluster_servers.hpp"
#include "support/sentinel_servers.hpp"
#include "topology/make_deployment.hpp"

#include <holdfast/client.hpp>

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace holdfast::test {
namespace {

class deployed final : public rig {
 public:
  explicit deployed(std::string const& url)
      : url_{net::parse_deployment_url(url)},
        settings_{.server = url_.server,
                  .client_name = "rig",
                  .connect_timeout = 5s,
                  .reply_timeout = 5s,
                  .limits = {},
                  .known_broken = &loose_ends_},
        servers_{holdfast::topology::make_deployment(
            loop, url_, settings_, stats_,
            {.moved = [](std::string const&) {}, .broken = [] {}, .warning = [](std::string const&) {}})} {}
  ~deployed() override { stop(); }

  [[nodiscard]] std::uint64_t commands() {
    reactor::lock const hold{loop.mutex()};
    return stats_.commands;
  }

 private:
  void pass(net::request request) override { servers_->send(std::move(request)); }

  net::deployment_url url_;
  net::broken_connections loose_ends_{{}};
  net::settings settings_;
  client_stats stats_;
  std::unique_ptr<holdfast::topology::deployment> servers_;
};

constexpr std::array<std::string_view, 3> keys{"orders", "invoices", "parcels"};

void request_all_keys(deployed& fresh) {
  std::array<request_record, 3> all;
  reactor::lock hold{fresh.loop.mutex()};
  for (std::size_t i = 0; i != all.size(); ++i) fresh.send(all[i], {"GET", keys[i]}, keys[i]);
  EXPECT_TRUE(fresh.await(hold));
  expect_one_answer_each(all);
}

void expect_all_served(deployed& fresh) {
  for (auto const key : keys) EXPECT_TRUE(fresh.works(key)) << key;
}

class memory_in_a_cluster : public testing::Test {
 protected:
  cluster_servers nodes_{{.masters = 3, .replicas_each = 0}};
};

TEST_F(memory_in_a_cluster, wanting_when_its_slots_are_asked_for) {
  at_each_allocation([this] { return std::make_unique<deployed>(nodes_.url()); },
                     [](deployed& fresh) {
                       request_all_keys(fresh);
                       expect_all_served(fresh);
                     });
}

TEST_F(memory_in_a_cluster, wanting_when_a_slot_has_moved) {
  auto const slot = cluster_servers::slot_of(std::string{keys[0]});
  auto const moved = [&] {
    auto opened = std::make_unique<deployed>(nodes_.url());
    expect_all_served(*opened);
    // Waits until the deployment stops reading the slots.
    for (auto before = opened->commands(); !always(300ms, [&] { return opened->commands() == before; });)
      before = opened->commands();
    nodes_.migrate_slot(slot, nodes_.master_of(slot), nodes_.another_master(slot));
    return opened;
  };
  at_each_allocation(moved, [](deployed& fresh) {
    request_all_keys(fresh);
    expect_all_served(fresh);
  });
}

TEST(memory_with_sentinels, wanting_when_they_are_asked_for_the_master) {
  sentinel_servers const servers{{.replicas = 1}};
  at_each_allocation([&] { return std::make_unique<deployed>(servers.url()); },
                     [](deployed& fresh) {
                       request_all_keys(fresh);
                       expect_all_served(fresh);
                     });
}

}  // namespace
}  // namespace holdfast::test
