#include "engine/quorum/returned_votes.hpp"

#include <new>

#include "engine/failure.hpp"
#include "engine/release/pauses.hpp"
#include "script/runner.hpp"

namespace holdfast::engine {
namespace {

/// With the whole script. By its SHA-1 alone it would, if the master has forgotten it, be sent again behind
/// later requests, and then give back a later vote, which counts.
net::request in_full(net::request request) {
  request.bytes = request.in_full(request.bytes, request.script);
  request.in_full = nullptr;
  return request;
}

}  // namespace

void returned_votes::give_back(std::size_t master, std::uint64_t owner, call script, time_point until) {
  auto const vote =
      std::make_shared<returned_vote const>(returned_vote{master, owner, std::move(script), until});
  all_[{owner, master}] = vote;
  try {
    send(vote);
  } catch (...) {
    forget(master, owner);
    throw;
  }
}

void returned_votes::send(returned_vote_ptr const& vote) {
  nodes_[vote->master]->send(in_full(
      scripting::to_run(vote->script, [this, vote](net::response&& response) { on_response(vote, response); },
                        {.while_down = net::retry_policy::endless, .give_up = vote->until})));
}

void returned_votes::on_response(returned_vote_ptr const& vote, net::response const& response) noexcept {
  if (!is_wanted(vote)) return;
  auto const& reply = response.reply;
  auto const again =
      boot_clock::now() + (reply.is_error() && is_transient(reply.text) ? passing_pause : refused_pause);
  try {
    if (response.failure || !reply.is_error() || again >= vote->until) {
      forget(vote->master, vote->owner);
      return;
    }
    delayed_.add(again, [this, vote] {
      if (!is_wanted(vote)) return;
      try {
        send(vote);
      } catch (std::bad_alloc const&) {
        forget(vote->master, vote->owner);  // it ends with its ttl
      }
    });
  } catch (std::bad_alloc const&) {
    forget(vote->master, vote->owner);  // the same
  }
}

bool returned_votes::is_wanted(returned_vote_ptr const& vote) const noexcept {
  auto const known = all_.find({vote->owner, vote->master});
  return known != all_.end() && known->second == vote;
}

}  // namespace holdfast::engine
