/// A deployment with a crowd that uses it, faults, and a verdict at the end.
#pragma once

#include "dice.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::test {
class redis_server;
}

namespace holdfast::storm {

/// How a fault ends; without `undo` it is over at once.
struct ending {
  std::chrono::milliseconds after{};
  std::function<void()> undo{};
};

struct fault {
  std::string name{};
  std::string group{};  ///< of each group one is under way at a time; there are times without some groups
  std::function<ending(dice&)> begin{};
};

/// Servers, and what can happen to them.
class deployment {
 public:
  virtual ~deployment() = default;
  [[nodiscard]] virtual std::string url(int worker) const = 0;
  [[nodiscard]] virtual std::vector<fault> faults() = 0;
  /// Those that run as processes of their own, in no order.
  [[nodiscard]] virtual std::vector<test::redis_server*> servers() { return {}; }
  /// After the last fault is over: all servers run, and nothing is in the way.
  virtual void heal() = 0;
  /// Called often.
  virtual void look() {}
  /// After all clients have ended: what of them is there after some time, and shouldn't be.
  [[nodiscard]] virtual std::string left_behind() { return {}; }
};

/// A kind of deployment.
struct terrain {
  std::string name{};
  std::string kinds{"all"};  ///< of locks: see worker_task
  /// How much longer than a lost message costs a lock may be free: a frozen waiter that is granted a lock
  /// keeps it for two seconds, and the machine is loaded.
  std::chrono::seconds slack{3};
  /// Whatever happens, it keeps what it acknowledges: then not even documented overlaps may come.
  bool keeps = false;
  /// Why it can't be had here; empty: it can.
  std::string lacking{};
  std::function<std::unique_ptr<deployment>()> make{};
};

/// All kinds there are.
[[nodiscard]] std::vector<terrain> all_terrains();

// Where they are made.
[[nodiscard]] std::vector<terrain> terrains_of_one_server();
[[nodiscard]] std::vector<terrain> terrains_of_several_servers();
[[nodiscard]] std::vector<terrain> terrains_of_etcd();

class crowd;
/// What can happen to its processes while they last; and what ends them.
[[nodiscard]] std::vector<fault> pauses_of(crowd& people);
[[nodiscard]] std::vector<fault> faults_of(crowd& people);

struct arena_result {
  std::string name{};
  std::map<std::string, std::int64_t> faults{};
  std::map<std::string, std::int64_t> done{};  ///< acquisitions by kind
  std::map<std::string, std::int64_t> other{};
  std::size_t lines = 0;
  std::size_t leases = 0;
  std::size_t waits = 0;
  std::size_t documented = 0;
  std::size_t violations = 0;
  std::vector<std::string> problems{};  ///< empty: all was kept
};

/// Takes a little longer than `time`. For a thread of its own. The folder has the histories afterwards.
[[nodiscard]] arena_result run_arena(terrain const& where, std::uint64_t seed, std::chrono::seconds time,
                                     std::filesystem::path const& folder);

}  // namespace holdfast::storm
