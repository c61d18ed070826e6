#include "probe/lock_survey.hpp"

#include "engine/access.hpp"
#include "engine/core.hpp"
#include "inspect/search.hpp"
#include "script/names.hpp"
#include "scripts/inspect.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <string_view>
#include <utility>

namespace holdfast::probe {
namespace {

/// So many take under a millisecond of the server's time.
constexpr std::size_t names_a_step = 192;

constexpr std::string_view side_keys[]{":holdfast_token", ":holdfast_queue", ":holdfast_counted",
                                       ":holdfast_arrived"};

lock_pulse read_pulse(resp::reply const& state, resp::reply const& ttl, pulse_scope const scope) {
  std::string_view const text{state.text};
  bool const idle = text.starts_with(' ') && text.ends_with(" 0");
  lock_pulse pulse{.state = std::hash<std::string_view>{}(text), .in_use = !idle};
  if (scope == pulse_scope::state_and_ttl) pulse.ttl = std::chrono::milliseconds{ttl.integer};
  return pulse;
}

bool any(lock_state const&) { return true; }

}  // namespace

struct lock_survey::impl {
  explicit impl(client& redis) : server{engine::access::core_of(redis)} {
    server->constants().check_kind(engine::votes::none);
  }

  /// `places`: of these names, which share a slot.
  void feel(std::span<std::string const> names, std::span<std::size_t const> places, pulse_scope const scope,
            std::vector<lock_pulse>& to) {
    std::vector<std::string> queues;
    queues.reserve(places.size());
    std::vector<key> keys;
    keys.reserve(places.size() * 2);
    for (auto const place : places) {
      queues.push_back(names::queue(names[place]));
      keys.push_back({names[place]});
      keys.push_back({queues.back()});
    }
    ++requests;
    auto const reply = inspection::ask_one(
        *server, scripts::inspect::pulse{.names = keys, .scope = scope == pulse_scope::state ? "" : "ttl"}(),
        names[places.front()]);
    if (reply.size() != keys.size())
      throw error{errc::protocol, server->constants().url + ": that is not the answer to a look at locks"};
    for (std::size_t i = 0; i != places.size(); ++i)
      to[places[i]] = read_pulse(reply[2 * i], reply[2 * i + 1], scope);
  }

  std::shared_ptr<engine::core> server;
  std::size_t requests = 0;
  bool sees_redisson = true;
};

lock_survey::lock_survey(client& redis) : impl_{std::make_unique<impl>(redis)} {}
lock_survey::~lock_survey() = default;

std::size_t lock_survey::requests() const noexcept { return impl_->requests; }

std::vector<lock_pulse> lock_survey::feel(std::span<std::string const> const names, pulse_scope const scope) {
  std::map<std::uint16_t, std::vector<std::size_t>> by_slot;  // the keys of a script share a slot
  for (std::size_t i = 0; i != names.size(); ++i)
    by_slot[impl_->server->constants().slot_of(names[i])].push_back(i);
  std::vector<lock_pulse> all(names.size());
  for (auto const& [slot, places] : by_slot) {
    for (std::span<std::size_t const> rest{places}; !rest.empty();) {
      auto const some = rest.first(std::min(rest.size(), names_a_step));
      rest = rest.subspan(some.size());
      impl_->feel(names, some, scope, all);
    }
  }
  return all;
}

void lock_survey::look(std::vector<std::string> const& names,
                       std::function<bool(lock_state const&)> const& f) {
  impl_->requests += names.size();
  inspection::search query{*impl_->server, "*", f};
  if (impl_->sees_redisson) {
    try {
      query.show(names, any);
      return;
    } catch (error const& problem) {
      if (problem.code() != errc::unauthorized) throw;
      impl_->sees_redisson = false;
    }
  }
  query.show(names, any, inspection::look_for::plain);
}

void lock_survey::find_names(std::function<bool(std::vector<std::string> const&)> const& f) {
  std::function<bool(lock_state const&)> const unused;
  inspection::search query{*impl_->server, "*", unused};
  auto const filter = inspection::beside("*", inspection::plain_suffixes);
  query.scan(filter, {}, [&](inspection::search::keys const& page) {
    ++impl_->requests;
    std::vector<std::string> names;
    for (auto const& key : page) {
      for (auto const suffix : side_keys) {
        if (auto name = inspection::lock_of(key, suffix); !name.empty()) names.push_back(std::move(name));
      }
    }
    return names.empty() || f(names);
  });
}

}  // namespace holdfast::probe
