#include "switch_listener.hpp"

#include <fmt/format.h>
#include <hiredis/hiredis.h>
#include <poll.h>

#include <stdexcept>

namespace holdfast::bench {
namespace {

/// Only that channel is subscribed, so whatever comes is the announcement.
bool announces(redisContext* line) {
  if (redisBufferRead(line) != REDIS_OK) throw std::runtime_error{"a sentinel closed the connection"};
  void* message = nullptr;
  redisGetReplyFromReader(line, &message);
  bool const complete = message != nullptr;
  freeReplyObject(message);
  return complete;
}

}  // namespace

void switch_listener::close::operator()(redisContext* context) const noexcept { redisFree(context); }

switch_listener::switch_listener(std::vector<int> const& sentinel_ports) {
  for (int const port : sentinel_ports) {
    auto& line = lines_.emplace_back(redisConnect("127.0.0.1", port));
    auto* const confirmed = redisCommand(line.get(), "SUBSCRIBE +switch-master");
    if (confirmed == nullptr) throw std::runtime_error{fmt::format("no sentinel on port {}", port)};
    freeReplyObject(confirmed);
  }
}

bool switch_listener::hears(std::chrono::milliseconds within) {
  std::vector<pollfd> sockets;
  sockets.reserve(lines_.size());
  for (auto const& line : lines_) sockets.push_back({line->fd, POLLIN, 0});
  if (poll(sockets.data(), sockets.size(), static_cast<int>(within.count())) <= 0) return false;
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    if (sockets[i].revents != 0 && announces(lines_[i].get())) return true;
  }
  return false;
}

}  // namespace holdfast::bench
