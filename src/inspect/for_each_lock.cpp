#include <holdfast/inspect.hpp>

#include "engine/access.hpp"
#include "inspect/attempts.hpp"
#include "inspect/glob.hpp"
#include "inspect/on_etcd.hpp"
#include "inspect/search.hpp"

namespace holdfast {
namespace {

using inspection::attempts;
using inspection::search;

void find_plain(search& query) {
  auto const filter = inspection::beside(query.pattern(), inspection::plain_suffixes);
  bool const goes_on = query.scan(
      filter, {}, [&query](search::keys const& page) { return inspection::show_plain(query, page); });
  if (goes_on) inspection::show_sets(query);
}

void find_redisson(search& query) {
  auto const filter = inspection::beside(query.pattern(), inspection::permit_suffixes);
  auto const show = [&query](search::keys const& page) { return inspection::show_permits(query, page); };
  if (inspection::find_hashes(query) && query.scan(filter, "zset", show)) inspection::find_waited_for(query);
}

/// For a name that was given in full.
bool wanted_by_name(lock_state const& state) {
  return inspection::wanted_of_plain(state) || inspection::wanted_of_redisson(state);
}

std::optional<error> find_on_wires(search& query, attempts try_to) {
  if (auto const start = inspection::start_of(query.pattern()); start.complete) {
    try_to([&] { return query.show({start.text}, wanted_by_name); });
    if (try_to.refused()) query.show({start.text}, inspection::wanted_of_plain, inspection::look_for::plain);
    return try_to.refused();
  }
  auto const filter = inspection::beside(query.pattern(), inspection::suffixes_of_both);
  bool const goes_on = query.scan(filter, {}, [&](search::keys const& page) {
    return inspection::show_plain(query, page) &&
           try_to([&] { return inspection::show_permits(query, page); });
  });
  if (goes_on && inspection::show_sets(query) && try_to([&] { return inspection::find_hashes(query); }))
    try_to([&] { return inspection::find_waited_for(query); });
  return try_to.refused();
}

}  // namespace

void for_each_lock(client& redis, std::string_view pattern, std::function<bool(lock_state const&)> const& f,
                   wire of) {
  auto const server = engine::access::core_of(redis);
  if (server->requests().has_viewer()) {
    inspection::on_etcd::check_wire(*server, of);
    inspection::on_etcd::for_each_lock(*server, pattern, f);
    return;
  }
  server->constants().check_kind(engine::deciders::one);
  search query{*server, pattern, f};
  bool const of_redisson = (of == wire::automatic ? server->constants().wire : of) == wire::redisson;
  auto const start = inspection::start_of(pattern);
  if (start.complete && of_redisson) {
    query.show({start.text}, inspection::wanted_of_redisson);
  } else if (start.complete) {
    query.show({start.text}, inspection::wanted_of_plain, inspection::look_for::plain);
  } else if (of_redisson) {
    find_redisson(query);
  } else {
    find_plain(query);
  }
}

std::optional<error> for_each_lock_on_wires(client& redis, std::string_view pattern,
                                            std::function<bool(lock_state const&)> const& f) {
  auto const server = engine::access::core_of(redis);
  if (server->requests().has_viewer()) {
    inspection::on_etcd::for_each_lock(*server, pattern, f);
    return std::nullopt;
  }
  server->constants().check_kind(engine::deciders::one);
  bool in_caller = false;
  search::visitor const visitor = [&](lock_state const& state) {
    in_caller = true;
    bool const goes_on = f(state);
    in_caller = false;
    return goes_on;
  };
  search query{*server, pattern, visitor};
  return find_on_wires(query, attempts{in_caller});
}

}  // namespace holdfast
