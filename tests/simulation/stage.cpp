#include "simulation/stage.hpp"

#include <algorithm>
#include <optional>

namespace holdfast::simulation {

using namespace std::chrono_literals;

stage::stage(std::uint64_t seed, network conditions)
    : world_{seed}, given_{std::move(conditions)}, network_{given_} {
  network_.fate_of = [this] {
    ++requests_;
    return calm_ || !given_.fate_of ? fate::answered : given_.fate_of();
  };
  network_.delay_of_message = [this]() -> std::optional<nanoseconds> {
    ++messages_;
    return calm_ || !given_.delay_of_message ? nanoseconds{0} : given_.delay_of_message();
  };
  world_.on_step([this] { judge_.check(); });
}

stage::~stage() {
  calm();
  for (auto const& process : processes_) process->end();  // lets events happen, also those of actors
  actors_.clear();
}

process& stage::add_process(client_options options) {
  processes_.push_back(std::make_unique<process>(world_, server_, network_, std::move(options)));
  return *processes_.back();
}

actor& stage::add_actor(process& host, habits behaviour) {
  if (auto const permits = behaviour.wanted.lock->permits; permits != 0)
    (void)server_.execute({"SET", behaviour.wanted.names.front(), std::to_string(permits)});
  actors_.push_back(std::make_unique<actor>(world_, judge_, host, std::move(behaviour)));
  return *actors_.back();
}

void stage::exit(process& host) {
  host.when_undisturbed([this, &host] {
    host.exit();
    for (auto const& actor : actors_) actor->bury();
  });
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
