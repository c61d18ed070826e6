#include "probe/run_record.hpp"

#include "base/quoted.hpp"
#include "engine/access.hpp"
#include "engine/core.hpp"
#include "engine/failure.hpp"
#include "engine/presence.hpp"
#include "inspect/last_run.hpp"
#include "probe/named_servers.hpp"
#include "script/names.hpp"
#include "scripts/run.hpp"

#include <algorithm>
#include <cstddef>
#include <future>
#include <tuple>
#include <utility>
#include <vector>

namespace holdfast::probe {
namespace {

using std::chrono::microseconds;

/// By the lease, whose tokens grow also where clocks differ; leases without tokens by time. Of two states of
/// one run: the one with its end, and the one in which it doesn't count any more.
bool is_newer(run_info const& candidate, run_info const& known) {
  auto const rank = [](run_info const& run) {
    return std::tuple{run.token, run.began, run.finished(), !run.counts_until};
  };
  return rank(candidate) > rank(known);
}

run_look read_look(resp::reply const& reply) {
  if (reply.size() != 3) return {};
  return {.now = run_info::time_point{microseconds{reply[0].integer}},
          .last = inspection::read_run(reply[2]),
          .held_by_runner = reply[1].integer == 1};
}

/// Throws for a refusal by the server at `url`.
void check(resp::reply const& reply, std::string const& lock, std::string const& record,
           engine::client_constants const& client, std::string const& url) {
  if (reply.is_error("WRONGTYPE")) {
    throw error{errc::wrong_type, url + ": the key " + quoted(record) +
                                      ", where the last run under the lock " + quoted(lock) +
                                      " is noted, holds something else: delete it, or choose another name"};
  }
  if (!reply.is_error()) return;
  auto at_that_server = client;
  at_that_server.url = url;
  throw error{*engine::explain(reply.text, lock, at_that_server)};
}

/// One of several masters.
struct master {
  std::unique_ptr<server_session> session;
  bool away = false;  ///< it couldn't be asked the last time
};

struct answer {
  std::optional<resp::reply> reply{};
  std::optional<error> failure{};
};

}  // namespace

run_look in_one(std::span<run_look const> const looks) {
  std::vector<run_info::time_point> clocks;
  run_look all;
  for (auto const& look : looks) {
    clocks.push_back(look.now);
    if (look.last && (!all.last || is_newer(*look.last, *all.last))) all.last = look.last;
  }
  if (clocks.empty()) return all;
  std::ranges::sort(clocks);
  all.now = clocks[clocks.size() / 2];
  all.held_by_runner = std::ranges::any_of(looks, [&all](run_look const& look) {
    return look.held_by_runner && look.last && all.last &&
           look.last->process.owner == all.last->process.owner;
  });
  return all;
}

process_info runner_here(std::string owner, std::string const& label) {
  auto self = engine::describe_self(label);
  self.owner = std::move(owner);
  return self;
}

struct run_record::impl {
  impl(client& redis, std::string_view const url_text, std::string name)
      : core{engine::access::core_of(redis)},
        lock{std::move(name)},
        record{names::last_run(lock)},
        servers{url_text} {
    if (servers.kind() != deployment_kind::quorum) return;
    for (std::size_t i = 0; i != servers.hosts().size(); ++i)
      masters.push_back({.session = servers.to_host(i)});
  }

  /// The answers of the server, or of a majority of the masters at least.
  std::vector<resp::reply> ask(call const& script) {
    if (!masters.empty()) return ask_masters(script);
    std::vector<resp::reply> only;
    only.push_back(ask_server(script, net::connection_role::usual).reply);
    return only;
  }

  net::response ask_server(call const& script, net::connection_role const role) {
    auto response = core->requests().ask_until_ready(script, {.role = role});
    check(response.reply, lock, record, core->constants(), core->constants().url);
    return response;
  }

  [[nodiscard]] std::size_t majority() const noexcept { return masters.empty() ? 1 : masters.size() / 2 + 1; }

  void wait_until_durable(run_durability const& wanted, std::uint64_t noted_over);

  std::shared_ptr<engine::core> const core;
  std::string const lock;
  std::string const record;
  named_servers const servers;
  std::vector<master> masters{};  ///< empty: one server answers for all

 private:
  answer ask_master(master& to, call const& script) const {
    try {
      auto reply = to.session->ask(script);
      to.away = false;
      check(reply, lock, record, core->constants(), to.session->url());
      return {.reply = std::move(reply)};
    } catch (error const& problem) {
      to.away = problem.code() == errc::unreachable;
      return {.failure = problem};
    }
  }

