#include <holdfast/election.hpp>

#include <algorithm>
#include <map>
#include <utility>

#include "engine/access.hpp"
#include "engine/failure.hpp"
#include "engine/presence.hpp"
#include "engine/record.hpp"
#include "script/names.hpp"
#include "scripts/inspect.hpp"
#include "sync/campaign.hpp"
#include "sync/election_on_etcd.hpp"
#include "sync/leader_watch.hpp"
#include "sync/lock_binding.hpp"
#include "sync/options_check.hpp"
#include "sync/wires.hpp"
#include "wire/plain/election.hpp"

namespace holdfast {
namespace {

/// Of a longer queue only the first are shown; records are asked for so many at a time.
constexpr std::string_view last_candidate = "999";
constexpr std::size_t records_at_once = 8;

/// As those of a fair_mutex.
lock_options of_elections(lock_options const& options) {
  return engine::without_handoffs(engine::in_server_order(options));
}

engine::recipe const& recipe_for(std::string const& name, lock_options const& options, engine::core& client) {
  sync::check(name, options);
  sync::check(!options.keep,
              "the election \"" + name +
                  "\" can't keep its lock: it would show a leader that is none any more; leave "
                  "lock_options::keep out");
  sync::check(!sync::on_redisson(options, client),
              "the election \"" + name +
                  "\" can't be on Redisson's wire, whose fair lock has no tokens, and so no terms; use "
                  "wire::plain, or a URL without wire=redisson");
  sync::check(!options.detect_deadlock,
              "the election \"" + name +
                  "\" looks for no deadlocks: who leads holds on for as long as it likes; leave "
                  "lock_options::detect_deadlock out");
  if (!client.constants().deployment.etcd) client.constants().check_kind(engine::deciders::one);
  return sync::choose(sync::election_wires, {&name, 1}, options, client);
}

/// Throws what a refusal means.
resp::reply accepted(net::response&& response, std::string const& name, engine::core const& client) {
  if (response.reply.is_error()) throw error{*engine::explain(response.reply.text, name, client.constants())};
  return std::move(response.reply);
}

}  // namespace

struct election::impl : sync::election_binding {
  using sync::election_binding::election_binding;

