#include "engine/quorum/broadcast_command.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::engine {
namespace {

int weight(resp::reply const& what) noexcept {
  if (what.is_error() || what.is_nil()) return what.is_error() ? 1 : 2;
  return what.is_array() && what.size() == 0 ? 3 : 4;
}

}  // namespace

quorum::broadcast_command::broadcast_command(quorum& home, net::request what)
    : fan_out{home.on_, home.nodes_}, backend_{home}, request_{std::move(what)} {}

void quorum::broadcast_command::run() {
  for (std::size_t i = 0; i != masters(); ++i) {
    if (!node(i).present()) continue;
    fan_out::send({.who = i}, {.bytes = request_.bytes,
                               .done = {},
                               .in_full = request_.in_full,
                               .script = request_.script,
                               .while_down = request_.while_down,
                               .give_up = request_.give_up,
                               .key = request_.key,
                               .role = request_.role});
  }
  asked_ = true;
  conclude();
}

void quorum::broadcast_command::answered(question /*what*/, net::response&& how) {
  if (!how.failure) {
    ++answers_;
    if (answers_ == 1 || weight(how.reply) > weight(best_.reply)) best_ = std::move(how);
  }
  conclude();
}

void quorum::broadcast_command::give_up() noexcept {
  if (request_.done) std::exchange(request_.done, {})({.failure = backend_.no_memory});
}

void quorum::broadcast_command::conclude() {
  if (!asked_ || !request_.done) return;
  for (std::size_t i = 0; i != masters(); ++i) {
    if (pending(i)) return;
  }
  if (answers_ < backend_.majority()) best_ = {.failure = backend_.too_few()};
  std::exchange(request_.done, {})(std::move(best_));
}

}  // namespace holdfast::engine
