#include "simulation/server.hpp"

#include <cstdlib>

namespace holdfast::simulation {

void server::wait(command const& words, std::uint64_t written, std::function<void(resp::reply const&)> done) {
  auto const disk = words.front() == "WAITAOF";
  auto const& replicas = words[disk ? 2 : 1];
  copies_.wait(
      {.offset = written,
       .replicas = static_cast<int>(std::strtol(replicas.c_str(), nullptr, 10)),
       .disk = disk,
       .end = world_.now() + std::chrono::milliseconds{std::strtol(words.back().c_str(), nullptr, 10)},
       .done = std::move(done)});
}

}  // namespace holdfast::simulation
