#include "etcd/backend.hpp"

#include <utility>

#include "resp/make_reply.hpp"

namespace holdfast::etcd {
namespace {

constexpr std::string_view ping{"*1\r\n$4\r\nPING\r\n"};

bool is_barrier(engine::recipe const& lock_recipe) noexcept {
  return lock_recipe.kind == history::kind::barrier;
}

}  // namespace

backend::backend(reactor::loop& loop, engine::client_constants const& client, client_stats& counts,
                 std::string prefix, settings const& to, topology::events handlers)
    : lock_backend{client.no_memory},
      prefix_{std::move(prefix)},
      events_{std::move(handlers)},
      mail_{std::make_shared<mailbox>(loop)},
      channel_{open(to, events_for_client(), client.url)},
      server_{loop, client, counts, prefix_, mail_, *channel_},
      leases_{loop, server_, *channel_, mail_, [this](lease_ptr const& gone) { on_lease_over(gone); }},
      listeners_{client.uuid},
      watching_{loop, *channel_, listeners_, [this] { ask_about_leases(); }},
      places_{client, prefix_, leases_, watching_, listeners_},
      releasing_{places_, watching_, leases_, server_, *mail_},
      holding_{loop, places_, watching_, releasing_, server_, *mail_},
      acquiring_{client, prefix_, places_, watching_, leases_, releasing_, holding_, server_},
      passing_{prefix_, places_, leases_, acquiring_, server_, *mail_},
      renewing_{loop, places_, leases_, watching_, holding_, server_, *mail_},
      observing_{loop, *channel_, listeners_, watching_, prefix_},
      latching_{client, prefix_, places_, watching_, server_, *channel_},
      fencing_{client, prefix_, server_, *channel_},
      meeting_{client, prefix_, places_, watching_, leases_, server_, *channel_, *mail_},
      viewing_{server_,
               prefix_,
               client,
               latching_,
               fencing_,
               meeting_,
               [this](std::string const& name, std::string const& first, std::int64_t revision) {
                 observing_.observe(name, first, revision);
               }} {}

backend::~backend() { mail_->close(); }

/// They come from threads of the channel.
channel_events backend::events_for_client() {
  return {.alive =
              [this, mail = mail_](std::int64_t lease, std::uint64_t number, std::chrono::seconds ttl,
                                   std::uint64_t term) {
                mail->put([this, lease, number, ttl, term] { leases_.on_alive(lease, number, ttl, term); });
              },
          .keep_alive_broken =
              [this, mail = mail_](status const& /*ended*/) { mail->put([this] { leases_.on_broken(); }); },
          .deleted =
              [this, mail = mail_](std::uint64_t watch) {
                mail->put([this, watch] {
                  if (!observing_.on_deleted(watch)) watching_.on_deleted(watch);
                });
              },
          .changed =
              [this, mail = mail_](std::uint64_t watch) {
                mail->put([this, watch] {
                  if (!observing_.on_changed(watch)) watching_.on_changed(watch);
                });
              },
          .watch_over =
              [this, mail = mail_](std::uint64_t watch) {
                mail->put([this, watch] {
                  if (!observing_.on_over(watch)) watching_.on_over(watch);
                });
              }};
}

void backend::shut(std::shared_ptr<error const> const& reason) {
  listeners_.clear();
  server_.refuse(reason);
  leases_.stop();
  server_.fail_all();
  mail_->close();
  places_.stop();
  watching_.stop();
  observing_.stop();
}

/// Holders hear of it by their next renewal, which follows at once.
void backend::ask_about_leases() {
  if (events_.broken) events_.broken();
}

void backend::on_lease_over(lease_ptr const& gone) {
  places_.on_lease_over(gone);
  ask_about_leases();
}

void backend::acquire(engine::recipe const& lock_recipe, std::string_view name,
                      engine::acquire_request const& request, handler<engine::verdict> done,
                      scripting::send_options send) {
  if (lock_recipe.sharing == engine::sharing::open_to_all) {
    latching_.wait(lock_recipe, name, request, std::move(done), send);
  } else if (is_barrier(lock_recipe)) {
    meeting_.arrive(lock_recipe, name, request, std::move(done), send);
  } else {
    acquiring_.acquire(lock_recipe, name, request, std::move(done), send);
  }
}

void backend::release(engine::recipe const& /*lock_recipe*/, engine::owned lease,
                      engine::release_policy /*policy*/, handler<engine::ownership> done,
                      scripting::send_options send) {
  releasing_.release(lease, std::move(done), send);
}

void backend::abandon(engine::recipe const& lock_recipe, engine::owned lease, engine::release_policy policy,
                      handler<engine::abandoned> done, scripting::send_options send) {
  if (is_barrier(lock_recipe)) {
    meeting_.leave(lease, policy.why, std::move(done), send);
  } else {
    releasing_.abandon(lease, std::move(done), send);
  }
}

void backend::renew(engine::recipe const& /*lock_recipe*/, milliseconds ttl,
                    std::span<engine::owned const> leases, handler<engine::renewals> done,
                    scripting::send_options send) {
  renewing_.renew(ttl, leases, std::move(done), send);
}

void backend::set_ttl(engine::recipe const& /*lock_recipe*/, milliseconds ttl, engine::owned lease,
                      handler<engine::ownership> done, scripting::send_options send) {
  holding_.set_ttl(ttl, lease, std::move(done), send);
}

void backend::pass(engine::recipe const& lock_recipe, engine::owned lease, engine::release_policy /*policy*/,
                   engine::acquire_request const& next, handler<engine::passed> done,
                   scripting::send_options send) {
  passing_.pass(lock_recipe, lease, next, std::move(done), send);
}

void backend::find_petition(engine::recipe const& /*lock_recipe*/, engine::owned lease, handler<bool> done,
                            scripting::send_options send) {
  holding_.find_petition(lease, std::move(done), send);
}

void backend::send(net::request&& request) {
  auto done = std::move(request.done);
  if (request.bytes != ping) {
    if (!done) return;
    mail_->put_or_call([done = std::move(done)]() mutable {
      done({.reply = resp::make_error(
                "ERR etcd has no commands of Redis: that isn't possible there (docs/etcd.md)")});
    });
    return;
  }
  auto const key = prefix_ + "holdfast";
  server_.transact(
      {.then = {range{.key = key}}}, {.while_down = request.while_down, .give_up = request.give_up},
      [this, done = std::make_shared<decltype(done)>(std::move(done))](response<outcome>&& answer) {
        if (!*done) return;
        net::response result{.sent_at = answer.sent_at, .sent = answer.sent};
        if (answer.ok()) {
          result.reply = resp::make_text("PONG");
        } else {
          result.failure = answer.failure ? answer.failure : server_.explain(answer.ended);
        }
        (*done)(std::move(result));
      });
}

void backend::listen(std::string const& channel, topology::channel_of /*scope*/,
                     net::subscriber::listener& listener) {
  listeners_.add(channel, listener);
}

void backend::forget(std::string_view channel) {
  listeners_.remove(channel);
  observing_.stop_observing(channel);
}

}  // namespace holdfast::etcd
