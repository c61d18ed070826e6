/// Votes that are given back by an owner that may ask for them again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "engine/delayed_calls.hpp"
#include "engine/quorum/fan_out.hpp"
#include "script/call.hpp"

namespace holdfast::engine {

/// Sent again while the master refuses: a vote that stayed there would keep others waiting. All under the
/// client's lock.
class returned_votes {
 public:
  returned_votes(quorum_nodes& nodes, delayed_calls& delayed) noexcept : nodes_{nodes}, delayed_{delayed} {}

  /// Not sent again after `until`, nor after forget(). Throws std::bad_alloc, and then has no effect.
  void give_back(std::size_t master, std::uint64_t owner, call script, time_point until);
  /// The owner asks that master again, or its vote may count from now on.
  void forget(std::size_t master, std::uint64_t owner) noexcept { all_.erase({owner, master}); }

 private:
  struct returned_vote {
    std::size_t master;
    std::uint64_t owner;
    call script;
    time_point until;
  };
  using returned_vote_ptr = std::shared_ptr<returned_vote const>;

  void send(returned_vote_ptr const& vote);
  void on_response(returned_vote_ptr const& vote, net::response const& response) noexcept;
  [[nodiscard]] bool is_wanted(returned_vote_ptr const& vote) const noexcept;

  quorum_nodes& nodes_;
  delayed_calls& delayed_;
  /// By owner and master: the owner's last request to the master, until it is answered.
  std::map<std::pair<std::uint64_t, std::size_t>, returned_vote_ptr> all_;
};

}  // namespace holdfast::engine
