#include "simulation/stage.hpp"

#include <algorithm>

namespace holdfast::simulation {

using namespace std::chrono_literals;

stage::stage(std::uint64_t seed, network conditions)
    : world_{seed}, fate_of_{std::move(conditions.fate_of)}, network_{std::move(conditions)} {
  network_.fate_of = [this] {
    ++requests_;
    return calm_ || !fate_of_ ? fate::answered : fate_of_();
  };
  world_.on_step([this] { judge_.check(); });
}

stage::~stage() {
  calm();
  actors_.clear();
  for (auto const& process : processes_) process->end();
}

process& stage::add_process(client_options options) {
  processes_.push_back(std::make_unique<process>(world_, server_, network_, std::move(options)));
  return *processes_.back();
}

actor& stage::add_actor(process& host, habits behaviour) {
  actors_.push_back(std::make_unique<actor>(world_, judge_, host, std::move(behaviour)));
  return *actors_.back();
}

int stage::leases() const noexcept {
  auto count = 0;
  for (auto const& actor : actors_) count += actor->leases();
  return count;
}

std::vector<std::string> stage::play() {
  for (auto const& actor : actors_) actor->begin();
  auto const all_done = [this] {
    return std::ranges::all_of(actors_, [](auto const& actor) { return actor->done(); });
  };
  if (!world_.run(600s, all_done)) judge_.fail("some callers are never done");
  calm();
  (void)world_.run(5s, [] { return false; });
  for (auto const& process : processes_) process->end();
  judge_.check_end();
  return judge_.failures();
}

}  // namespace holdfast::simulation
