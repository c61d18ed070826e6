/// A deployment that has each key once, so that its response decides.
#pragma once

#include <memory>
#include <new>
#include <string>

#include "engine/lock_backend.hpp"

namespace holdfast::engine {

class single_backend final : public lock_backend {
 public:
  single_backend(std::unique_ptr<topology::deployment> deployment, std::shared_ptr<error const> reason)
      : lock_backend{std::move(reason)}, deployment_{std::move(deployment)} {}

  void acquire(recipe const& protocol, std::string_view name, acquire_request const& request, handler done,
               scripting::send_options send) override {
    run(protocol.acquire(name, request), std::move(done), send);
  }
  void release(recipe const& protocol, owned lease, release_policy policy, handler done,
               scripting::send_options send) override {
    run(protocol.release(lease, policy), std::move(done), send);
  }
  void abandon(recipe const& protocol, owned lease, release_policy policy, handler done,
               scripting::send_options send) override {
    run(protocol.abandon(lease, policy), std::move(done), send);
  }
  void renew(recipe const& protocol, milliseconds ttl, std::span<owned const> leases, renewal_handler done,
             scripting::send_options send) override {
    run(
        protocol.renew(ttl, leases),
        [this, read = protocol.read_renew, read_cut = protocol.read_cut,
         done = std::move(done)](net::response&& response) mutable {
          renewal_reply result{.response = std::move(response)};
          if (!result.response.failure && result.response.reply.is_array()) {
            try {
              result.others = read(result.response.reply);
              if (read_cut != nullptr) result.cut = read_cut(result.response.reply);
            } catch (std::bad_alloc const&) {
              result = {.response = {.failure = no_memory}};
            }
          }
          done(std::move(result));
        },
        send);
  }
  void set_ttl(recipe const& protocol, milliseconds ttl, owned lease, handler done,
               scripting::send_options send) override {
    run((protocol.set_ttl != nullptr ? protocol.set_ttl : protocol.renew)(ttl, {&lease, 1}), std::move(done),
        send);
  }
  void send(net::request request) override { deployment_->send(std::move(request)); }
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
  void listen(std::string const& channel, topology::channel_of owner,
              net::subscriber::listener& listener) override {
    deployment_->listen(channel, owner, listener);
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
