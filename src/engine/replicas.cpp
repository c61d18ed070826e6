// Acquisitions that replicas have to acknowledge: the script, and behind it on the same connection a WAIT.

#include <algorithm>
#include <utility>

#include "engine/core.hpp"
#include "engine/failure.hpp"
#include "resp/command.hpp"
#include "script/runner.hpp"

namespace holdfast::engine {
namespace {

constexpr std::chrono::milliseconds longest_wait{1000};

/// Long enough for a replica that is there, short enough to leave most of the lease; and an answer before the
/// connection is taken for dead.
milliseconds time_to_acknowledge(milliseconds ttl, client_options const& options) {
  return std::max(std::min({ttl / 4, longest_wait, options.reply_timeout / 2}), milliseconds{1});
}

}  // namespace

/// One acquisition and its WAIT, which may be answered in either order: a script that the server had
/// forgotten is sent again behind the WAIT, and then needs another one.
struct core::acknowledgement {
  line_ptr place;
  std::uint64_t number;
  milliseconds patience;
  int replicas;
  net::patience while_down;
  std::uint16_t slot = 0;  ///< of its keys: WAIT goes where they are
  bool counted_too_early = false;
  std::optional<net::answer> acquired{};
};

void core::ask_with_replicas(line& at, ask const& how, net::patience while_down) {
  auto const& options = at.waiters.front().how->options;
  auto const mine = std::make_shared<acknowledgement>(
      acknowledgement{.place = line_ptr{&at},
                      .number = at.on_wire->number,
                      .patience = time_to_acknowledge(options.ttl, options_),
                      .replicas = options.replicas,
                      .while_down = while_down});
  auto script = scripting::to_run(
      at.how().acquire(at.name(), how),
      [this, mine](net::answer&& answer) {
        auto const ours = !answer.failure && !answer.reply.is_error() &&
                          std::holds_alternative<granted>(mine->place->how().read_acquire(answer.reply));
        if (!ours) {
          on_asked(*mine->place, mine->number, std::move(answer));
          return;
        }
        mine->acquired = std::move(answer);  // WAIT has the last word
        if (mine->counted_too_early) send_wait(mine);
      },
      {.while_down = while_down});
  script.over = net::lane::acknowledged;
  mine->slot = servers_->slot_of(script.key_text());
  servers_->send(std::move(script));
  send_wait(mine);
}

void core::send_wait(std::shared_ptr<acknowledgement> const& mine) {
  std::string wait;
  resp::append_command(wait,
                       {"WAIT", std::to_string(mine->replicas), std::to_string(mine->patience.count())});
  servers_->send({.bytes = std::move(wait),
                  .done =
                      [this, mine](net::answer&& count) {
                        if (mine->acquired) {
                          on_acknowledged(*mine, count);
                        } else {
                          mine->counted_too_early = true;
                        }
                      },
                  .while_down = mine->while_down,
                  .over = net::lane::acknowledged,
                  .slot = mine->slot});
}

/// Those whom so many replicas are enough get the lock; the others hear why not.
void core::on_acknowledged(acknowledgement& what, net::answer const& count) {
  auto& at = *what.place;
  auto const wanted = at.on_wire && at.on_wire->number == what.number;
  // WAIT counts what its own connection has written: over another one than the acquisition's, to a new master
  // perhaps, it waits for nothing.
  auto const of_another = count.resent || (!count.failure && count.line != what.acquired->line);
  if (wanted && of_another && !at.waiters.empty()) {
    ask_for(at);
    return;
  }
  if (wanted) {
    auto const had = count.reply.is_integer() ? count.reply.integer : 0;
    for (auto next = at.waiters.begin(); next != at.waiters.end();) {
      auto& who = *next++;
      auto const& options = who.how->options;
      if (std::cmp_less_equal(options.replicas, had)) continue;
      auto why = url() + ": the lock " + at.title() + " was acknowledged by " + std::to_string(had) + " of " +
                 std::to_string(options.replicas) + " replicas within " +
                 std::to_string(what.patience.count()) +
                 " ms, so it was given back; look at INFO replication";
      if (count.reply.is_error()) why += " (the server says: " + count.reply.text + ")";
      if (count.failure) why += std::string{" ("} + count.failure->what() + ")";
      who.failure = std::make_shared<error const>(errc::unreplicated, why);
      finish(who);
    }
  }
  on_asked(at, what.number, std::move(*what.acquired));  // nobody left: it is given back
}

}  // namespace holdfast::engine
