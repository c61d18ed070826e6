#include "sync/wires.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "sync/options_check.hpp"
#include "wire/etcd/exclusive.hpp"
#include "wire/plain/election.hpp"
#include "wire/plain/exclusive.hpp"
#include "wire/plain/fair.hpp"
#include "wire/plain/mixed.hpp"
#include "wire/plain/multi.hpp"
#include "wire/plain/permits.hpp"
#include "wire/plain/quorum.hpp"
#include "wire/plain/shared.hpp"
#include "wire/redisson/recipes.hpp"

namespace holdfast::sync {

namespace etcd = recipes::etcd;
namespace plain = recipes::plain;
namespace redisson = recipes::redisson;

constexpr wires exclusive_wires{.plain = plain::exclusive,
                                .redisson = redisson::lock,
                                .fenced = &redisson::fenced,
                                .on_etcd = &etcd::exclusive};
constexpr wires fair_wires{
    .plain = plain::fair, .redisson = redisson::fair, .fenced = nullptr, .on_etcd = &etcd::fair};
constexpr wires quorum_wires{.plain = plain::quorum, .redisson = redisson::quorum, .fenced = nullptr};
constexpr wires multi_wires{
    .plain = plain::multi, .redisson = redisson::multi, .fenced = nullptr, .on_etcd = &etcd::multi};
constexpr wires permit_wires{
    .plain = plain::permits, .redisson = redisson::permit, .fenced = nullptr, .on_etcd = &etcd::permits};
constexpr wires election_wires{
    .plain = plain::election, .redisson = plain::election, .fenced = nullptr, .on_etcd = &etcd::election};
constexpr wires lone_wires{
    .plain = plain::exclusive, .redisson = redisson::lock, .fenced = nullptr, .on_etcd = &etcd::exclusive};

bool on_redisson(lock_options const& options, engine::core const& client) noexcept {
  return (options.wire == wire::automatic ? client.constants().wire : options.wire) == wire::redisson;
}

shared_wires wires_of(sharing_policy const policy) noexcept {
  auto const& writer = policy == sharing_policy::prefer_writers ? plain::writer_first : plain::fair;
  auto const& reader = policy == sharing_policy::prefer_readers ? plain::reader_first : plain::reader;
  return {
      .writer = {.plain = writer, .redisson = redisson::writer, .fenced = nullptr, .on_etcd = &etcd::fair},
      .reader = {.plain = reader, .redisson = redisson::reader, .fenced = nullptr, .on_etcd = &etcd::reader}};
}

namespace {

/// Of one server: a transaction has 128 operations at most, and each name needs three of them.
constexpr std::size_t most_names_on_etcd = 42;

engine::recipe const& choose_on_etcd(wires const& kind, std::span<std::string const> names,
                                     lock_options const& options, engine::client_constants const& client) {
  if (kind.on_etcd == nullptr) client.check_kind(engine::deciders::one);  // throws, with what there is
  auto const refuse = [&](std::string const& reason) {
    throw error{std::errc::invalid_argument, client.url + ": " + reason};
  };
  for (auto const& name : names) {
    if (name.find('/') == std::string::npos) continue;
    refuse(
        "the name \"" + name +
        "\" has a slash: on etcd a lock \"a\" would wait for a lock \"a/b\"; use another character, or put "
        "what is before the last slash into the URL: etcd://host/prefix");
  }
  if (names.size() > most_names_on_etcd) {
    refuse("a multi_mutex has at most " + std::to_string(most_names_on_etcd) +
           " names there, which is what a transaction of etcd can take; it has " +
           std::to_string(names.size()));
  }
  if (options.wire == wire::redisson)
    refuse("Redisson's wire is a format of Redis; leave lock_options::wire out");
  if (options.keep)
    refuse(
        "lock_options::keep isn't possible on etcd, where the lease of a key is the client's, and lives on");
  if (options.replicas > 0 || options.fsynced) {
    refuse(
        "leave lock_options::replicas and fsynced out: etcd answers when a majority of its members has "
        "the lock on disk");
  }
  if (options.detect_deadlock)
    refuse(
        "lock_options::detect_deadlock needs keys beside the locks, which there aren't on etcd; leave it "
        "out");
  return *kind.on_etcd;
}

engine::recipe const& choose_recipe(wires const& kind, std::span<std::string const> names,
                                    lock_options const& options, engine::core const& client) {
  if (client.constants().deployment.etcd) return choose_on_etcd(kind, names, options, client.constants());
  if (!on_redisson(options, client)) {
    if (client.constants().deployment.slots) {
      for (auto const& name : names) check_cluster_name(name);
    }
    return kind.plain;
  }
  for (auto const& name : names) check_redisson_name(name);
  if (!options.fenced) return kind.redisson;
  if (kind.fenced == nullptr) {
    throw error{std::errc::invalid_argument,
                "on Redisson's wire only mutex and recursive_mutex can be fenced; leave lock_options::fenced "
                "out, or use wire::plain, where all locks have tokens"};
  }
  return *kind.fenced;
}

void check_detection(engine::recipe const& chosen, std::string const& name, engine::core& client) {
  if (chosen.blocked_by == engine::blocked_by::unknown) {
    throw error{
        std::errc::invalid_argument,
        "lock_options::detect_deadlock of lock \"" + name +
            "\" is for mutex, fair_mutex, recursive_mutex, shared_mutex, and a multi_mutex whose names are "
            "all to write, on the plain wire: elsewhere nothing says for whom a caller waits, or there is no "
            "place to say it. Leave it out, and wait for a limited time"};
  }
  client.check_scripts("lock_options::detect_deadlock");
}

/// Not on Redisson's wire, for names that aren't all to write.
wires wires_of(std::span<multi_name const> names) {
  auto const of = [](engine::recipe const& plain, engine::recipe const* on_etcd) {
    return wires{.plain = plain, .redisson = plain, .fenced = nullptr, .on_etcd = on_etcd};
  };
  if (names.size() > 1) return of(plain::mixed, nullptr);
  return names.front().as == multi_name::hold::read ? of(plain::reader, &etcd::reader)
                                                    : of(plain::permits, &etcd::permits);
}

}  // namespace

engine::recipe const& choose(wires const& kind, std::span<std::string const> names,
                             lock_options const& options, engine::core& client) {
  auto const& chosen = choose_recipe(kind, names, options, client);
  if (options.detect_deadlock) check_detection(chosen, names.front(), client);
  return chosen;
}

engine::recipe const& choose(std::span<multi_name const> names, lock_options const& options,
                             engine::core& client) {
  std::vector<std::string> plain_names;
  plain_names.reserve(names.size());
  for (auto const& wanted : names) plain_names.push_back(wanted.name);
  auto const other =
      std::ranges::find_if(names, [](auto const& wanted) { return wanted.as != multi_name::hold::write; });
  if (other == names.end())
    return choose(names.size() == 1 ? lone_wires : multi_wires, plain_names, options, client);
  auto const how = other->as == multi_name::hold::read ? "to read" : "for its permits";
  if (on_redisson(options, client)) {
    throw error{std::errc::invalid_argument,
                "on Redisson's wire a multi_mutex takes names to write, not \"" + other->name + "\" " + how +
                    ": its scripts know of one kind; leave read() and permits() out, or use wire::plain"};
  }
  if (client.constants().deployment.etcd && names.size() > 1) {
    throw error{std::errc::invalid_argument,
                client.constants().url + ": on etcd several names are taken together to write, not \"" +
                    other->name + "\" " + how + "; leave read() and permits() out"};
  }
  return choose(wires_of(names), plain_names, options, client);
}

}  // namespace holdfast::sync
