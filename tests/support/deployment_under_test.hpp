/// The deployment that the laws run against, one for all tests of a program.
#pragma once

#include "flaky_proxy.hpp"
#include "raw_redis.hpp"
#include "redis_server.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace holdfast::test {

enum class topology { single, sentinel, cluster, quorum, memory };

/// How locks are taken and released at the servers, `--by=native`, `scriptless`, `module` or `mixed`; by
/// scripts otherwise. Where the server has no compare-and-delete a proxy makes it look so. On one server, or
/// a quorum; with the module, whose file HOLDFAST_MODULE_FILE in the environment names, on one server.
/// `mixed` is a crowd on that server: of three clients one speaks to the module, one runs scripts, and one
/// uses compare-and-delete.
enum class way { scripts, native, scriptless, module, mixed };
[[nodiscard]] way way_under_test();

/// Chosen on the command line of this program: `--on=sentinel`, `cluster`, `quorum` or `memory` (a deployment
/// in the memory of this process); one server otherwise.
[[nodiscard]] topology topology_under_test();
[[nodiscard]] inline bool on_one_server() {
  return topology_under_test() == topology::single || topology_under_test() == topology::memory;
}
/// To be called first in main(): removes `--on=…` and `--by=…` from the command line.
void choose_topology(int& argc, char** argv);

/// All masters of a deployment, viewed as one server. A command with a key goes to the master of that key. In
/// a quorum it goes to all masters, and the majority's reply counts, or the median of their numbers.
class raw_servers final : public raw_redis {
 public:
  /// The server at the socket `home` has the lock "orders", and gets the commands without a key. No masters:
  /// it is the only server.
  raw_servers(topology deployment, std::vector<redis_server*> masters, std::string const& home);

  raw_reply command(std::vector<std::string> const& words) override;
  void pipeline(std::vector<std::vector<std::string>> const& commands) override;

  /// The number of subscribers of a channel, sharded or not, over all servers.
  std::int64_t listeners(std::string const& channel);
  /// As the scripts do: in a cluster a message about a lock, whose channel has a tag, stays in its slot.
  void publish(std::string const& channel, std::string const& message);

 private:
  raw_redis& client_of(std::uint16_t slot);
  raw_reply majority_reply(std::vector<std::string> const& words);
  raw_reply keys_of_all_masters(std::vector<std::string> const& words);
  raw_reply settled_keys(std::vector<std::string> const& words);

  topology deployment_;
  std::vector<redis_server*> masters_;
  std::vector<raw_redis> clients_;  // one for each master
  std::map<std::uint16_t, std::size_t> index_of_slot_;
};

/// Whether a waiter trusts the message of a grant. Where a replica may have taken over, it sends a request to
/// the master instead.
[[nodiscard]] inline bool trusts_grant_messages() { return on_one_server(); }

class deployment_under_test {
 public:
  deployment_under_test();

  [[nodiscard]] std::string url() const;
  /// For other processes.
  [[nodiscard]] std::string url_for_workers() const {
    return topology_under_test() == topology::memory ? "redis+unix://" + socket_path() : url();
  }
  /// Of the one server, for tests that put a proxy before it. Throws if there are several; such tests are
  /// skipped there.
  [[nodiscard]] std::string socket_path() const;
  /// For files of the test.
  [[nodiscard]] std::filesystem::path const& folder() const;
  [[nodiscard]] raw_servers raw() const;

 private:
  std::unique_ptr<flaky_proxy> own_proxy_;  ///< see way
  std::vector<redis_server*> masters_;
  redis_server* home_ = nullptr;     ///< null: in memory
  mutable unsigned urls_given_ = 0;  ///< in a mixed crowd
};

}  // namespace holdfast::test

/// Skips a test where there is more than one server, with the reason.
#define HOLDFAST_ON_ONE_SERVER(reason) \
  if (!holdfast::test::on_one_server()) GTEST_SKIP() << (reason)
