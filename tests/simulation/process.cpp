#include <algorithm>
#include <thread>
#include <utility>

#include "net/deployment_url.hpp"
#include "simulation/play.hpp"

namespace holdfast::simulation {

using namespace std::chrono_literals;

namespace {

net::deployment_url url_of(servers const& all) {
  std::string hosts;
  for (auto const& each : all) hosts += (hosts.empty() ? "" : ",") + each->host();
  return net::parse_deployment_url((all.size() == 1 ? "redis://" : "redis+quorum://") + hosts);
}

}  // namespace

process::process(world& shared_world, servers& all, network const& conditions, client_options options)
    : world_{shared_world},
      servers_{all},
      core_{std::make_shared<engine::core>(
          url_of(all), std::move(options),
          [&](reactor::loop& loop, net::deployment_url const&, net::settings const& config, client_stats&,
              topology::events handlers) {
            auto const at =
                std::ranges::find(all, config.server.host, [](auto const& each) { return each->host(); });
            auto made = std::make_unique<deployment>(loop, shared_world, **at, conditions, config,
                                                     std::move(handlers));
            connections_.push_back(made.get());
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
  world_.trace([this] { return "ends: " + core_->constants().uuid; });
  for (auto const& each : servers_) each->note_end_of_client();
  (void)core_->shut();
}

/// In the order in which exit() does it. The thread that ends the process is none of those that wait.
void process::exit() {
  if (ended_ || std::exchange(exiting_, true)) return;
  world_.trace([this] { return "exits: " + core_->constants().uuid; });
  for (auto const& each : servers_) each->note_end_of_client();
  std::thread{[this] { core_->begin_exit(); }}.join();
  core_->give_all_back();
  core_->await_given_back(world_.now());
  dead_ = true;
  auto const over = std::make_shared<error const>(errc::closed, "simulated: the process is over");
  for (auto* const each : connections_) each->shut(over);
}

}  // namespace holdfast::simulation
