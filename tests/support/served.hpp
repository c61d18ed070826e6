/// What the laws are run against: one server for each test, or a deployment that the tests of a program
/// share.
#pragma once

#include "raw_redis.hpp"
#include "redis_server.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace holdfast::test {

enum class topology { single, sentinel, cluster, quorum };

/// Of this program: `--on=sentinel`, `cluster` or `quorum` on its command line, or else one server.
[[nodiscard]] topology topology_under_test();
/// To be called first thing in main(): takes `--on=…` off the command line.
void choose_topology(int& argc, char** argv);

/// All that hold data in a deployment, looked at as if they were one server. Commands about a key go to the
/// master that has it; masters that vote are all told, and what most of them say counts.
class raw_servers final : public raw_redis {
 public:
  /// `home` is the one that has the lock "orders", and is asked what is about no key.
  raw_servers(topology what, std::vector<redis_server*> masters, redis_server& home);

  raw_reply command(std::vector<std::string> const& words) override;
  void pipeline(std::vector<std::vector<std::string>> const& commands) override;

  /// How many are subscribed to a channel, sharded or not, over all servers.
  std::int64_t listeners(std::string const& channel);
  /// As the scripts do: in a cluster messages about a lock, whose channel has a tag, stay in its slot.
  void publish(std::string const& channel, std::string const& message);

 private:
  raw_redis& at(std::uint16_t slot);
  raw_reply from_most(std::vector<std::string> const& words);
  raw_reply keys_of_all(std::vector<std::string> const& words);
  raw_reply keys_when_settled(std::vector<std::string> const& words);

  topology what_;
  std::vector<redis_server*> masters_;
  std::vector<raw_redis> clients_;  // one for each master
  std::map<std::uint16_t, std::size_t> place_of_;
};

/// A waiter that is told that the lock is its own believes it; where a replica may have taken over it asks
/// the master.
[[nodiscard]] inline bool grants_are_believed() { return topology_under_test() == topology::single; }

class served {
 public:
  served();

  [[nodiscard]] std::string url() const;
  /// Of the one server, for tests that put a proxy before it or stop it; throws where there are several, so
  /// such tests are left out there.
  [[nodiscard]] std::string socket_path() const { return only().socket_path(); }
  void stop() { only().stop(); }
  /// For files of the test.
  [[nodiscard]] std::filesystem::path const& folder() const { return home_->folder(); }
  [[nodiscard]] raw_servers raw() const;

 private:
  [[nodiscard]] redis_server& only() const;

  std::unique_ptr<redis_server> own_;
  std::vector<redis_server*> masters_;
  redis_server* home_ = nullptr;
};

}  // namespace holdfast::test

/// Leaves a test out where there is more than one server, and says why.
#define HOLDFAST_ON_ONE_SERVER(reason) \
  if (holdfast::test::topology_under_test() != holdfast::test::topology::single) GTEST_SKIP() << (reason)
