// How leases on etcd are renewed: their lease in etcd is extended, and their keys are looked for.

#include <algorithm>
#include <utility>

#include "etcd/backend.hpp"

namespace holdfast::etcd {
namespace {

using engine::ownership;

/// etcd refuses transactions of more than 128 operations.
constexpr std::size_t keys_per_request = 64;

}  // namespace

struct backend::renewal {
  struct entry {
    place_ptr of{};
    std::int64_t revision = 0;
    bool gone = false;
  };

  milliseconds ttl{};
  scripting::send_options send{};
  handler<engine::renewals> done{};
  std::vector<entry> all{};
  std::size_t open = 1;  ///< answers, and one until all requests are made
  time_point sent_at = time_point::max();
  std::variant<std::monostate, engine::refused, engine::failed> trouble{};
};

void backend::renew(engine::recipe const& /*lock_recipe*/, milliseconds ttl,
                    std::span<engine::owned const> leases, handler<engine::renewals> done,
                    scripting::send_options send) {
  auto const all = std::make_shared<renewal>();
  all->ttl = ttl;
  all->send = send;
  all->done = std::move(done);
  all->all.reserve(leases.size());
  std::vector<lease_ptr> under;
  for (auto const& each : leases) {
    auto of = find(each.owner);
    auto const gone = !of || !of->held || !of->lease || of->lease->over || of->revision == 0;
    if (!gone && std::ranges::find(under, of->lease) == under.end()) under.push_back(of->lease);
    auto const revision = gone ? 0 : of->revision;
    all->all.push_back({.of = std::move(of), .revision = revision, .gone = gone});
  }
  for (auto const& each : under) {
    ++all->open;
    leases_.confirm(each, [this, all, each](bool alive) {
      for (auto& entry : all->all) {
        if (!alive && entry.of && entry.of->lease == each) entry.gone = true;
      }
      settle(all);
    });
  }
  for (std::size_t from = 0; from < all->all.size(); from += keys_per_request) check(all, from);
  // No handler is called before this has returned.
  later([this, all] { settle(all); });
}

/// Whether the keys are there, as they were made. Only if some isn't, each by itself.
void backend::check(std::shared_ptr<renewal> const& all, std::size_t from) {
  transaction what;
  std::vector<std::size_t> asked;
  auto const end = std::min(from + keys_per_request, all->all.size());
  for (auto i = from; i != end; ++i) {
    auto const& each = all->all[i];
    if (each.gone) continue;
    what.when.push_back({.key = each.of->key, .equals = each.revision});
    what.otherwise.emplace_back(range{.key = each.of->key});
    asked.push_back(i);
  }
  if (asked.empty()) return;
  ++all->open;
  server_.transact(std::move(what), all->send, [this, all, asked](response<outcome>&& answer) {
    if (!answer.ok()) {
      auto const result = no_outcome<engine::renewals>(answer);
      if (auto const* const refusal = result.refusal()) all->trouble = *refusal;
      if (auto const* const failure = result.failure()) all->trouble = *failure;
    } else if (!answer.value.succeeded) {
      for (std::size_t i = 0; i != asked.size(); ++i) {
        auto const& keys = answer.value.answers.at(i).keys;
        auto& entry = all->all[asked[i]];
        entry.gone = entry.gone || keys.empty() || keys.front().create_revision != entry.revision;
      }
    }
    settle(all);
  });
}

void backend::settle(std::shared_ptr<renewal> const& all) {
  if (--all->open != 0) return;
  engine::answer<engine::renewals> result;
  if (auto const* const refusal = std::get_if<engine::refused>(&all->trouble)) {
    result.content = *refusal;
  } else if (auto const* const failure = std::get_if<engine::failed>(&all->trouble)) {
    result.content = *failure;
  } else {
    engine::renewals found;
    for (std::size_t i = 0; i != all->all.size(); ++i) {
      auto const& [of, revision, gone] = all->all[i];
      // It may have been given back meanwhile, and taken again.
      if (gone || !of->held || !of->lease || of->revision != revision) {
        found.others.emplace_back(i, ownership::gone);
        continue;
      }
      all->sent_at = std::min(all->sent_at, alive_since(*of, all->ttl));
      hold(of, all->ttl);
      // Whoever holds it for long hears at once that somebody has deleted its key.
      watch(*of, of->key, revision + 1);
    }
    result.sent_at = all->sent_at == time_point::max() ? boot_clock::now() : all->sent_at;
    result.content = std::move(found);
  }
  auto done = std::exchange(all->done, {});
  if (done) done(std::move(result));
}

/// How long a key without a watchdog stays is up to this client, whose lease in etcd lives on.
void backend::set_ttl(engine::recipe const& /*lock_recipe*/, milliseconds ttl, engine::owned lease,
                      handler<ownership> done, scripting::send_options send) {
  auto const of = find(lease.owner);
  auto const answered = std::make_shared<handler<ownership>>(std::move(done));
  if (!of || !of->held || of->revision == 0) {
    later([answered] {
      if (*answered) (*answered)({.content = ownership::gone});
    });
    return;
  }
  auto const revision = of->revision;
  server_.transact({.when = {{.key = of->key, .equals = revision}}}, send,
                   [this, of, revision, ttl, answered](response<outcome>&& answer) {
                     auto result = no_outcome<ownership>(answer);
                     if (answer.ok()) {
                       auto const ours = answer.value.succeeded && of->held && of->revision == revision;
                       if (ours) hold(of, ttl);
                       result = {.content = ours ? ownership::mine : ownership::gone,
                                 .sent_at = answer.sent_at};
                     }
                     if (*answered) (*answered)(std::move(result));
                   });
}

}  // namespace holdfast::etcd
