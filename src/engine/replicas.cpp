// Acquisitions that replicas, or disks, have to acknowledge: the script, and behind it on the same connection
// a WAIT or WAITAOF.

#include <algorithm>
#include <new>
#include <utility>

#include "engine/core.hpp"
#include "engine/failure.hpp"
#include "resp/command.hpp"
#include "script/runner.hpp"

namespace holdfast::engine {
namespace {

constexpr std::chrono::milliseconds longest_wait{1000};
/// A disk that is synced each second takes longer.
constexpr std::chrono::milliseconds longest_wait_for_disks{1500};

/// Long enough for a replica that is connected, short enough to leave most of the lease; and the reply comes
/// before the connection is taken for dead.
milliseconds time_to_acknowledge(lock_options const& lock, client_options const& options) {
  auto const longest = lock.fsynced ? longest_wait_for_disks : longest_wait;
  auto const before_silence = lock.fsynced ? options.reply_timeout * 3 / 4 : options.reply_timeout / 2;
  return std::max(std::min({lock.ttl / 4, longest, before_silence}), milliseconds{1});
}

/// The reply to WAIT or WAITAOF.
struct copies {
  std::int64_t replicas = 0;
  bool on_disk = false;  ///< of the server; `replicas` counts copies on disk then
};

copies read_copies(resp::reply const& reply) {
  if (reply.is_integer()) return {.replicas = reply.integer};
  if (reply.size() == 2 && reply[0].is_integer() && reply[1].is_integer())
    return {.replicas = reply[1].integer, .on_disk = reply[0].integer > 0};
  return {};
}

bool enough(copies const& reached, lock_options const& wanted) noexcept {
  return std::cmp_less_equal(wanted.replicas, reached.replicas) && (!wanted.fsynced || reached.on_disk);
}

std::string advice_for_disks(resp::reply const& refusal) {
  if (refusal.text.find("unknown command") != std::string::npos)
    return "; lock_options::fsynced needs Redis 7.2 or later";
  if (refusal.text.find("appendonly") != std::string::npos)
    return "; lock_options::fsynced needs `appendonly yes` there";
  return {};
}

/// `title`: the lock in messages to the user.
std::string explain_lack(std::string const& title, lock_options const& wanted, copies const& reached,
                         milliseconds timeout, net::response const& count) {
  std::string lack;
  if (wanted.fsynced) lack = reached.on_disk ? "on the server's disk" : "not on the server's disk";
  if (wanted.replicas > 0) {
    lack += (lack.empty() ? "" : " and ") + ("acknowledged by " + std::to_string(reached.replicas)) + " of " +
            std::to_string(wanted.replicas) + " replicas";
  }
  auto message = ": the lock " + title + " was " + lack + " within " + std::to_string(timeout.count()) +
                 " ms, so it was given back; look at INFO " + (wanted.fsynced ? "persistence and " : "") +
                 "replication";
  if (count.reply.is_error())
    message += " (the server says: " + count.reply.text + advice_for_disks(count.reply) + ")";
  if (count.failure) message += std::string{" ("} + count.failure->what() + ")";
  return message;
}

}  // namespace

/// One acquisition and its WAIT. Their replies may come in either order: a script that the server had
/// forgotten is sent again behind the WAIT, and then needs another WAIT.
struct core::acknowledgement {
  lock_queue_ptr queue;
  std::uint64_t number;
  lock_options wanted;  ///< by the first caller
  milliseconds timeout;
  net::retry_policy while_down;
  std::uint16_t slot = 0;  ///< of its keys: WAIT goes to the same server
  bool counted_too_early = false;
  std::optional<net::response> acquired{};
};

void core::ask_acknowledged(lock_queue& queue, acquire_request const& request, net::retry_policy while_down) {
  auto const& options = queue.waiters.front().options->options;
  auto const pending = std::make_shared<acknowledgement>(
      acknowledgement{.queue = lock_queue_ptr{&queue},
                      .number = queue.contender->number,
                      .wanted = options,
                      .timeout = time_to_acknowledge(options, client_.options),
                      .while_down = while_down});
  auto script = scripting::to_run(
      queue.protocol().acquire(queue.name(), request),
      [this, pending](net::response&& response) { on_acquired(pending, std::move(response)); },
      {.while_down = while_down});
  script.role = net::connection_role::acknowledged;
  pending->slot = backend_->slot_of(script.key_text());
  backend_->send(std::move(script));
  try {
    send_wait(pending);
  } catch (std::bad_alloc const&) {
    pending->counted_too_early = true;  // the WAIT follows when it is needed
  }
}

/// A grant counts only after the reply to WAIT.
void core::on_acquired(std::shared_ptr<acknowledgement> const& pending, net::response&& response) noexcept {
  try {
    auto const ours =
        !response.failure && !response.reply.is_error() &&
        std::holds_alternative<granted>(pending->queue->protocol().read_acquire(response.reply));
    if (ours) {
      pending->acquired = std::move(response);
      if (pending->counted_too_early) send_wait(pending);
      return;
    }
  } catch (std::bad_alloc const&) {
    response = {.failure = client_.no_memory, .sent = true};
  }
  on_acquire_reply(*pending->queue, pending->number, response);
}

void core::send_wait(std::shared_ptr<acknowledgement> const& pending) {
  std::string wait;
  auto const replicas = std::to_string(pending->wanted.replicas);
  auto const timeout = std::to_string(pending->timeout.count());
  if (pending->wanted.fsynced) {
    resp::append_command(wait, {"WAITAOF", "1", replicas, timeout});
  } else {
    resp::append_command(wait, {"WAIT", replicas, timeout});
  }
  acknowledging_.longest = std::max(acknowledging_.longest, pending->timeout);
  ++acknowledging_.open;
  try {
    backend_->send({.bytes = std::move(wait),
                    .done =
                        [this, pending](net::response&& count) {
                          --acknowledging_.open;
                          if (pending->acquired) {
                            on_acknowledged(*pending, count);
                          } else {
                            pending->counted_too_early = true;
                          }
                        },
                    .while_down = pending->while_down,
                    .role = net::connection_role::acknowledged,
                    .slot = pending->slot});
  } catch (...) {
    --acknowledging_.open;
    throw;
  }
}

/// Callers for which so many replicas are enough get the lock; the others fail with the reason.
void core::on_acknowledged(acknowledgement& pending, net::response const& count) noexcept {
  auto& queue = *pending.queue;
  lock_queue_ptr const pin{&queue};
  auto const wanted = is_contender(queue, pending.number);
  if (wanted) queue.contender->current = contender::state::waiting;
  // WAIT counts the writes of its own connection: over another connection than the acquisition's, perhaps to
  // a new master, it waits for nothing.
  auto const of_another =
      count.resent || (!count.failure && count.connection_id != pending.acquired->connection_id);
  if (wanted && of_another && !queue.waiters.empty()) {
    send_acquire(queue);
    return;
  }
  if (wanted) {
    auto const reached = read_copies(count.reply);
    for (auto next = queue.waiters.begin(); next != queue.waiters.end();) {
      auto& caller = *next++;
      auto const& options = caller.options->options;
      // Nothing is known of the disks when the WAIT didn't ask about them.
      if (enough(reached, options) || (options.fsynced && !pending.wanted.fsynced)) continue;
      try {
        caller.failure = std::make_shared<error const>(
            errc::unreplicated,
            client_.url + explain_lack(queue.title(), options, reached, pending.timeout, count));
      } catch (std::bad_alloc const&) {
        caller.failure = client_.no_memory;
      }
      finish(caller);
    }
    if (!queue.waiters.empty() && !enough(reached, queue.waiters.front().options->options)) {
      send_acquire(queue);  // as its owner, and with a WAIT for disks this time
      return;
    }
    queue.contender->acknowledged = true;
  }
  on_acquire_reply(queue, pending.number, *pending.acquired);  // without callers it is given back
}

}  // namespace holdfast::engine
