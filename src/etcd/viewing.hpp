/// Reads the queues of locks, for those that look from outside.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/client_constants.hpp"
#include "etcd/permit_position.hpp"
#include "etcd/server.hpp"
#include "etcd/viewer.hpp"

namespace holdfast::etcd {

class viewing final : public viewer {
 public:
  /// An election was looked at: that key had the lock in that revision, or none. Revision 0: it isn't known.
  /// Keys of one queue in a look without entries: enough to tell places from other keys, and readers that
  /// hold it from those that wait.
  static constexpr std::int64_t fewest_keys = 128;
  using looked =
      std::function<void(std::string const& name, std::string const& first, std::int64_t revision)>;

  viewing(server& to, std::string const& prefix, engine::client_constants const& client,
          latch_viewer& latches, fence_viewer& fences, barrier_viewer& barriers,
          looked on_leader_read) noexcept
      : server_{to},
        prefix_{prefix},
        client_{client},
        latches_{latches},
        fences_{fences},
        barriers_{barriers},
        on_leader_read_{std::move(on_leader_read)} {}

  void look(std::vector<std::string> names, std::size_t queue_entries,
            handler<std::vector<lock_state>> done) override;
  void feel(std::vector<std::string> const& names, handler<std::vector<pulse>> done) override;
  void find_times(std::set<std::string> const& of, handler<lease_times> done) override;
  void find_waiters(std::string const& name, std::size_t most,
                    handler<std::vector<std::string>> done) override;
  void find(std::string const& start, std::string const& from, handler<page> done) override;
  void read_leader(std::string const& name, handler<leading> done) override;
  void ask_holder(std::string const& name, hold_info const& holder, handler<bool> done) override;
  void take(std::string const& name, hold_info const& holder, handler<bool> done) override;
  void count_permits(std::string const& name, handler<permit_counts> done) override;
  void resize_permits(std::string const& name, resizing how, std::int64_t number, std::int64_t offered,
                      handler<bool> done) override;
  void give_back_permits(std::string const& name, std::string const& owner, handler<bool> done) override;
  [[nodiscard]] latch_viewer& of_latches() noexcept override { return latches_; }
  [[nodiscard]] fence_viewer& of_fences() noexcept override { return fences_; }
  [[nodiscard]] barrier_viewer& of_barriers() noexcept override { return barriers_; }
  void examine(handler<cluster_view> done) override;
  void try_rights(std::string const& start, handler<std::shared_ptr<error const>> done) override;

 private:
  struct resize_under_way;

  /// `found` gets the key of that holder; empty: it isn't there any more.
  void find_key(std::string const& name, hold_info const& holder,
                std::function<void(std::shared_ptr<error const>, std::string)> found);
  /// The permits of that name, or why there are none.
  void survey(std::string const& name, bool with_values,
              std::function<void(std::shared_ptr<error const>, permit_queue, std::int64_t revision)> done);
  void resize(std::shared_ptr<resize_under_way> const& asked);
  [[nodiscard]] std::shared_ptr<error const> unknown(resize_under_way const& asked) const;
  void ask_owner_of(std::string const& key, std::int64_t lease, std::int64_t token,
                    handler<bool> const& done);
  void remove_made_in(std::string const& key, std::int64_t revision, handler<bool> const& done);
  void add_times(std::vector<lock_state> states, handler<std::vector<lock_state>> done);

  server& server_;
  std::string const& prefix_;
  engine::client_constants const& client_;
  latch_viewer& latches_;
  fence_viewer& fences_;
  barrier_viewer& barriers_;
  looked on_leader_read_;
  std::uint64_t resizes_ = 0;  ///< whoever sets a number of permits says which request it was
};

}  // namespace holdfast::etcd
