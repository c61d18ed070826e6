#include "engine/core.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "engine/deployment_backend.hpp"
#include "engine/quorum/quorum.hpp"
#include "resp/command.hpp"

namespace holdfast::engine {
namespace {

/// The longest wait for confirmations of releases at the end of a client, or of the process.
constexpr std::chrono::seconds confirmation_wait{1};

net::settings make_settings(net::endpoint server, client_options const& options, net::loose_ends& unended) {
  return {.server = std::move(server),
          .client_name = options.name.empty() ? "holdfast" : options.name,
          .connect_timeout = options.connect_timeout,
          .reply_timeout = options.reply_timeout,
          .limits = {.max_bytes = options.max_reply_bytes},
          .unended = &unended};
}

std::string explain_late_copies(std::string const& reason) {
  return reason +
         "; so it doesn't end a connection that broke, and may carry out late what a proxy has kept of that "
         "(docs/guarantees.md, \"Late copies\"); Holdfast needs +client|info +client|list +client|kill";
}

}  // namespace

core::core(net::deployment_url url, client_options options, topology::deployment_maker const& make_deployment)
    : url_{std::move(url)},
      client_{make_client_constants(std::move(options), url_)},
      unended_{[this](std::string const& reason) {
        log_(log_level::warning, [&reason] { return explain_late_copies(reason); });
      }},
      settings_{make_settings(url_.server, client_.options, unended_)},
      backend_{make_backend(make_deployment)},
      renewer_{loop_,
               *backend_,
               stats_,
               {.lost = [this](lease_state& lease, loss_cause cause,
                               time_point now) { contention_.ends.lose(lease, cause, now); },
                .outlived = [this](lease_state& lease,
                                   time_point now) { contention_.ends.take_back(lease, now); }}},
      notifications_{loop_, *backend_, client_, log_, on_messages()},
      presence_{loop_,
                *backend_,
                {.uuid = client_.uuid, .label = client_.options.label},
                [this] { return stats_.held_now != 0 || stats_.waiting_now != 0; },
                [this] { notifications_.open_hint_channel(); }},
      owed_{loop_, client_, log_,
            [this](owed_request const& request, time_point now) { send_owed(request, now); }},
      contention_{contention_parts{.loop = loop_,
                                   .backend = *backend_,
                                   .client = client_,
                                   .log = log_,
                                   .stats = stats_,
                                   .queues = queues_,
                                   .held = holders_,
                                   .past = departed_,
                                   .watchdog = renewer_,
                                   .wake = notifications_,
                                   .copies = acknowledgements_,
                                   .own_presence = presence_,
                                   .report = busy_report_,
                                   .late = late_responses_,
                                   .delayed = delayed_,
                                   .kept = kept_keys_,
                                   .releases = pending_releases_}},
      release_requests_{loop_, *backend_, queues_, holders_,
                        [this](lease_state& lease) {
                          contention_.ends.lose(lease, loss_cause::forced, boot_clock::now());
                        }},
      torn_{[this] {
        auto const now = boot_clock::now();
        ask_about_all(now);
        contention_.requests.send_all_soon(now);
        contention_.requests.begin_missing(now);
      }} {
  // Besides the work that is known to be undone, all leases are asked about, and all contenders ask again.
  loop_.on_out_of_memory([this] {
    if (!torn_.armed()) loop_.arm(torn_, boot_clock::now() + memory_pause);
  });
  loop_.on_exception([this](std::string const& text) {
    if (client_.options.log)
      client_.options.log(log_level::error,
                          client_.url + ": a callback must not throw, but one did: " + text);
  });
}

core::~core() = default;

std::unique_ptr<lock_backend> core::make_backend(topology::deployment_maker const& make_deployment) {
  topology::events handlers{
      .moved = [this](std::string const& server) { on_moved(server); },
      .broken = [this] { ask_about_all(boot_clock::now()); },
      .warning =
          [this](std::string const& message) { log_(log_level::warning, [&message] { return message; }); }};
  if (client_.deployment.votes) {
    return std::make_unique<quorum>(loop_, url_.hosts, settings_, stats_, std::move(handlers),
                                    client_.no_memory, make_deployment);
  }
  return std::make_unique<deployment_backend>(
      make_deployment(loop_, url_, settings_, stats_, std::move(handlers)), client_.no_memory);
}

notifications::events core::on_messages() {
  return {.message = [this](std::string const& channel,
                            turn const& message) { contention_.messages.on_message(channel, message); },
          .woken = [this](std::uint64_t number) { contention_.messages.on_woken(number); },
          .open = [this](std::uint64_t number) { contention_.messages.on_open(number); },
          .polling = [this] { contention_.requests.send_all_soon(boot_clock::now()); },
          .asked = [this](std::uint64_t number) { release_requests_.on_hint(number); }};
}

/// The data of the server that answers from now on may be older than what was acknowledged. So lost leases
/// are found at once, and no contender waits for a message of the former server.
void core::on_moved(std::string const& server) {
  log_(log_level::info, [&] { return client_.url + ": served by " + server + " from now on"; });
  auto const now = boot_clock::now();
  ask_about_all(now);
  contention_.requests.send_all_soon(now);
}

/// About all leases, and those that were released a short time ago.
void core::ask_about_all(time_point now) noexcept {
  renewer_.ask_about_all(now);
  pending_releases_.repeat(now);
}

/// Tries once more to send what there was no memory for.
void core::send_owed(owed_request const& request, time_point now) noexcept {
  auto& queue = *request.queue;
  switch (request.type) {
    case owed_request::kind::release:
      pending_releases_.send({request.queue, request.number, request.policy, request.until}, now, {});
      return;
    case owed_request::kind::abandon:
      pending_releases_.abandon(queue, request.number, request.policy, now);
      return;
    case owed_request::kind::last_ttl:
      kept_keys_.set_last_ttl(queue, request.number, request.kept_until, request.until, now);
      return;
  }
}

void core::check_kind(votes needed) const {
  auto const voting = client_.deployment.votes;
  if ((needed == votes::majority) == voting) return;
  throw error{std::errc::invalid_argument,
              voting ? client_.url +
                           ": several servers that vote have quorum_mutex alone; for anything else "
                           "give the URL of one server, of its sentinels, or of a cluster"
                     : client_.url +
                           ": a quorum_mutex needs several servers that know nothing of each other; "
                           "write redis+quorum://h1,h2,h3, or use a mutex"};
}

holdfast::wire core::wire() const noexcept {
  auto const& options = client_.options;
  auto const chosen = options.wire != holdfast::wire::automatic ? options.wire : settings_.server.wire;
  return chosen == holdfast::wire::redisson ? chosen : holdfast::wire::plain;
}

client_stats core::stats() {
  if (forked()) return {};
  reactor::lock const hold{loop_.mutex()};
  return stats_;
}

effective_options_ptr core::effective(lock_options const& options) {
  gate_.check_process();
  reactor::lock const hold{loop_.mutex()};
  if (!last_options_ || last_options_->options != options)
    last_options_ = effective_options_ptr{new effective_options{options}};
  return last_options_;
}

publishing core::publishing_now() {
  if (forked()) return publishing::counted;
  reactor::lock const hold{loop_.mutex()};
  return notifications_.publish_method();
}

lock_queue_ptr core::pin(recipe const& protocol, std::string_view name) {
  gate_.check_process();
  check_kind(protocol.votes != nullptr ? votes::majority : votes::none);
  reactor::lock const hold{loop_.mutex()};
  gate_.check_open();
  auto queue = queues_.pin(protocol, name);
  if (!self_) self_ = shared_from_this();
  return queue;
}

void core::unpin(lock_queue_ptr& queue) noexcept {
  if (forked()) {
    (void)queue.detach();  // a copy of the parent's: nothing in it may be touched, not even its counters
    return;
  }
  reactor::lock const hold{loop_.mutex()};
  queue.reset();
}

/// Waits until all requests sent before are answered; not longer than `until`, and not at all without a
/// connection.
void core::drain(reactor::lock& hold, time_point until) noexcept {
  while ((!owed_.empty() || !backend_->idle()) && boot_clock::now() < until) {
    if (!owed_.empty()) {
      nap(hold);
      continue;
    }
    auto const down = backend_->down_because();
    if (!backend_->up() && (!down || down->code() != std::errc::not_enough_memory)) return;
    try {
      wait_behind_all(hold, until);
    } catch (std::bad_alloc const&) {
      nap(hold);
    }
  }
}

/// Replies come in order, so the replies to these PINGs come after all the others. Requests that those set
/// off are for the next call.
void core::wait_behind_all(reactor::lock& hold, time_point until) {
  struct barrier {
    reactor::blocked_thread caller;
    std::size_t remaining = 0;
    bool over = false;
  };
  auto const all = backend_->masters();
  auto const pings = std::make_shared<barrier>();
  auto const both_connections = acknowledgements_.used();
  pings->remaining = all.size() * (both_connections ? 2 : 1);
  auto const wake_caller = [this, pings] {
    if (std::exchange(pings->over, true)) return;
    loop_.wake(pings->caller);
  };
  reactor::timer bell{wake_caller};
  auto const ping = [&](std::string const& master, net::connection_role role) {
    net::request request{.done =
                             [wake_caller, pings](net::response&&) {
                               if (--pings->remaining == 0) wake_caller();
                             },
                         .role = role};
    resp::append_command(request.bytes, {"PING"});
    backend_->send_to(master, std::move(request));
  };
  for (auto const& master : all) {
    ping(master, net::connection_role::usual);
    if (both_connections) ping(master, net::connection_role::acknowledged);
  }
  loop_.arm(bell, until);
  loop_.wait(hold, pings->caller);
  hold.lock();
}

/// Lets the loop go on for a pause, and drives it.
void core::nap(reactor::lock& hold) noexcept {
  reactor::blocked_thread caller;
  reactor::timer bell{[this, &caller] { loop_.wake(caller); }};
  loop_.arm(bell, boot_clock::now() + memory_pause);
  loop_.wait(hold, caller);
  hold.lock();
}

void core::begin_exit() noexcept {
  if (forked()) return;
  reactor::lock hold{loop_.mutex()};
  if (!gate_.closed()) contention_.arrivals.set_aside(boot_clock::now());
  loop_.leave(hold);
}

/// The last pointers to leases and queues are dropped under the lock, too.
void core::lose_all(time_point now) noexcept {
  batches together;
  queues_.for_each([&](lock_queue& queue) {
    if (queue.holder != nullptr) lose_at_end(*queue.holder, together, now);
  });
  while (auto* const lease = holders_.any_shared()) lose_at_end(*lease, together, now);
  for (auto& leases : together.take()) pending_releases_.send_together(std::move(leases), now);
}

/// `together`: leases that are to be released in few requests.
void core::lose_at_end(lease_state& lease, batches& together, time_point now) noexcept {
  lease_state_ptr const pin{&lease};
  auto const& queue = lease.queue();
  contention_.ends.lose(lease, loss_cause::closed, now);
  if (lease.options().keep) {
    kept_keys_.leave(lease, std::nullopt, now, {});
    return;
  }
  if (queue.protocol().release_unwanted != nullptr) {
    try {
      together.add(lease, backend_->slot_of(queue.name()));
      return;
    } catch (std::bad_alloc const&) {
      // It is released by itself.
    }
  }
  if (!holders_.hold(queue, lease.number())) pending_releases_.send(lease, now, {});
}

void core::give_all_back() noexcept {
  if (forked()) return;
  reactor::lock hold{loop_.mutex()};
  lose_all(boot_clock::now());
  presence_.end();
  loop_.leave(hold);
}

void core::await_given_back(time_point begun) noexcept {
  if (forked()) return;
  reactor::lock hold{loop_.mutex()};
  drain(hold, begun + confirmation_wait + acknowledgements_.delay());
  if (auto const remaining = pending_releases_.count_at_end(); remaining > 0) {
    log_(log_level::warning, [this, remaining] {
      return client_.url + ": the server hasn't confirmed in time that " + std::to_string(remaining) +
             " locks are given back; each is free at the end of its ttl at the latest";
    });
  }
  loop_.leave(hold);
}

bool core::shut() noexcept {
  {
    reactor::lock const hold{loop_.mutex()};
    gate_.close();
    pending_releases_.stop_repeating();
    contention_.clearing.stop();
    contention_.arrivals.fail_all(client_.shut_down, boot_clock::now());
  }
  give_all_back();
  await_given_back(boot_clock::now());
  reactor::lock hold{loop_.mutex()};
  auto const alone = loop_.stop(hold, contention_.arrivals.set_aside_before());
  backend_->shut(client_.shut_down);
  // Releases that were to be sent again: a caller may wait for their outcome, which is known now.
  delayed_.run_all();
  owed_.clear();
  contention_.contending.stop_mending();
  torn_.disarm();
  queues_.remove_contenders();
  loop_.leave(hold);  // runs the callbacks that are left
  return alone;
}

}  // namespace holdfast::engine
