#include "probe/owned_lock.hpp"

#include <holdfast/error.hpp>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <future>
#include <utility>
#include <vector>

#include "engine/access.hpp"
#include "engine/core.hpp"
#include "engine/replies.hpp"
#include "inspect/view.hpp"
#include "net/pipeline.hpp"
#include "probe/named_servers.hpp"
#include "script/names.hpp"
#include "script/names_redisson.hpp"
#include "scripts/redisson_permit.hpp"
#include "wire/plain/exclusive.hpp"
#include "wire/plain/permits.hpp"
#include "wire/plain/quorum.hpp"
#include "wire/plain/shared.hpp"
#include "wire/redisson/permit_id.hpp"
#include "wire/redisson/recipes.hpp"
#include "wire/redisson/ttl_mode.hpp"

namespace holdfast::probe {
namespace {

using engine::ownership;
using engine::recipe;
namespace plain = recipes::plain;
namespace redisson = recipes::redisson;
namespace permit_scripts = scripts::redisson_permit;

/// What a hold is, and which lock it is a hold of.
struct found_hold {
  owned_hold hold{};
  lock_kind kind = lock_kind::exclusive;
  holdfast::wire wire = holdfast::wire::plain;
  bool fair = false;
  std::string owner{};  ///< as the recipes of the kind want it
};

/// The recipe of an exclusive lock that is held serves fair ones, too, on the plain wire: they are released
/// alike. Permits of Redisson's have none, since their printed id doesn't name a client.
recipe const& recipe_of(found_hold const& found) {
  if (found.kind == lock_kind::reentrant) return found.fair ? redisson::fair : redisson::lock;
  if (found.kind == lock_kind::read_write && found.wire == wire::plain) return plain::reader;
  if (found.kind == lock_kind::permits) return plain::permits;
  if (found.kind == lock_kind::read_write)
    return found.hold.side == hold_side::write ? redisson::writer : redisson::reader;
  return plain::exclusive;
}

call renewal_by(recipe const& kind, std::chrono::milliseconds const ttl, engine::owned const& lease) {
  return (kind.set_ttl != nullptr ? kind.set_ttl : kind.renew)(ttl, {&lease, 1});
}

/// The first waiter gets the lock, whether the lock is a fair one or not.
engine::release_policy policy_for(engine::publishing const publish) { return {.publish = publish}; }

/// Throws for a refusal and for a request that wasn't answered.
bool was_held(engine::answer<ownership> const& answer, std::string_view const about,
              engine::core const& server) {
  if (auto const* const outcome = answer.outcome()) return *outcome == ownership::held;
  if (auto const* const failure = answer.failure()) throw error{*failure->reason};
  resp::reply refusal;
  refusal.type = resp::kind::error;
  refusal.text = answer.refusal()->text;
  throw inspection::refused(refusal, about, server);
}

bool is_permit_of_redisson(found_hold const& found) {
  return found.kind == lock_kind::permits && found.wire == wire::redisson;
}

using reader_of_replies = engine::answer<ownership> (*)(net::response&&) noexcept;

}  // namespace

struct owned_lock::impl {
  impl(client& redis, std::string_view const url, std::string name, std::string owner_id, wire const wire_of)
      : client_of_lock{redis},
        core{engine::access::core_of(redis)},
        servers{url},
        lock{std::move(name)},
        owner{std::move(owner_id)},
        of{wire_of} {
    if (servers.kind() == deployment_kind::etcd) {
      throw error{std::errc::invalid_argument,
                  core->constants().url + ": on etcd the lock \"" + lock +
                      "\" ends with the process that has it, so no other one renews or releases it by its "
                      "owner id; hold it by `holdfast run NAME -- COMMAND`, and take it from its holder by "
                      "`holdfast release --force NAME`"};
    }
    if (servers.kind() != deployment_kind::quorum) return;
    for (std::size_t i = 0; i != servers.hosts().size(); ++i) masters.push_back(servers.to_host(i));
  }

  [[nodiscard]] std::optional<found_hold> find() const {
    auto seen = peek_on_wires(client_of_lock, lock).on(of);
    if (std::cmp_less(seen.holders.size(), seen.holding))
      seen = inspect_on_wires(client_of_lock, lock).on(of);
    for (auto const& each : seen.holders) {
      auto const& id = each.process.owner;
      auto const suffix = each.side == hold_side::write     ? std::string_view{":write"}
                          : each.side == hold_side::upgrade ? names::upgrade_suffix
                          : each.side == hold_side::read && seen.wire == wire::plain ? names::reader_suffix
                                                                                     : std::string_view{};
      if (owner != id && owner != id + std::string{suffix}) continue;
      return found_hold{.hold = {.side = each.side, .permits = seen.permits.value_or(0)},
                        .kind = seen.kind,
                        .wire = seen.wire,
                        .fair = seen.fair,
                        .owner = id};
    }
    return std::nullopt;
  }

