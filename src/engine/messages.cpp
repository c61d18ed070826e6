// Messages: wake-ups and grants, and the state of their channels.

#include <algorithm>

#include "engine/core.hpp"

namespace holdfast::engine {
namespace {

/// The least remaining ttl of a grant that is used without asking the server.
constexpr std::chrono::milliseconds grant_reserve{500};

}  // namespace

/// A process that may publish in the inbox of a lock may use that lock; its messages count for no other lock.
void core::on_turn(std::string const& channel, turn const& message) {
  auto const* const known = queues_.contending(message.number);
  if (known == nullptr) {
    if (notifications_.is_inbox(channel, message.name)) answer_for(message.number, message.name);
    return;
  }
  auto const& queue = *known;
  auto const own = notifications_.channels_of(queue, queue.contender->owner);
  if (std::ranges::find(own, channel) == own.end()) return;
  if (message.grant) {
    on_grant(message.number, *message.grant);
  } else {
    on_woken(message.number);
  }
}

void core::on_woken(std::uint64_t number) {
  auto* const known = queues_.contending(number);
  if (known == nullptr) return;
  auto& queue = *known;
  if (queue.contender->current == contender::state::waiting) {
    send_acquire(queue);
  } else {
    queue.contender->woken = true;
  }
}

void core::on_grant(std::uint64_t number, granted const& grant) {
  auto* const known = queues_.contending(number);
  if (known == nullptr) return;
  auto& queue = *known;
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
  auto const certain = client_.deployment.messages_trusted && queue.protocol().several == nullptr &&
                       !queue.waiters.empty() && !queue.waiters.front().options->acknowledged() &&
                       contender.asked_at != time_point{} && grant.token > contender.counter &&
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
  queues_.for_each_contending([this](lock_queue& queue) {
    if (queue.contender->current == contender::state::waiting) send_acquire(queue);
  });
}

/// The data of the server that answers from now on may be older than what was acknowledged. So lost leases
/// are found at once, and no contender waits for a message of the former server.
void core::on_moved(std::string const& server) {
  log_(log_level::info, [&] { return client_.url + ": served by " + server + " from now on"; });
  renewer_.ask_about_all();
  pending_releases_.repeat();
  ask_all_again();
}

/// The channels of a contender are open, perhaps again: earlier messages are lost, so it asks.
void core::on_open(std::uint64_t number) {
  auto* const known = queues_.contending(number);
  if (known == nullptr) return;
  known->contender->listening = true;
  on_woken(number);
}

}  // namespace holdfast::engine
