#include "engine/acknowledgements.hpp"

#include <algorithm>
#include <new>
#include <optional>
#include <utility>

#include "resp/command.hpp"

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

void read_copies(resp::reply const& reply, acknowledgement& out) {
  if (reply.is_integer()) {
    out.replicas = reply.integer;
  } else if (reply.size() == 2 && reply[0].is_integer() && reply[1].is_integer()) {
    out.replicas = reply[1].integer;
    out.on_disk = reply[0].integer > 0;
  }
}

std::string advice_for_disks(std::string_view refusal) {
  if (refusal.find("unknown command") != std::string_view::npos)
    return "; lock_options::fsynced needs Redis 7.2 or later";
  if (refusal.find("appendonly") != std::string_view::npos)
    return "; lock_options::fsynced needs `appendonly yes` there";
  return {};
}

}  // namespace

bool acknowledgement::enough(lock_options const& wanted) const noexcept {
  return std::cmp_less_equal(wanted.replicas, replicas) && (!wanted.fsynced || on_disk);
}

std::shared_ptr<error const> explain_lack(acknowledgement const& reached, lock_options const& wanted,
                                          std::string const& title, std::string const& url) {
  std::string lack;
  if (wanted.fsynced) lack = reached.on_disk ? "on the server's disk" : "not on the server's disk";
  if (wanted.replicas > 0) {
    lack += (lack.empty() ? "" : " and ") + ("acknowledged by " + std::to_string(reached.replicas)) + " of " +
            std::to_string(wanted.replicas) + " replicas";
  }
  auto message = url + ": the lock " + title + " was " + lack + " within " +
                 std::to_string(reached.timeout.count()) + " ms, so it was given back; look at INFO " +
                 (wanted.fsynced ? "persistence and " : "") + "replication";
  if (!reached.refusal.empty())
    message += " (the server says: " + reached.refusal + advice_for_disks(reached.refusal) + ")";
  if (reached.no_reply) message += std::string{" ("} + reached.no_reply->what() + ")";
  return std::make_shared<error const>(errc::unreplicated, message);
}

/// One acquisition and its WAIT. Their replies may come in either order: a script that the server had
/// forgotten is sent again behind the WAIT, and then needs another WAIT.
struct acknowledgements::acquisition {
  int replicas;  ///< wanted
  bool fsynced;  ///< the same
  milliseconds timeout;
  scripting::send_options send;
  handler done;
  std::uint16_t slot;  ///< of its keys: WAIT goes to the same server
  bool counted_too_early = false;
  std::optional<answer<verdict>> acquired{};
};

void acknowledgements::acquire(recipe const& lock_recipe, std::string_view name,
                               acquire_request const& request, lock_options const& wanted,
                               scripting::send_options send, handler done) {
  send.role = net::connection_role::acknowledged;
  auto const pending =
      std::make_shared<acquisition>(acquisition{.replicas = wanted.replicas,
                                                .fsynced = wanted.fsynced,
                                                .timeout = time_to_acknowledge(wanted, client_.options),
                                                .send = send,
                                                .done = std::move(done),
                                                .slot = backend_.slot_of(lock_recipe.first_name(name))});
  backend_.acquire(
      lock_recipe, name, request,
      [this, pending](answer<verdict>&& result) { on_acquired(pending, std::move(result)); }, send);
  try {
    send_wait(pending);
  } catch (std::bad_alloc const&) {
    pending->counted_too_early = true;  // the WAIT follows when it is needed
  }
}

/// A grant counts only after the reply to WAIT.
void acknowledgements::on_acquired(std::shared_ptr<acquisition> const& pending,
                                   answer<verdict>&& result) noexcept {
  auto const* const found = result.outcome();
  if (found == nullptr || !std::holds_alternative<granted>(*found)) {
    pending->done(std::move(result), nullptr);
    return;
  }
  pending->acquired = std::move(result);
  if (!pending->counted_too_early) return;
  try {
    send_wait(pending);
  } catch (std::bad_alloc const&) {
    pending->done({.content = failed{.reason = client_.no_memory, .sent = true}}, nullptr);
  }
}

void acknowledgements::send_wait(std::shared_ptr<acquisition> const& pending) {
  std::string wait;
  auto const replicas = std::to_string(pending->replicas);
  auto const timeout = std::to_string(pending->timeout.count());
  if (pending->fsynced) {
    resp::append_command(wait, {"WAITAOF", "1", replicas, timeout});
  } else {
    resp::append_command(wait, {"WAIT", replicas, timeout});
  }
  longest_ = std::max(longest_, pending->timeout);
  ++open_;
  try {
    backend_.send({.bytes = std::move(wait),
                   .done =
                       [this, pending](net::response&& count) {
                         --open_;
                         if (pending->acquired) {
                           on_counted(*pending, std::move(count));
                         } else {
                           pending->counted_too_early = true;
                         }
                       },
                   .while_down = pending->send.while_down,
                   .give_up = pending->send.give_up,
                   .role = net::connection_role::acknowledged,
                   .slot = pending->slot});
  } catch (...) {
    --open_;
    throw;
  }
}

void acknowledgements::on_counted(acquisition& pending, net::response&& count) noexcept {
  acknowledgement reached{
      .of_disks = pending.fsynced,
      .elsewhere = count.resent || (!count.failure && count.connection_id != pending.acquired->connection_id),
      .timeout = pending.timeout};
  read_copies(count.reply, reached);
  if (count.reply.is_error()) reached.refusal = std::move(count.reply.text);
  reached.no_reply = std::move(count.failure);
  pending.done(std::move(*pending.acquired), &reached);
}

}  // namespace holdfast::engine