  [[nodiscard]] bool ask(call const& script, reader_of_replies const read) const {
    return was_held(read(core->requests().ask_until_ready(script)), lock, *core);
  }

  [[nodiscard]] recipe const& recipe_of_quorum() const {
    auto const wire_of = of == wire::automatic ? core->constants().wire : of;
    return wire_of == wire::redisson ? redisson::quorum : plain::quorum;
  }

  /// Whether a majority of the masters says so. Throws when fewer than a majority answer.
  template <class Ask>
  [[nodiscard]] bool majority_says(Ask const& ask_master) const {
    std::vector<std::future<bool>> pending;
    pending.reserve(masters.size());
    for (auto const& each : masters)
      pending.push_back(std::async(std::launch::async, [&ask_master, &each] { return ask_master(*each); }));
    std::size_t answers = 0;
    std::size_t agreeing = 0;
    std::exception_ptr failure;
    for (auto& vote : pending) {
      try {
        agreeing += vote.get() ? 1U : 0U;
        ++answers;
      } catch (error const&) {
        failure = std::current_exception();
      }
    }
    auto const majority = masters.size() / 2 + 1;
    if (agreeing < majority && answers < majority) std::rethrow_exception(failure);
    return agreeing >= majority;
  }

  [[nodiscard]] bool ask_masters(call const& script, reader_of_replies const read) const {
    return majority_says([&](server_session& master) {
      net::response response;
      response.reply = master.ask(script);
      return was_held(read(std::move(response)), lock, *core);
    });
  }

  client& client_of_lock;
  std::shared_ptr<engine::core> const core;
  named_servers const servers;
  std::string const lock;
  std::string const owner;
  wire const of;
  std::vector<std::unique_ptr<server_session>> masters{};  ///< empty: one deployment answers
};

owned_lock::owned_lock(client& redis, std::string_view const url, std::string name, std::string owner,
                       wire const of)
    : impl_{std::make_unique<impl>(redis, url, std::move(name), std::move(owner), of)} {}
owned_lock::~owned_lock() = default;

std::optional<owned_hold> owned_lock::look() {
  if (impl_->masters.empty()) {
    auto const found = impl_->find();
    return found ? std::optional{found->hold} : std::nullopt;
  }
  bool const on_redisson = &impl_->recipe_of_quorum() == &redisson::quorum;
  bool const held = impl_->majority_says([&](server_session& master) {
    if (on_redisson) return master.ask({"HEXISTS", impl_->lock, impl_->owner}).text == "1";
    auto const holder = master.ask({"GET", impl_->lock});
    return !holder.refused && holder.text == impl_->owner;
  });
  return held ? std::optional{owned_hold{}} : std::nullopt;
}

bool owned_lock::renew(std::chrono::milliseconds const ttl) {
  using engine::replies::read_set_ttl;
  if (!impl_->masters.empty()) {
    auto const script =
        renewal_by(impl_->recipe_of_quorum(), ttl, {.name = impl_->lock, .owner = impl_->owner});
    return impl_->ask_masters(script, read_set_ttl);
  }
  auto const found = impl_->find();
  if (!found) return false;
  if (!is_permit_of_redisson(*found))
    return impl_->ask(renewal_by(recipe_of(*found), ttl, {.name = impl_->lock, .owner = found->owner}),
                      read_set_ttl);
  auto const permits = names::redisson::permits(impl_->lock);
  auto const id = redisson::read_permit_id(found->owner).value_or("");
  return impl_->ask(
      permit_scripts::renew{
          .all_permits = {{permits}}, .ttl_ms = ttl.count(), .mode = redisson::exactly, .ids = {id}}(),
      read_set_ttl);
}

bool owned_lock::release() {
  using engine::replies::read_release;
  if (!impl_->masters.empty()) {
    auto const script = impl_->recipe_of_quorum().release({.name = impl_->lock, .owner = impl_->owner},
                                                          policy_for(engine::publishing::counted));
    return impl_->ask_masters(script, read_release);
  }
  auto const found = impl_->find();
  if (!found) return false;
  auto const publish = impl_->core->publishing_now();
  if (!is_permit_of_redisson(*found))
    return impl_->ask(
        recipe_of(*found).release({.name = impl_->lock, .owner = found->owner}, policy_for(publish)),
        read_release);
  auto const permits = names::redisson::permits(impl_->lock);
  auto const channel = names::redisson::semaphore_channel(impl_->lock);
  auto const id = redisson::read_permit_id(found->owner).value_or("");
  return impl_->ask(permit_scripts::release{.counter = {impl_->lock},
                                            .permits = {permits},
                                            .id = id,
                                            .publish = word_of(publish),
                                            .channel = channel}(),
                    read_release);
}

}  // namespace holdfast::probe
