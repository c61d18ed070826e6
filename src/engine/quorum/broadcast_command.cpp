#include "engine/quorum/broadcast_command.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::engine {
namespace {

/// How much the reply tells.
int weight(resp::reply const& reply) noexcept {
  if (reply.is_error() || reply.is_nil()) return reply.is_error() ? 1 : 2;
  return reply.is_array() && reply.size() == 0 ? 3 : 4;
}

}  // namespace

broadcast_command::broadcast_command(quorum_masters& quorum, net::request request)
    : fan_out{quorum.loop(), quorum.nodes()}, quorum_{quorum}, request_{std::move(request)} {}

void broadcast_command::run() {
  for (std::size_t i = 0; i != masters(); ++i) {
    if (!node(i).present()) continue;
    fan_out::send({.master = i}, {.bytes = request_.bytes,
                                  .done = {},
                                  .in_full = request_.in_full,
                                  .script = request_.script,
                                  .while_down = request_.while_down,
                                  .give_up = request_.give_up,
                                  .key = request_.key,
                                  .arguments = request_.arguments,
                                  .role = request_.role});
  }
  asked_ = true;
  conclude();
}

void broadcast_command::answered(question /*asked*/, net::response&& response) {
  if (!response.failure) {
    ++answers_;
    if (answers_ == 1 || weight(response.reply) > weight(best_.reply)) best_ = std::move(response);
  }
  conclude();
}

void broadcast_command::give_up() noexcept {
  if (request_.done) std::exchange(request_.done, {})({.failure = quorum_.no_memory()});
}

void broadcast_command::conclude() {
  if (!asked_ || !request_.done) return;
  for (std::size_t i = 0; i != masters(); ++i) {
    if (pending(i)) return;
  }
  if (answers_ < quorum_.majority()) best_ = {.failure = quorum_.too_few()};
  std::exchange(request_.done, {})(std::move(best_));
}

}  // namespace holdfast::engine
