/// A deployment that has each key once, so that its response decides.
#pragma once

#include <memory>
#include <string>

#include "engine/lock_backend.hpp"
#include "engine/replies.hpp"

namespace holdfast::engine {

class deployment_backend final : public lock_backend {
 public:
  deployment_backend(std::unique_ptr<topology::deployment> deployment, std::shared_ptr<error const> reason)
      : lock_backend{std::move(reason)}, deployment_{std::move(deployment)} {}

  void acquire(recipe const& lock_recipe, std::string_view name, acquire_request const& request,
               handler<verdict> done, scripting::send_options send) override {
    if (request.fast) {
      deployment_->send(scripting::to_run(lock_recipe.fast_acquire(name, request),
                                          reading<replies::read_fast_acquire>(std::move(done)), send));
      return;
    }
    run(lock_recipe.acquire(name, request), reading<replies::read_acquire>(std::move(done)), send);
  }
  void release(recipe const& lock_recipe, owned lease, release_policy policy, handler<ownership> done,
               scripting::send_options send) override {
    if (policy.fast) {
      run(lock_recipe.fast_release(lease), reading<replies::read_fast_release>(std::move(done)), send);
      return;
    }
    run(lock_recipe.release(lease, policy), reading<replies::read_release>(std::move(done)), send);
  }
  void abandon(recipe const& lock_recipe, owned lease, release_policy policy, handler<abandoned> done,
               scripting::send_options send) override {
    run(lock_recipe.abandon(lease, policy), reading<replies::read_abandon>(std::move(done)), send);
  }
  void renew(recipe const& lock_recipe, milliseconds ttl, std::span<owned const> leases,
             handler<renewals> done, scripting::send_options send) override {
    run(lock_recipe.renew(ttl, leases), trying_to_read<replies::read_renew>(std::move(done)), send);
  }
  void set_ttl(recipe const& lock_recipe, milliseconds ttl, owned lease, handler<ownership> done,
               scripting::send_options send) override {
    run((lock_recipe.set_ttl != nullptr ? lock_recipe.set_ttl : lock_recipe.renew)(ttl, {&lease, 1}),
        reading<replies::read_set_ttl>(std::move(done)), send);
  }
  void send(net::request&& request) override { deployment_->send(std::move(request)); }
  [[nodiscard]] std::vector<std::string> masters() const override { return deployment_->masters(); }
  void send_to(std::string const& master, net::request request) override {
    deployment_->send_to(master, std::move(request));
  }

  [[nodiscard]] bool idle() const noexcept override { return deployment_->idle(); }
  [[nodiscard]] bool up() const noexcept override { return deployment_->up(); }
  [[nodiscard]] std::shared_ptr<error const> down_because() const noexcept override {
    return deployment_->down_because();
  }
  void shut(std::shared_ptr<error const> const& reason) override { deployment_->shut(reason); }
  void listen(std::string const& channel, topology::channel_of scope,
              net::subscriber::listener& listener) override {
    deployment_->listen(channel, scope, listener);
  }
  void forget(std::string_view channel) override { deployment_->forget(channel); }
  [[nodiscard]] std::uint16_t slot_of(std::string_view name) const noexcept override {
    return deployment_->slot_of(name);
  }
  [[nodiscard]] bool sharded() const noexcept override { return deployment_->sharded(); }

 private:
  std::unique_ptr<topology::deployment> deployment_;
};

}  // namespace holdfast::engine
