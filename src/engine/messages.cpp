// Messages: wake-ups and grants, and the state of their channels.

#include <algorithm>

#include "engine/core.hpp"
#include "script/names.hpp"

namespace holdfast::engine {
namespace {

/// The least remaining ttl of a grant that is used without asking the server.
constexpr std::chrono::milliseconds grant_reserve{500};

}  // namespace

/// A process that may publish in the inbox of a lock may use that lock; its messages count for no other lock.
void core::on_turn(std::string const& channel, std::string_view message) {
  auto const turn = read_turn(message);
  if (!turn) return;
  auto const known = contenders_.find(turn->number);
  if (known == contenders_.end()) {
    if (channel == names::inbox(client_.uuid, turn->name)) answer_for(turn->number, turn->name);
    return;
  }
  auto const& queue = *known->second;
  auto const own = channels_of(queue, queue.contender->owner);
  if (std::ranges::find(own, channel) == own.end()) return;
  if (turn->grant) {
    on_grant(turn->number, *turn->grant);
  } else {
    on_woken(turn->number);
  }
}

void core::on_woken(std::uint64_t number) {
  auto const known = contenders_.find(number);
  if (known == contenders_.end()) return;
  auto& queue = *known->second;
  if (queue.contender->current == contender::state::waiting) {
    send_acquire(queue);
  } else {
    queue.contender->woken = true;
  }
}

void core::on_grant(std::uint64_t number, granted const& grant) {
  auto const known = contenders_.find(number);
  if (known == contenders_.end()) return;
  auto& queue = *known->second;
  auto& contender = *queue.contender;
  if (contender.current == contender::state::leaving) return;  // the request under way finds the lock ours
  // A grant that is newer than the last busy reply was made after that request was sent, so its ttl counts
  // from there at the earliest. An older grant, whose message was held up, may have ended long ago: then only
  // asking the server decides. Where replicas have to acknowledge, only a request makes them do so.
  // Of several names this grant is for one; of several masters it is one vote. Where a replica may take over,
  // the grant may come from a former master that is a replica by now: messages are replicated, and the
  // master, which counts its own subscribers, has gone on to the next waiter.
  // A request under way finds the lock ours, and sets its own ttl, which may be the shorter one.
  auto const asking = contender.current == contender::state::asking;
  auto const ttl = asking ? std::min(grant_ttl, contender.ttl) : grant_ttl;
  auto const one_server = url_.deployment == net::deployment_url::kind::single;
  auto const certain = one_server && queue.protocol().several == nullptr && !queue.waiters.empty() &&
                       !queue.waiters.front().options->acknowledged() && contender.asked_at != time_point{} &&
                       grant.token > contender.counter &&
                       deadline_of(contender.asked_at, ttl) > boot_clock::now() + grant_reserve;
  if (!certain) {
    on_woken(number);
    return;
  }
  ++stats_.granted;
  on_granted(queue, grant, contender.asked_at, ttl);
}

/// Earlier messages are lost, or came from a server that doesn't count any more: all contenders ask.
void core::ask_all_again() noexcept {
  for (auto next = contenders_.begin(); next != contenders_.end();) {
    lock_queue_ptr const queue{(next++)->second};
    if (queue->contender && queue->contender->current == contender::state::waiting) send_acquire(*queue);
  }
}

/// The data of the server that answers from now on may be older than what was acknowledged. So lost leases
/// are found at once, and no contender waits for a message of the former server.
void core::on_moved(std::string const& server) {
  log_(log_level::info, [&] { return client_.url + ": served by " + server + " from now on"; });
  renewer_.ask_about_all();
  repeat_releases();
  ask_all_again();
}

/// The channels of a contender are open, perhaps again: earlier messages are lost, so it asks.
void core::on_open(std::uint64_t number) {
  auto const known = contenders_.find(number);
  if (known == contenders_.end()) return;
  known->second->contender->listening = true;
  on_woken(number);
}

void core::on_turns_refused(std::string const& channel, std::string const& text) {
  auto const of_all = channel.substr(0, channel.size() - client_.uuid.size()) + "*";
  fall_back_to_polling(no_inbox_, "the inbox channel " + of_all, "&" + of_all, text);
}

void core::on_channel_refused(std::string const& channel, std::string const& text) {
  fall_back_to_polling(no_broadcast_, "the channel " + channel, "&redisson_*", text);
}

/// Waiters that don't insist on messages ask again and again from now on.
void core::fall_back_to_polling(std::shared_ptr<error const>& refusal, std::string const& channel,
                                std::string const& pattern, std::string const& text) {
  auto const rights = pattern + (backend_->sharded() ? " and +ssubscribe +subscribe" : " and +subscribe");
  refusal = std::make_shared<error const>(errc::unauthorized, client_.url + ": the server refuses " +
                                                                  channel + ": " + text + "; grant " +
                                                                  rights + ", or use wake::automatic");
  if (client_.options.wake != wake::inbox) {
    log_(log_level::warning, [&] {
      return client_.url + ": the server refuses " + channel + " (" + text +
             "), so waiting is by polling; grant " + rights + " to be woken instead";
    });
  }
  ask_all_again();
}

}  // namespace holdfast::engine
