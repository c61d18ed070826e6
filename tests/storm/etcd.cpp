/// Three members of etcd: killed and started again with their data, frozen, parted from one another.
#include "arena.hpp"
#include "network_faults.hpp"

#include "support/etcd_cluster.hpp"
#include "support/eventually.hpp"

#include <memory>
#include <stdexcept>
#include <utility>

namespace holdfast::storm {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t members = 3;
constexpr auto to_recover = 60s;
constexpr auto to_be_gone = 20s;  ///< leases of clients that were killed, while leaders change

/// An election takes a second, and leases of a second are possible.
test::etcd_options options_of_members(bool own_groups) {
  return {.members = members,
          .own_groups = own_groups,
          .ctl_seconds = 3,
          .args = {"--heartbeat-interval=60", "--election-timeout=600"}};
}

/// A member isn't frozen for so long while it leads that its cluster ends leases which are kept alive.
std::chrono::milliseconds longest_stall_of_leaders() {
  return test::etcd_ends_leases_wrongly() ? 400ms : 6'000ms;
}

/// What a latch or a barrier leaves for the next ones, who count on it.
bool is_to_stay(std::string const& key) {
  auto const part = key.substr(key.find('/') + 1);
  return part.starts_with("latch") || part == "barrier" || part.starts_with("barrier-arrived-");
}

class etcd_members : public deployment {
 public:
  explicit etcd_members(bool own_groups = false) : all_{options_of_members(own_groups)} {}

  [[nodiscard]] std::string url(int /*worker*/) const override { return all_.url(); }

  std::vector<fault> faults() override {
    return {
        {"member killed, back with its data", "server",
         [this](dice& by) { return killed(some(by), by.between(100ms, 5'000ms)); }},
        {"leader killed, back with its data", "server",
         [this](dice& by) { return killed(all_.leader(), by.between(100ms, 5'000ms)); }},
        {"follower frozen", "server",
         [this](dice& by) { return frozen(some_follower(by), by.between(200ms, 6'000ms)); }},
        {"leader frozen", "server",
         [this](dice& by) { return frozen(all_.leader(), by.between(200ms, longest_stall_)); }},
        {"second member frozen", "more servers",
         [this](dice& by) { return frozen(some_follower(by), by.between(200ms, 2'500ms)); }},
        {"second member killed, back with its data", "more servers",
         [this](dice& by) { return killed(some(by), by.between(100ms, 2'000ms)); }},
        {"leadership moved", "commands",
         [this](dice& by) {
           all_.move_leader(some(by));
           return ending{};
         }},
        {"compaction", "commands",
         [this](dice&) {
           all_.compact();
           return ending{};
         }},
        {"defragmentation", "commands",
         [this](dice&) {
           all_.ctl({"defrag"});
           return ending{};
         }},
    };
  }

  void heal() override {
    for (std::size_t i = 0; i != members; ++i) {
      if (auto const text = all_.end_of(i))
        throw std::runtime_error{"a member has ended by itself: " + *text};
    }
    if (!test::true_within(to_recover, [this] { return all_.responds(); }))
      throw std::runtime_error{"the members don't answer though all run"};
  }

  std::string left_behind() override {
    std::string left;
    (void)test::true_within(to_be_gone, [&] {
      left.clear();
      for (auto const& key : all_.keys("storm:")) {
        if (!is_to_stay(key)) left += key + '\n';
      }
      return left.empty();
    });
    return left;
  }

 protected:
  [[nodiscard]] test::etcd_cluster& cluster() { return all_; }
  /// One that runs.
  [[nodiscard]] std::size_t some(dice& by) { return some_but(members, by); }
  [[nodiscard]] std::size_t some_follower(dice& by) { return some_but(all_.leader(), by); }

 private:
  std::size_t some_but(std::size_t other, dice& by) {
    std::vector<std::size_t> running;
    for (std::size_t i = 0; i != members; ++i) {
      if (i != other && all_.runs(i)) running.push_back(i);
    }
    if (running.empty()) throw std::runtime_error{"no such member runs at the moment"};
    return by.of(running);
  }
  ending killed(std::size_t member, std::chrono::milliseconds time) {
    all_.kill9(member);
    return {time, [this, member] { all_.start_again(member); }};
  }
  ending frozen(std::size_t member, std::chrono::milliseconds time) {
    all_.freeze(member);
    return {time, [this, member] { all_.thaw(member); }};
  }

  test::etcd_cluster all_;
  std::chrono::milliseconds longest_stall_ = longest_stall_of_leaders();
};

/// Its members know who is who.
class network_of_members {
 public:
  network_of_members() {
    for (std::size_t i = 0; i != members; ++i) network.know(test::etcd_cluster::group(i));
  }
  test::private_network network{};
};

/// A leader that is parted from its peers goes on for a while, and its clients still reach it.
class parted_members final : private network_of_members, public etcd_members {
 public:
  parted_members() : etcd_members{true} {}

  std::vector<fault> faults() override {
    auto all = etcd_members::faults();
    constexpr auto longest = 6'000ms;
    all.push_back(network_fault(network, "leader parted from its peers", longest,
                                [this](dice&) { part(cluster().leader()); }));
    all.push_back(network_fault(network, "member parted from its peers", longest,
                                [this](dice& by) { part(some(by)); }));
    add_packet_faults(all, network, "a member", longest,
                      [this](dice& by) { return cluster().port(some(by)); });
    all.push_back(network_fault(network, "some packets between members dropped", longest, [this](dice& by) {
      network.lose(static_cast<int>(by.between(10, 60)), cluster().peer_port(some(by)));
    }));
    return all;
  }

 private:
  void part(std::size_t member) {
    std::vector<std::uint16_t> others;
    for (std::size_t i = 0; i != members; ++i) {
      if (i != member) others.push_back(cluster().peer_port(i));
    }
    network.part(test::etcd_cluster::group(member), {cluster().peer_port(member)}, others);
  }
};

/// Why there can be no etcd here.
std::string lacking_of_etcd() {
  if (!HOLDFAST_WITH_ETCD) return "it isn't built here: ./check etcd storm";
  for (auto const* const program : {"etcd", "etcdctl"}) {
    try {
      test::process asked{{program, std::string{program} == "etcd" ? "--version" : "version"}};
      if (asked.wait() == 0) continue;
    } catch (std::exception const&) {
    }
    return std::string{"there is no "} + program + " here";
  }
  return {};
}

}  // namespace

/// A lease of a client that was killed has its whole ttl, and the time of an election, once more whenever
/// there is another leader, and leaders may follow one another within that.
std::vector<terrain> terrains_of_etcd() {
  constexpr auto slack = 20s;
  auto const reason = lacking_of_etcd();
  return {{.name = "etcd",
           .kinds = "etcd",
           .slack = slack,
           .keeps = true,
           .lacking = reason,
           .make = [] { return std::make_unique<etcd_members>(); }},
          {.name = "etcd, parted by its network",
           .kinds = "etcd",
           .slack = slack,
           .keeps = true,
           .lacking = reason.empty() ? test::private_network::lacking_to_part() : reason,
           .make = [] { return std::make_unique<parted_members>(); }}};
}

}  // namespace holdfast::storm