  /// Those that couldn't be asked are asked again only when they are needed: each such try takes seconds.
  std::vector<resp::reply> ask_masters(call const& script) {
    auto const away = static_cast<std::size_t>(std::ranges::count(masters, true, &master::away));
    bool const enough = masters.size() - away >= majority();
    std::vector<std::future<answer>> pending;
    for (auto& each : masters) {
      if (enough && each.away) continue;
      pending.push_back(
          std::async(std::launch::async, [this, &each, &script] { return ask_master(each, script); }));
    }
    std::vector<resp::reply> replies;
    std::optional<error> failure;
    for (auto& answer : pending) {
      auto result = answer.get();
      if (result.reply) replies.push_back(std::move(*result.reply));
      if (result.failure) failure = std::move(result.failure);
    }
    if (replies.size() >= majority()) return replies;
    throw error{failure ? failure->code() : make_error_code(errc::unreachable),
                core->constants().url + ": " + std::to_string(replies.size()) + " of " +
                    std::to_string(masters.size()) + " servers answered about the last run under the lock " +
                    quoted(lock) + ", and " + std::to_string(majority()) + " are needed" +
                    (failure ? std::string{": "} + failure->what() : std::string{})};
  }
};

/// WAIT counts the writes of its own connection, so over another one than the note's it says nothing.
void run_record::impl::wait_until_durable(run_durability const& wanted, std::uint64_t const noted_over) {
  auto const replicas = std::to_string(wanted.replicas);
  auto const within = std::to_string(wanted.within.count());
  std::vector<std::string_view> const wait{"WAIT", replicas, within};
  std::vector<std::string_view> const wait_for_disks{"WAITAOF", "1", replicas, within};
  auto const response = core->requests().ask_over(net::connection_role::acknowledged,
                                                  wanted.on_disk ? wait_for_disks : wait, lock);
  auto const& reply = response.reply;
  check(reply, lock, record, core->constants(), core->constants().url);
  auto const& count = reply.size() == 2 ? reply[1] : reply;
  bool const on_disk = reply.size() == 2 && reply[0].integer > 0;
  bool const same_connection = !response.resent && response.connection_id == noted_over;
  if (same_connection && count.integer >= wanted.replicas && (on_disk || !wanted.on_disk)) return;
  throw error{
      errc::unreplicated,
      core->constants().url + ": the note that a run under the lock " + quoted(lock) + " begins was " +
          (wanted.on_disk ? (on_disk ? "on the server's disk and " : "not on the server's disk and ") : "") +
          "acknowledged by " + std::to_string(same_connection ? count.integer : 0) + " of " + replicas +
          " replicas within " + within + " ms, so it was taken back; look at INFO replication"};
}

run_record::run_record(client& redis, std::string_view const url, std::string lock)
    : impl_{std::make_unique<impl>(redis, url, std::move(lock))} {}
run_record::~run_record() = default;

run_look run_record::look() {
  scripts::run::look const script{.lock = {impl_->lock}, .record = {impl_->record}};
  std::vector<run_look> looks;
  for (auto const& reply : impl_->ask(script())) looks.push_back(read_look(reply));
  return in_one(looks);
}

bool run_record::note(run_info const& run, std::chrono::milliseconds const life,
                      run_durability const wanted) {
  auto const text_of = [](auto const& number) { return number ? std::to_string(*number) : std::string{}; };
  auto const took = run.took ? std::optional{run.took->count()} : std::nullopt;
  auto const took_ms = text_of(took);
  auto const exit_code = text_of(run.exit_code);
  auto const until = run.counts_until.value_or(run_info::time_point{}).time_since_epoch().count();
  scripts::run::note const script{.lock = {impl_->lock},
                                  .record = {impl_->record},
                                  .owner = run.process.owner,
                                  .began = run.began.time_since_epoch().count(),
                                  .counts_until = until,
                                  .took_ms = took_ms,
                                  .exit_code = exit_code,
                                  .host = run.process.host,
                                  .pid = run.process.pid,
                                  .label = run.process.label,
                                  .token = run.token,
                                  .life_ms = life.count()};
  if (wanted.any()) {
    auto const noted = impl_->ask_server(script(), net::connection_role::acknowledged);
    if (noted.reply.integer != 1) return false;
    impl_->wait_until_durable(wanted, noted.connection_id);
    return true;
  }
  auto const replies = impl_->ask(script());
  auto const noted = std::ranges::count(replies, 1, &resp::reply::integer);
  return std::cmp_greater_equal(noted, impl_->majority());
}

bool run_record::forget(std::string_view const owner) {
  scripts::run::forget const script{.record = {impl_->record}, .owner = owner};
  return std::ranges::count(impl_->ask(script()), 1, &resp::reply::integer) != 0;
}

}  // namespace holdfast::probe
