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
/// A disk that is synced each second takes longer than that.
constexpr std::chrono::milliseconds longest_wait_for_disks{1500};

/// Long enough for a replica that is there, short enough to leave most of the lease; and an answer before the
/// connection is taken for dead.
milliseconds time_to_acknowledge(lock_options const& lock, client_options const& options) {
  auto const longest = lock.fsynced ? longest_wait_for_disks : longest_wait;
  auto const before_silence = lock.fsynced ? options.reply_timeout * 3 / 4 : options.reply_timeout / 2;
  return std::max(std::min({lock.ttl / 4, longest, before_silence}), milliseconds{1});
}

/// What WAIT or WAITAOF says.
struct copies {
  std::int64_t replicas = 0;
  bool on_disk = false;  ///< here, and the replicas' are on theirs
};

copies read_copies(resp::reply const& from) {
  if (from.is_integer()) return {.replicas = from.integer};
  if (from.size() == 2 && from[0].is_integer() && from[1].is_integer())
    return {.replicas = from[1].integer, .on_disk = from[0].integer > 0};
  return {};
}

bool enough(copies const& had, lock_options const& wanted) noexcept {
  return std::cmp_less_equal(wanted.replicas, had.replicas) && (!wanted.fsynced || had.on_disk);
}

std::string advice_for_disks(resp::reply const& refusal) {
  if (refusal.text.find("unknown command") != std::string::npos)
    return "; lock_options::fsynced needs Redis 7.2 or later";
  if (refusal.text.find("appendonly") != std::string::npos)
    return "; lock_options::fsynced needs `appendonly yes` there";
  return {};
}

/// `title` as messages call the lock.
std::string explain_lack(std::string const& title, lock_options const& wanted, copies const& had,
                         milliseconds patience, net::response const& count) {
  std::string lack;
  if (wanted.fsynced) lack = had.on_disk ? "on the server's disk" : "not on the server's disk";
  if (wanted.replicas > 0) {
    lack += (lack.empty() ? "" : " and ") + ("acknowledged by " + std::to_string(had.replicas)) + " of " +
            std::to_string(wanted.replicas) + " replicas";
  }
  auto why = ": the lock " + title + " was " + lack + " within " + std::to_string(patience.count()) +
             " ms, so it was given back; look at INFO " + (wanted.fsynced ? "persistence and " : "") +
             "replication";
  if (count.reply.is_error())
    why += " (the server says: " + count.reply.text + advice_for_disks(count.reply) + ")";
  if (count.failure) why += std::string{" ("} + count.failure->what() + ")";
  return why;
}

}  // namespace

/// One acquisition and its WAIT, which may be answered in either order: a script that the server had
/// forgotten is sent again behind the WAIT, and then needs another one.
struct core::acknowledgement {
  lock_queue_ptr place;
  std::uint64_t number;
  lock_options wanted;  ///< by the first in line
  milliseconds patience;
  net::retry_policy while_down;
  std::uint16_t slot = 0;  ///< of its keys: WAIT goes where they are
  bool counted_too_early = false;
  std::optional<net::response> acquired{};
};

void core::ask_acknowledged(lock_queue& at, acquire_request const& how, net::retry_policy while_down) {
  auto const& options = at.waiters.front().options->options;
  auto const mine =
      std::make_shared<acknowledgement>(acknowledgement{.place = lock_queue_ptr{&at},
                                                        .number = at.contender->number,
                                                        .wanted = options,
                                                        .patience = time_to_acknowledge(options, options_),
                                                        .while_down = while_down});
  auto script =
      scripting::to_run(at.protocol().acquire(at.name(), how),
                        [this, mine](net::response&& answer) { on_acquired(mine, std::move(answer)); },
                        {.while_down = while_down});
  script.role = net::connection_role::acknowledged;
  mine->slot = servers_->slot_of(script.key_text());
  servers_->send(std::move(script));
  try {
    send_wait(mine);
  } catch (std::bad_alloc const&) {
    mine->counted_too_early = true;  // it follows when it is needed
  }
}

/// WAIT has the last word about what is granted.
void core::on_acquired(std::shared_ptr<acknowledgement> const& mine, net::response&& answer) noexcept {
  try {
    auto const ours = !answer.failure && !answer.reply.is_error() &&
                      std::holds_alternative<granted>(mine->place->protocol().read_acquire(answer.reply));
    if (ours) {
      mine->acquired = std::move(answer);
      if (mine->counted_too_early) send_wait(mine);
      return;
    }
  } catch (std::bad_alloc const&) {
    answer = {.failure = no_memory_, .sent = true};
  }
  on_acquire_reply(*mine->place, mine->number, answer);
}

void core::send_wait(std::shared_ptr<acknowledgement> const& mine) {
  std::string wait;
  auto const replicas = std::to_string(mine->wanted.replicas);
  auto const patience = std::to_string(mine->patience.count());
  if (mine->wanted.fsynced) {
    resp::append_command(wait, {"WAITAOF", "1", replicas, patience});
  } else {
    resp::append_command(wait, {"WAIT", replicas, patience});
  }
  acknowledging_.longest = std::max(acknowledging_.longest, mine->patience);
  ++acknowledging_.open;
  try {
    servers_->send({.bytes = std::move(wait),
                    .done =
                        [this, mine](net::response&& count) {
                          --acknowledging_.open;
                          if (mine->acquired) {
                            on_acknowledged(*mine, count);
                          } else {
                            mine->counted_too_early = true;
                          }
                        },
                    .while_down = mine->while_down,
                    .role = net::connection_role::acknowledged,
                    .slot = mine->slot});
  } catch (...) {
    --acknowledging_.open;
    throw;
  }
}

/// Those whom so many replicas are enough get the lock; the others hear why not.
void core::on_acknowledged(acknowledgement& what, net::response const& count) noexcept {
  auto& at = *what.place;
  lock_queue_ptr const pin{&at};
  auto const wanted = is_contender(at, what.number);
  if (wanted) at.contender->current = contender::state::waiting;
  // WAIT counts what its own connection has written: over another one than the acquisition's, to a new master
  // perhaps, it waits for nothing.
  auto const of_another =
      count.resent || (!count.failure && count.connection_id != what.acquired->connection_id);
  if (wanted && of_another && !at.waiters.empty()) {
    send_acquire(at);
    return;
  }
  if (wanted) {
    auto const had = read_copies(count.reply);
    for (auto next = at.waiters.begin(); next != at.waiters.end();) {
      auto& who = *next++;
      auto const& options = who.options->options;
      // Of disks nothing is known when none was asked about.
      if (enough(had, options) || (options.fsynced && !what.wanted.fsynced)) continue;
      try {
        who.failure = std::make_shared<error const>(
            errc::unreplicated, url() + explain_lack(at.title(), options, had, what.patience, count));
      } catch (std::bad_alloc const&) {
        who.failure = no_memory_;
      }
      finish(who);
    }
    if (!at.waiters.empty() && !enough(had, at.waiters.front().options->options)) {
      send_acquire(at);  // as its owner, and about disks this time
      return;
    }
    at.contender->acknowledged = true;
  }
  on_acquire_reply(at, what.number, *what.acquired);  // nobody left: it is given back
}

}  // namespace holdfast::engine
