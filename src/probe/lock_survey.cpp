#include "probe/lock_survey.hpp"

#include "base/ranges.hpp"
#include "engine/access.hpp"
#include "engine/core.hpp"
#include "inspect/attempts.hpp"
#include "inspect/search.hpp"
#include "inspect/slot_parts.hpp"
#include "inspect/states.hpp"
#include "inspect/view.hpp"
#include "probe/survey_on_etcd.hpp"
#include "script/names.hpp"
#include "scripts/inspect.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>

namespace holdfast::probe {
namespace {

/// So many are asked about at a time. The server answers about as many as take it under a millisecond.
constexpr std::size_t names_a_step = 200;

constexpr std::string_view side_keys[]{":holdfast_token", ":holdfast_queue", ":holdfast_counted",
                                       ":holdfast_arrived"};

/// How the text of scripts/inspect/pulse begins for permits.
constexpr std::string_view of_a_set{"of another type "};

lock_pulse read_pulse(resp::reply const& state, resp::reply const& ttl, pulse_scope const scope) {
  std::string_view const text{state.text};
  bool const idle = text.starts_with(' ') && text.ends_with(" 0");
  lock_pulse pulse{.state = std::hash<std::string_view>{}(text), .in_use = !idle};
  if (scope == pulse_scope::state) return pulse;
  std::chrono::milliseconds const left{ttl.integer};
  auto const lasts = text.starts_with(of_a_set) && !ranges::left_of_lease(left);
  pulse.ttl = lasts ? std::chrono::milliseconds{-1} : left;
  return pulse;
}

/// Adds what it has sent to a sum when it ends.
class counted_search {
 public:
  counted_search(std::size_t& sum, engine::core& server, inspection::search::visitor const& f)
      : sum_{sum}, query_{server, "*", f} {}
  ~counted_search() { sum_ += query_.requests(); }
  counted_search(counted_search const&) = delete;
  counted_search& operator=(counted_search const&) = delete;

  [[nodiscard]] inspection::search& operator*() noexcept { return query_; }
  [[nodiscard]] inspection::search* operator->() noexcept { return &query_; }

 private:
  std::size_t& sum_;
  inspection::search query_;
};

}  // namespace

struct lock_survey::impl {
  explicit impl(client& redis) : server{engine::access::core_of(redis)}, clients{*server} {
    if (server->requests().has_viewer()) {
      etcd.emplace(*server);
    } else {
      server->constants().check_kind(engine::deciders::one);
    }
  }

  /// `indices`: of these names, which share a slot. Returns how many of them were answered, one at least.
  [[nodiscard]] std::size_t feel(std::span<std::string const> names, std::span<std::size_t const> indices,
                                 pulse_scope const scope, std::vector<lock_pulse>& to) {
    std::vector<std::string> queues;
    queues.reserve(indices.size());
    std::vector<key> keys;
    keys.reserve(indices.size() * 2);
    for (auto const index : indices) {
      queues.push_back(names::queue(names[index]));
      keys.push_back({names[index]});
      keys.push_back({queues.back()});
    }
    ++requests;
    auto const reply = inspection::ask_one(
        *server, scripts::inspect::pulse{.names = keys, .scope = scope == pulse_scope::state ? "" : "ttl"}(),
        names[indices.front()]);
    check(reply, std::clamp<std::size_t>(reply.size() / 2, 1, indices.size()) * 2);
    auto const answered = reply.size() / 2;
    for (std::size_t i = 0; i != answered; ++i)
      to[indices[i]] = read_pulse(reply[2 * i], reply[2 * i + 1], scope);
    return answered;
  }

  /// Names that share a slot.
  using group = std::vector<std::string>;

  /// False: f has returned false.
  bool look(std::span<group const> groups, std::function<bool(lock_state const&)> const& f) {
    auto const scope = sees_redisson ? inspection::look_for::both : inspection::look_for::plain;
    auto const publish = server->publishing_now();
    std::vector<call> questions;
    questions.reserve(groups.size());
    for (auto const& names : groups)
      questions.push_back(inspection::look_at_several(names, publish, scope, queue_entries_of_a_look));
    requests += groups.size();
    auto const& first = groups.front().front();
    auto const replies = inspection::ask_all(*server, questions, first);
    std::vector<lock_on_wires> all;
    for (std::size_t i = 0; i != groups.size(); ++i) {
      check(replies[i], groups[i].size());
      for (std::size_t j = 0; j != groups[i].size(); ++j)
        all.push_back(inspection::read_states(groups[i][j], replies[i][j]));
    }
    std::vector<lock_state*> locks;
    locks.reserve(all.size() * 2);
    for (auto& lock : all) locks.insert(locks.end(), {&lock.plain, &lock.redisson});
    // Whoever wants to know more of a thousand waiters than their ids looks at one lock.
    std::vector<std::vector<waiter_info>> queues;
    queues.reserve(locks.size());
    for (auto* const lock : locks) queues.push_back(std::exchange(lock->queue, {}));
    clients.complete(locks, first);
    for (std::size_t i = 0; i != locks.size(); ++i) locks[i]->queue = std::move(queues[i]);
    return std::ranges::all_of(locks, [&f](lock_state const* lock) { return f(*lock); });
  }

