/// A deployment that has each key once: its answer is the answer.
#pragma once

#include <memory>
#include <new>
#include <string>

#include "engine/lock_backend.hpp"

namespace holdfast::engine {

class single_backend final : public lock_backend {
 public:
  single_backend(std::unique_ptr<topology::deployment> which, std::shared_ptr<error const> why_nothing)
      : lock_backend{std::move(why_nothing)}, which_{std::move(which)} {}

  void acquire(recipe const& how, std::string_view name, acquire_request const& what, handler done,
               scripting::send_options patience) override {
    run(how.acquire(name, what), std::move(done), patience);
  }
  void release(recipe const& how, owned what, release_policy terms, handler done,
               scripting::send_options patience) override {
    run(how.release(what, terms), std::move(done), patience);
  }
  void abandon(recipe const& how, owned what, release_policy terms,
               scripting::send_options patience) override {
    run(how.abandon(what, terms), {}, patience);
  }
  void renew(recipe const& how, milliseconds ttl, std::span<owned const> leases, renewal_handler done,
             scripting::send_options patience) override {
    run(
        how.renew(ttl, leases),
        [this, read = how.read_renew, read_cut = how.read_cut,
         done = std::move(done)](net::response&& answer) mutable {
          renewal_reply result{.response = std::move(answer)};
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
        patience);
  }
  void set_ttl(recipe const& how, milliseconds ttl, owned what, handler done,
               scripting::send_options patience) override {
    run((how.set_ttl != nullptr ? how.set_ttl : how.renew)(ttl, {&what, 1}), std::move(done), patience);
  }
  void send(net::request what) override { which_->send(std::move(what)); }
  [[nodiscard]] std::vector<std::string> masters() const override { return which_->masters(); }
  void send_to(std::string const& master, net::request what) override {
    which_->send_to(master, std::move(what));
  }

  [[nodiscard]] bool idle() const noexcept override { return which_->idle(); }
  [[nodiscard]] bool up() const noexcept override { return which_->up(); }
  [[nodiscard]] std::shared_ptr<error const> down_because() const noexcept override {
    return which_->down_because();
  }
  void shut(std::shared_ptr<error const> const& why) override { which_->shut(why); }
  void listen(std::string const& channel, topology::channel_of whose,
              net::subscriber::listener& who) override {
    which_->listen(channel, whose, who);
  }
  void forget(std::string_view channel) override { which_->forget(channel); }
  [[nodiscard]] std::uint16_t slot_of(std::string_view name) const noexcept override {
    return which_->slot_of(name);
  }
  [[nodiscard]] bool sharded() const noexcept override { return which_->sharded(); }

 private:
  std::unique_ptr<topology::deployment> which_;
};

}  // namespace holdfast::engine
