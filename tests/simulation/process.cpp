#include <thread>
#include <utility>

#include "net/deployment_url.hpp"
#include "simulation/play.hpp"

namespace holdfast::simulation {

using namespace std::chrono_literals;

process::process(world& shared_world, server& redis, network const& conditions, client_options options)
    : world_{shared_world},
      core_{std::make_shared<engine::core>(
          net::parse_deployment_url("redis://simulated"), std::move(options),
          [&](reactor::loop& loop, net::deployment_url const&, net::settings const& config, client_stats&,
              topology::events handlers) {
            auto made = std::make_unique<deployment>(loop, shared_world, redis, conditions, config,
                                                     std::move(handlers));
            connections_ = made.get();
            return made;
          })} {}

void process::when_undisturbed(std::function<void()> f) {
  if (busy_) {
    world_.after(1ms, [this, f = std::move(f)]() mutable { when_undisturbed(std::move(f)); });
    return;
  }
  busy_ = true;
  f();
  busy_ = false;
}

void process::end() {
  if (std::exchange(ended_, true)) return;
  world_.trace([this] { return "ends: " + core_->uuid(); });
  (void)core_->shut();
}

/// In the order in which exit() does it. The thread that ends the process is none of those that wait.
void process::exit() {
  if (ended_ || std::exchange(exiting_, true)) return;
  world_.trace([this] { return "exits: " + core_->uuid(); });
  std::thread{[this] { core_->begin_exit(); }}.join();
  core_->give_all_back();
  core_->await_given_back(world_.now());
  dead_ = true;
  connections_->shut(std::make_shared<error const>(errc::closed, "simulated: the process is over"));
}

}  // namespace holdfast::simulation
