/// The copies of a simulated server's data: its replicas and its disk, as far as WAIT and WAITAOF ask about
/// them.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <vector>

#include "resp/reply.hpp"
#include "simulation/world.hpp"

namespace holdfast::simulation {

/// How a replica, or the disk, follows the server.
struct lag {
  nanoseconds least{std::chrono::microseconds{100}};
  nanoseconds most{std::chrono::milliseconds{2}};
  int absences = 0;  ///< one write in so many is followed by an absence; 0: none
  nanoseconds longest_absence{std::chrono::seconds{2}};
};

/// Offsets count the writes of the server.
class replication {
 public:
  explicit replication(world& shared_world) : world_{shared_world}, disk_{{}} {}

  void add_replica(lag behaviour) { replicas_.emplace_back(behaviour); }
  void set_disk(lag behaviour) { disk_ = copy{behaviour}; }

  void on_write();
  /// The number of writes so far.
  [[nodiscard]] bool any() const noexcept { return !replicas_.empty(); }
  [[nodiscard]] std::uint64_t offset() const noexcept { return offset_; }
  /// The number of replicas that have the data as of that offset.
  [[nodiscard]] int replicas_at(std::uint64_t offset) const noexcept;
  [[nodiscard]] bool on_disk_at(std::uint64_t offset) const noexcept { return disk_.has >= offset; }

  /// Calls `done`, perhaps at once, when so many replicas, and the disk if that is asked for, have the data
  /// as of that offset, or at the end of `timeout`.
  struct wish {
    std::uint64_t offset = 0;
    int replicas = 0;
    bool disk = false;  ///< the reply is that to WAITAOF
    time_point end{};
    std::function<void(resp::reply const&)> done{};
  };
  void wait(wish request);

 private:
  struct copy {
    explicit copy(lag schedule) : behaviour{schedule} {}
    lag behaviour;
    std::uint64_t has = 0;
    time_point next{};  ///< not before that
  };
  void follow(copy& follower);
  [[nodiscard]] bool fulfilled(wish const& request) const noexcept;
  void serve();

  world& world_;
  std::uint64_t offset_ = 0;
  std::list<copy> replicas_{};  ///< their addresses stay
  copy disk_;
  std::vector<wish> wishes_{};
};

}  // namespace holdfast::simulation
