#include "simulation/deployment.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::simulation {

deployment::deployment(reactor::loop& loop, world& shared_world, server& redis, network const& conditions,
                       net::settings const& config, topology::events handlers)
    : loop_{loop},
      world_{shared_world},
      server_{redis},
      network_{conditions},
      config_{config},
      events_{std::move(handlers)},
      usual_{loop,
             shared_world,
             redis,
             conditions,
             config,
             net::connection_role::usual,
             {.broken = [this] { on_broken(); }, .back = [this] { on_back(); }}} {
  world_.add(loop_);
}

deployment::~deployment() {
  *channels_ = 0;
  world_.remove(loop_);
  unsubscribe_all();
}

link& deployment::over(net::connection_role role) {
  if (role == net::connection_role::usual) return usual_;
  if (!acknowledged_) {
    acknowledged_ = std::make_unique<link>(loop_, world_, server_, network_, config_, role,
                                           link::events{.broken = events_.broken, .back = {}});
  }
  return *acknowledged_;
}

void deployment::send(net::request&& request) {
  auto const role = request.role;
  over(role).send(std::move(request));
}

void deployment::on_broken() {
  if (network_.breaks_subscriptions) {
    *channels_ = 0;
    unsubscribe_all();
  }
  if (events_.broken) events_.broken();
}

void deployment::on_back() {
  if (*channels_ != 0) return;
  *channels_ = ++last_channels_;
  last_message_ = {};
  for (auto const& [channel, listener] : listeners_) subscribe(channel);
}

void deployment::shut(std::shared_ptr<error const> const& reason) noexcept {
  *channels_ = 0;
  unsubscribe_all();
  listeners_.clear();
  usual_.shut(reason);
  over(net::connection_role::acknowledged).shut(reason);
}

void deployment::unsubscribe_all() noexcept {
  for (auto const& [channel, listener] : listeners_) server_.unsubscribe(channel, this);
}

void deployment::listen(std::string const& channel, topology::channel_of /*scope*/,
                        net::subscriber::listener& listener) {
  auto const added = listeners_.insert_or_assign(channel, &listener).second;
  if (added && *channels_ != 0) subscribe(channel);
}

void deployment::subscribe(std::string const& channel) {
  auto const deliver = [this, channel](nanoseconds delay, auto f) {
    last_message_ = std::max(last_message_, world_.now() + usual_.latency() + delay);
    later(last_message_, [this, channel, f] {
      if (auto const found = listeners_.find(channel); found != listeners_.end()) f(*found->second);
    });
  };
  later(world_.now() + usual_.latency(), [this, channel, deliver] {
    if (!listeners_.contains(channel)) return;
    server_.subscribe(channel, this, [this, deliver](std::string_view message) {
      std::optional<nanoseconds> const delay =
          network_.delay_of_message ? network_.delay_of_message() : nanoseconds{0};
      if (!server_.reachable()) return;
      world_.trace([&] { return "  message " + std::string{message} + (delay ? "" : " is lost"); });
      if (!delay) return;
      deliver(*delay, [text = std::string{message}](net::subscriber::listener& listener) {
        listener.on_message(text);
      });
    });
    deliver({}, [](net::subscriber::listener& listener) { listener.on_subscribed(); });
  });
}

void deployment::forget(std::string_view channel) noexcept {
  auto const found = listeners_.find(channel);
  if (found == listeners_.end()) return;
  server_.unsubscribe(found->first, this);
  listeners_.erase(found);
}

}  // namespace holdfast::simulation
