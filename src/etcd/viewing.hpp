/// Reads the queues of locks, for those that look from outside.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "etcd/server.hpp"
#include "etcd/viewer.hpp"

namespace holdfast::etcd {

class viewing final : public viewer {
 public:
  /// An election was looked at: that key had the lock in that revision, or none. Revision 0: it isn't known.
  using looked =
      std::function<void(std::string const& name, std::string const& first, std::int64_t revision)>;

  viewing(server& to, std::string const& prefix, std::string const& uuid, std::string const& label,
          looked on_leader_read) noexcept
      : server_{to},
        prefix_{prefix},
        uuid_{uuid},
        label_{label},
        on_leader_read_{std::move(on_leader_read)} {}

  void look(std::vector<std::string> names, std::size_t queue_entries,
            handler<std::vector<lock_state>> done) override;
  void find_waiters(std::string const& name, std::size_t most,
                    handler<std::vector<std::string>> done) override;
  void find(std::string const& start, std::string const& from, handler<page> done) override;
  void read_leader(std::string const& name, handler<leading> done) override;
  void ask_holder(std::string const& name, hold_info const& holder, handler<bool> done) override;
  void take(std::string const& name, hold_info const& holder, handler<bool> done) override;
  void examine(handler<cluster_view> done) override;
  void try_rights(std::string const& start, handler<std::shared_ptr<error const>> done) override;

 private:
  struct look_under_way;

  [[nodiscard]] std::string key_of(std::string const& name, hold_info const& holder) const;
  void add_times(std::shared_ptr<look_under_way> const& whole);
  template <class Answer>
  [[nodiscard]] std::shared_ptr<error const> failure_of(response<Answer> const& answer) const;

  server& server_;
  std::string const& prefix_;
  std::string const& uuid_;
  std::string const& label_;
  looked on_leader_read_;
};

}  // namespace holdfast::etcd
