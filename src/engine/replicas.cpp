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

void core::ask_with_replicas(line& at, call const& what, net::patience while_down) {
  if (!acknowledged_) acknowledged_ = std::make_unique<net::connection>(loop_, settings_, stats_);
  auto const number = at.on_wire->number;
  auto const acquired = std::make_shared<std::optional<net::answer>>();
  scripting::run(*acknowledged_, what,
                 [this, pin = line_ptr{&at}, number, acquired](net::answer&& answer) {
                   auto const ours = !answer.failure && !answer.reply.is_error() &&
                                     std::holds_alternative<granted>(pin->how().read_acquire(answer.reply));
                   if (ours) {
                     *acquired = std::move(answer);  // WAIT has the last word
                   } else {
                     on_asked(*pin, number, std::move(answer));
                   }
                 },
                 {.while_down = while_down});
  auto const& options = at.waiters.front().how->options;
  std::string wait;
  resp::append_command(wait, {"WAIT", std::to_string(options.replicas),
                              std::to_string(time_to_acknowledge(options.ttl, options_).count())});
  acknowledged_->send({.bytes = std::move(wait),
                       .done =
                           [this, pin = line_ptr{&at}, number, acquired](net::answer&& count) {
                             if (*acquired) on_acknowledged(*pin, number, std::move(**acquired), count);
                           },
                       .while_down = while_down});
}

/// Those whom so many replicas are enough get the lock; the others hear why not.
void core::on_acknowledged(line& at, std::uint64_t number, net::answer&& acquired, net::answer const& count) {
  if (at.on_wire && at.on_wire->number == number) {
    auto const had = count.reply.is_integer() ? count.reply.integer : 0;
    for (auto next = at.waiters.begin(); next != at.waiters.end();) {
      auto& who = *next++;
      auto const& options = who.how->options;
      if (std::cmp_less_equal(options.replicas, had)) continue;
      auto why = url() + ": the lock \"" + at.name() + "\" was acknowledged by " + std::to_string(had) +
                 " of " + std::to_string(options.replicas) + " replicas within " +
                 std::to_string(time_to_acknowledge(options.ttl, options_).count()) +
                 " ms, so it was given back; look at INFO replication";
      if (count.reply.is_error()) why += " (the server says: " + count.reply.text + ")";
      if (count.failure) why += std::string{" ("} + count.failure->what() + ")";
      who.failure = std::make_shared<error const>(errc::unreplicated, why);
      finish(who);
    }
  }
  on_asked(at, number, std::move(acquired));  // nobody left: it is given back
}

}  // namespace holdfast::engine
