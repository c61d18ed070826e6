#include "engine/core.hpp"

#include <utility>

#include "engine/backend_on_etcd.hpp"
#include "engine/deployment_backend.hpp"
#include "engine/quorum/quorum.hpp"
#include "scripts/exclusive.hpp"

namespace holdfast::engine {
namespace {

net::settings make_settings(net::endpoint server, client_options const& options,
                            net::broken_connections& known_broken, net::translator& translator) {
  return {.server = std::move(server),
          .client_name = options.name.empty() ? "holdfast" : options.name,
          .connect_timeout = options.connect_timeout,
          .reply_timeout = options.reply_timeout,
          .limits = {.max_bytes = options.max_reply_bytes},
          .known_broken = &known_broken,
          .translator = &translator};
}

scripting::command_translator::choice choice_of(client_options const& options, net::endpoint const& server) {
  auto const scriptless = options.scripts == script_calls::never || server.scripts == script_calls::never;
  auto const way = options.cas != cas::automatic ? options.cas : server.cas;
  using enum scripting::script_trial;
  return {.way = way, .scripts = scriptless ? unwanted : way == cas::lua ? needed : wanted};
}

std::string explain_late_copies(std::string const& reason) {
  return reason +
         "; so it doesn't end a connection that broke, and may carry out late what a proxy has kept of that "
         "(docs/guarantees.md, \"Late copies\"); Holdfast needs +client|info +client|list +client|kill";
}

}  // namespace

core::core(net::deployment_url url, client_options options, topology::deployment_maker const& make_deployment,
           std::shared_ptr<event_loop> outer)
    : url_{std::move(url)},
      client_{make_client_constants(std::move(options), url_)},
      broken_connections_{[this](std::string const& reason) {
        log_(log_level::warning, [&reason] { return explain_late_copies(reason); });
      }},
      translator_{choice_of(client_.options, url_.server), scripts::exclusive::abandon::source, stats_,
                  [this](log_level level, std::string const& message) {
                    log_(level, [&] { return client_.url + ": " + message; });
                  }},
      settings_{make_connection_settings()},
      loop_{std::move(outer)},
      backend_{make_backend(make_deployment)},
      traces_{make_traces()},
      moments_{make_moments()},
      renewer_{
          loop_,
          *backend_,
          stats_,
          {.lost = [this](lease_state& lease, loss_cause cause,
                          time_point now) { contention_.ends.lose(lease, cause, now); },
           .outlived = [this](lease_state& lease, time_point now) { contention_.ends.take_back(lease, now); },
           .renewed =
               moments_ ? std::function{[this](lease_state const& lease, time_point was_until,
                                               time_point now) { moments_->renewed(lease, was_until, now); }}
                        : nullptr}},
      notifications_{loop_, *backend_, client_, log_, on_messages()},
      presence_{loop_,
                *backend_,
                {.uuid = client_.uuid, .label = client_.options.label},
                [this] { return stats_.held_now != 0 || stats_.waiting_now != 0; },
                [this] { notifications_.open_hint_channel(); },
                traces_ ? std::function{[this](time_point now) { return traces_->say(now); }} : nullptr},
      owed_{loop_, client_, log_,
            [this](owed_request const& request, time_point now) { send_owed(request, now); }},
      contention_{contention_parts{.loop = loop_,
                                   .backend = *backend_,
                                   .client = client_,
                                   .log = log_,
                                   .ways = translator_.preferred(),
                                   .stats = stats_,
                                   .queues = queues_,
                                   .held = holders_,
                                   .past = departed_,
                                   .watchdog = renewer_,
                                   .wake = notifications_,
                                   .acknowledged = acknowledgements_,
                                   .own_presence = presence_,
                                   .report = busy_report_,
                                   .late = late_responses_,
                                   .delayed = delayed_,
                                   .kept = kept_keys_,
                                   .releases = pending_releases_,
                                   .noted = moments_.get()}},
      petitions_{loop_, *backend_, queues_, holders_,
                 [this](lease_state& lease) {
                   contention_.ends.lose(lease, loss_cause::forced, boot_clock::now());
                 }},
      ask_all_again_{[this] {
        auto const now = boot_clock::now();
        ask_about_all(now);
        contention_.requests.send_all_soon(now);
        contention_.requests.begin_missing(now);
      }},
      deadlocks_{loop_,
                 *backend_,
                 client_,
                 queues_,
                 holders_,
                 [this](waiter& caller, std::shared_ptr<error const> reason, time_point now) {
                   caller.failure = std::move(reason);
                   contention_.membership.leave(caller, now);
                 }} {
  // Besides the work that is known to be undone, all leases are asked about, and all contenders ask again.
  loop_.on_out_of_memory([this] {
    if (!ask_all_again_.armed()) loop_.arm(ask_all_again_, boot_clock::now() + memory_pause);
  });
  loop_.on_outer_end([this] {
    log_(log_level::warning, [this] {
      return client_.url +
             ": the event loop of this client has ended before it: its leases aren't renewed any more";
    });
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
      .broken =
          [this] {
            auto const now = boot_clock::now();
            contention_.fast.note_trouble(now);
            if (moments_) moments_->trouble("broken", now);
            ask_about_all(now);
          },
      .rerouted =
          [this] {
            auto const now = boot_clock::now();
            contention_.fast.note_trouble(now);
            if (moments_) moments_->trouble("rerouted", now);
          },
      .replica = [this] { contention_.messages.distrust(); },
      .warning =
          [this](std::string const& message) { log_(log_level::warning, [&message] { return message; }); },
      .at_stake = [this] { return at_stake(boot_clock::now()); }};
  if (client_.deployment.etcd) return make_backend_on_etcd(loop_, url_, client_, stats_, std::move(handlers));
  if (client_.deployment.votes) {
    return std::make_unique<quorum>(loop_, url_.hosts, settings_, stats_, std::move(handlers),
                                    client_.no_memory, make_deployment);
  }
  return std::make_unique<deployment_backend>(
      make_deployment(loop_, url_, settings_, stats_, std::move(handlers)), client_.no_memory);
}

net::settings core::make_connection_settings() {
  auto made = make_settings(url_.server, client_.options, broken_connections_, translator_);
  if (!client_.options.history.empty()) made.unheard = [this] { moments_->unheard(boot_clock::now()); };
  if (!client_.options.observer) return made;
  made.lost = [this] { moments_->disconnected(boot_clock::now()); };
  made.restored = [this](std::chrono::nanoseconds away) { moments_->reconnected(away, boot_clock::now()); };
  return made;
}

/// On etcd there are no records.
std::unique_ptr<held_traces> core::make_traces() {
  if (!client_.options.observer) return nullptr;
  auto write = client_.deployment.etcd
                   ? nullptr
                   : std::function{[this](time_point now) { return presence_.say_traces(now); }};
  return std::make_unique<held_traces>(loop_, std::move(write));
}

std::unique_ptr<moments> core::make_moments() {
  std::unique_ptr<recorder> history;
  std::unique_ptr<observation> observed;
  if (!client_.options.history.empty())
    history = std::make_unique<recorder>(loop_, client_, stats_, log_, [this] { return backend_->up(); });
  if (client_.options.observer) observed = std::make_unique<observation>(loop_, client_);
  if (!history && !observed) return nullptr;
  return std::make_unique<moments>(std::move(history), std::move(observed), traces_.get());
}

void core::record_number(history::event happened, history::kind of, std::string_view name,
                         std::int64_t number) noexcept {
  if (!moments_ || client_.forked()) return;
  reactor::lock hold{loop_.mutex()};
  moments_->numbered(happened, of, name, number, boot_clock::now());
  loop_.leave(hold);
}

notifications::events core::on_messages() {
  return {
      .message = [this](std::string const& channel, turn_message const& message,
                        time_point now) { contention_.messages.on_message(channel, message, now); },
      .woken = [this](std::uint64_t number, time_point now) { contention_.messages.on_woken(number, now); },
      .open = [this](std::uint64_t number, time_point now) { contention_.messages.on_open(number, now); },
      .polling = [this] { contention_.requests.send_all_soon(boot_clock::now()); },
      .asked = [this](std::uint64_t number) { petitions_.on_hint(number); }};
}

/// The data of the server that answers from now on may be older than what was acknowledged. So lost leases
/// are found at once, and no contender waits for a message of the former server.
void core::on_moved(std::string const& server) {
  log_(log_level::info, [&] { return client_.url + ": served by " + server + " from now on"; });
  auto const now = boot_clock::now();
  contention_.fast.note_trouble(now);
  if (moments_) moments_->trouble("moved", now);
  ask_about_all(now);
  contention_.requests.send_all_soon(now);
}

/// Asks about all leases, and repeats the latest releases.
void core::ask_about_all(time_point now) noexcept {
  renewer_.ask_about_all(now);
  pending_releases_.repeat(now);
}

bool core::at_stake(time_point now) const noexcept {
  return queues_.any_of([](lock_queue const& queue) { return queue.holder || queue.contender; }) ||
         holders_.any_shared() != nullptr || departed_.remembers_release(now);
}

/// Tries once more to send what there was no memory for.
void core::send_owed(owed_request const& request, time_point now) noexcept {
  switch (request.type) {
    case owed_request::kind::release:
      pending_releases_.send({request.queue, request.number, request.policy, request.until}, now, {});
      return;
    case owed_request::kind::abandon:
      pending_releases_.abandon(*request.queue, request.number, request.policy, now);
      return;
    case owed_request::kind::last_ttl:
      kept_keys_.set_last_ttl(*request.queue, request.number, request.kept_until, request.until, now);
      return;
  }
}

void core::check_scripts(std::string const& title) {
  if (client_.forked()) return;
  reactor::lock const hold{loop_.mutex()};
  if (!translator_.scriptless()) return;
  auto const& refusal = translator_.no_scripts_because();
  auto const reason = refusal.empty() ? std::string{"scripts are turned off (scripts=no)"}
                                      : "the server runs no scripts (" + refusal + ")";
  throw error{std::errc::invalid_argument,
              client_.url + ": " + reason + ", and " + title +
                  " needs them: without them there is no order of waiters, no grant, and none of Redisson's "
                  "formats. What there is: mutex, recursive_mutex, quorum_mutex and fence on the plain wire"};
}

client_stats core::stats() {
  if (client_.forked()) return {};
  reactor::lock const hold{loop_.mutex()};
  return stats_;
}

effective_options_ptr core::effective(lock_options const& options, int size) {
  gate_.check_process();
  reactor::lock const hold{loop_.mutex()};
  if (!last_options_ || last_options_->options != options || last_options_->size != size)
    last_options_ = effective_options_ptr{new effective_options{options, size}};
  return last_options_;
}

release_policy core::policy_now(lock_options const& options) {
  reactor::lock const hold{loop_.mutex()};
  return notifications_.policy_of(options);
}

publishing core::publishing_now() {
  if (client_.forked()) return publishing::counted;
  reactor::lock const hold{loop_.mutex()};
  return notifications_.publish_method();
}

lock_queue_ptr core::pin(recipe const& lock_recipe, std::string_view name) {
  gate_.check_process();
  if (!lock_recipe.on_etcd)
    client_.check_kind(lock_recipe.votes != nullptr ? deciders::majority : deciders::one);
  if (!lock_recipe.scriptless) check_scripts("the lock " + std::string{name});
  reactor::lock const hold{loop_.mutex()};
  gate_.check_open();
  auto queue = queues_.pin(lock_recipe, name);
  if (!self_) self_ = shared_from_this();
  return queue;
}

void core::unpin(lock_queue_ptr& queue) noexcept {
  if (client_.forked()) {
    (void)queue.detach();  // a copy of the parent's: nothing in it may be touched, not even its counters
    return;
  }
  reactor::lock const hold{loop_.mutex()};
  queue.reset();
}

}  // namespace holdfast::engine