  /// Fills in what the processes say of themselves.
  void describe(std::vector<process_info>& processes) const;
};

void election::impl::describe(std::vector<process_info>& processes) const {
  auto& core = *binding.core();
  std::map<std::string, process_info, std::less<>> known;
  std::vector<std::string> uuids;
  for (auto const& process : processes) {
    std::string uuid{engine::uuid_of(process.owner)};
    auto const own = uuid == core.constants().uuid;
    if (known.try_emplace(uuid, own ? engine::describe_self(core.constants().options.label) : process_info{})
            .second &&
        !own && !uuid.empty())
      uuids.push_back(std::move(uuid));
  }
  std::vector<call> questions;
  questions.reserve(uuids.size());
  for (auto const& uuid : uuids) {
    auto const record = names::client_record(uuid);
    questions.push_back(scripts::inspect::record{.record = {record}}());
  }
  for (std::size_t done = 0; done < questions.size(); done += records_at_once) {
    auto const batch = std::span{questions}.subspan(done, std::min(records_at_once, questions.size() - done));
    auto const replies = core.requests().ask(batch);
    for (std::size_t i = 0; i != replies.size(); ++i) {
      if (!replies[i].is_error()) known[uuids[done + i]] = engine::read_record({}, replies[i]);
    }
  }
  for (auto& process : processes) {
    auto owner = std::move(process.owner);
    process = known[std::string{engine::uuid_of(owner)}];
    process.owner = std::move(owner);
  }
}

election::election(client& redis, std::string name, lock_options options) {
  auto const& lock_recipe = recipe_for(name, options, *engine::access::core_of(redis));
  impl_ = std::make_shared<impl>(redis, std::move(name), of_elections(options), lock_recipe);
}

election::~election() = default;

std::string const& election::name() const noexcept { return impl_->binding.name(); }

lease election::campaign(std::string_view value, std::stop_token stop) {
  return std::move(*impl_->campaign(value, std::nullopt, stop));
}

std::optional<lease> election::try_campaign_within(std::string_view value, std::chrono::nanoseconds wait,
                                                   std::stop_token stop) {
  return impl_->campaign(value, wait, stop);
}

void election::async_campaign(std::string value, campaign_handler done, std::stop_token stop) {
  sync::async_campaign(impl_, std::move(value), std::nullopt, std::move(done), std::move(stop));
}

void election::async_try_campaign_within(std::string value, std::chrono::nanoseconds wait,
                                         campaign_handler done, std::stop_token stop) {
  sync::async_campaign(impl_, std::move(value), wait, std::move(done), std::move(stop));
}

std::optional<leader_info> election::leader() {
  auto& core = *impl_->binding.core();
  auto look = core.requests().has_viewer()
                  ? sync::on_etcd::look_at_leader(core, name())
                  : sync::read_leader(accepted(
                        core.requests().ask_until_ready(recipes::plain::read_leader(name())), name(), core));
  if (!look.leader) return std::nullopt;
  std::vector<process_info> process{{.owner = std::move(look.leader->owner)}};
  if (!core.requests().has_viewer()) impl_->describe(process);
  return leader_info{.value = std::move(look.leader->value),
                     .term = look.leader->term,
                     .process = std::move(process.front())};
}

std::vector<process_info> election::candidates() {
  auto& core = *impl_->binding.core();
  if (core.requests().has_viewer()) return sync::on_etcd::candidates(core, name());
  auto const queue = names::queue(name());
  std::string_view const command[]{"ZRANGE", queue, "0", last_candidate};
  net::response response{.reply = core.requests().ask(command, queue)};
  std::vector<process_info> all;
  for (auto const& waiter : accepted(std::move(response), name(), core).elements) {
    if (!waiter.text.ends_with(names::reader_suffix)) all.push_back({.owner = waiter.text});
  }
  impl_->describe(all);
  return all;
}

std::optional<release_result> election::resign_to(lease& leading, std::string_view candidate) {
  auto const of_this_election = [this](engine::lease_state const* held) {
    return held != nullptr && &held->queue() == impl_->binding.queue().get();
  };
  sync::check(of_this_election(engine::lease_state::behind(leading)),
              "only the lease of a leader of \"" + name() + "\", of the same client, can go to a candidate");
  sync::check(candidate.size() <= sync::longest_name, "the id of a candidate has at most 65536 bytes");
  auto& core = *impl_->binding.core();
  if (core.requests().has_viewer()) {
    if (!sync::on_etcd::is_next(core, name(), candidate)) return std::nullopt;
    return leading.release();
  }
  auto const owner = core.constants().owner_id(engine::lease_state::behind(leading)->number());
  auto const script =
      recipes::plain::nominate({.name = name(), .owner = owner}, candidate, core.publishing_now());
  auto const reply = accepted(core.requests().ask_until_ready(script), name(), core);
  if (reply.integer > 1) return std::nullopt;
  return leading.release();
}

std::optional<busy_info> election::last_busy() {
  return impl_->binding.core()->locks().last_busy(*impl_->binding.queue());
}

// Observers.

struct leader_observer::impl {
  std::shared_ptr<engine::core> core;
  std::shared_ptr<sync::leader_watch> watch;
};

leader_observer election::observe(leader_handler f) {
  sync::check_handler(f, name());
  auto const& core = impl_->binding.core();
  auto watch = std::make_shared<sync::leader_watch>(*core, name(), std::move(f));
  auto state = std::make_shared<leader_observer::impl>(core, watch);
  core->watches().begin(watch, names::leader(name()));
  return leader_observer{std::move(state)};
}

leader_observer::leader_observer() noexcept = default;
leader_observer::leader_observer(std::shared_ptr<impl> state) noexcept : impl_{std::move(state)} {}
leader_observer::leader_observer(leader_observer&&) noexcept = default;

leader_observer& leader_observer::operator=(leader_observer&& other) noexcept {
  if (this != &other) {
    end();
    impl_ = std::move(other.impl_);
  }
  return *this;
}

leader_observer::~leader_observer() { end(); }

void leader_observer::end() noexcept {
  auto const state = std::exchange(impl_, nullptr);
  if (!state || state->core->constants().forked()) return;
  state->core->watches().end(*state->watch);
  state->watch->stop();
}

}  // namespace holdfast