  bool look_as_allowed(std::span<group const> groups, std::function<bool(lock_state const&)> const& f) {
    try {
      return look(groups, f);
    } catch (error const& problem) {
      if (problem.code() != errc::unauthorized || !std::exchange(sees_redisson, false)) throw;
      return look(groups, f);
    }
  }

  void check(resp::reply const& answer, std::size_t elements) const {
    if (answer.size() != elements)
      throw error{errc::protocol, server->constants().url + ": that is not the answer to a look at locks"};
  }

  std::shared_ptr<engine::core> server;
  std::optional<survey_on_etcd> etcd{};  ///< it does all of it there
  inspection::directory clients;
  std::size_t requests = 0;
  bool sees_redisson = true;
};

lock_survey::lock_survey(client& redis) : impl_{std::make_unique<impl>(redis)} {}
lock_survey::~lock_survey() = default;

bool lock_survey::on_etcd() const noexcept { return impl_->etcd.has_value(); }

std::size_t lock_survey::requests() const noexcept {
  return impl_->etcd ? impl_->etcd->requests() : impl_->requests + impl_->clients.requests();
}

std::vector<lock_pulse> lock_survey::feel(std::span<std::string const> const names, pulse_scope const scope) {
  if (impl_->etcd) return impl_->etcd->feel(names, scope);
  std::vector<lock_pulse> all(names.size());
  inspection::for_each_slot_part(
      *impl_->server, names, names.size(), [&](std::span<std::size_t const> unanswered) {
        while (!unanswered.empty()) {
          auto const some = unanswered.first(std::min(unanswered.size(), names_a_step));
          unanswered = unanswered.subspan(impl_->feel(names, some, scope, all));
        }
        return true;
      });
  return all;
}

void lock_survey::look(std::span<std::string const> const names,
                       std::function<bool(lock_state const&)> const& f) {
  if (impl_->etcd) return impl_->etcd->look(names, f);
  impl_->clients.forget_unknown();
  std::vector<impl::group> together;  // in one round trip
  std::size_t count = 0;
  bool goes_on = true;
  auto const look_at_these = [&] {
    goes_on = together.empty() || impl_->look_as_allowed(together, f);
    together.clear();
    count = 0;
  };
  inspection::for_each_slot_part(*impl_->server, names, inspection::looks_in_one,
                                 [&](std::span<std::size_t const> indices) {
                                   if (count + indices.size() > inspection::looks_in_one ||
                                       together.size() == inspection::pipeline_length)
                                     look_at_these();
                                   auto& some = together.emplace_back();
                                   some.reserve(indices.size());
                                   for (auto const index : indices) some.push_back(names[index]);
                                   count += indices.size();
                                   return goes_on;
                                 });
  if (goes_on) look_at_these();
}

bool lock_survey::expects_trace_of(lock_state const& lock) const {
  if (impl_->etcd) return false;
  return std::ranges::any_of(
      lock.holders, [this](hold_info const& each) { return impl_->clients.may_say_trace_of(each.process); });
}

void lock_survey::find_names(std::function<bool(std::vector<std::string> const&)> const& f) {
  if (impl_->etcd) return impl_->etcd->find_names(f);
  std::function<bool(lock_state const&)> const unused;
  counted_search query{impl_->requests, *impl_->server, unused};
  auto const filter = inspection::beside("*", inspection::plain_suffixes);
  query->scan(filter, {}, [&](inspection::search::keys const& page) {
    std::vector<std::string> names;
    for (auto const& key : page) {
      for (auto const suffix : side_keys) {
        if (auto name = inspection::lock_of(key, suffix); !name.empty()) names.push_back(std::move(name));
      }
    }
    return names.empty() || f(names);
  });
}

void lock_survey::find_others(std::function<bool(std::vector<std::string> const&)> const& names,
                              std::function<bool(lock_state const&)> const& redisson) {
  if (impl_->etcd) return;  // find_names() has found them
  counted_search query{impl_->requests, *impl_->server, redisson};
  bool in_caller = false;
  inspection::attempts try_to{in_caller};
  bool const goes_on = query->scan("*", "zset", [&](inspection::search::keys const& sets) {
    auto const found = inspection::names_of_sets(*query, sets);
    return (found.empty() || names(found)) && try_to([&] { return inspection::show_permits(*query, sets); });
  });
  if (try_to.refused()) throw error{*try_to.refused()};
  if (goes_on && inspection::find_hashes(*query)) inspection::find_waited_for(*query);
}

}  // namespace holdfast::probe
