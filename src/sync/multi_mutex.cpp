#include <holdfast/multi_mutex.hpp>

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "engine/access.hpp"
#include "sync/multi.hpp"
#include "sync/multi_contents.hpp"
#include "sync/options_check.hpp"
#include "sync/slot_groups.hpp"
#include "sync/std_shape.hpp"

namespace holdfast {
namespace {

constexpr std::size_t most_names = 1000;

struct place {
  std::shared_ptr<engine::core> core;
  std::string name;
  std::size_t given_as;
};

using places = std::vector<place>;

void check(places const& all, lock_options const& options) {
  sync::check(!all.empty(), "a multi_mutex needs a name: it has none");
  sync::check(all.size() <= most_names,
              "a multi_mutex has at most 1000 names, not " + std::to_string(all.size()));
  for (auto const& one : all) sync::check(one.name, options);
  // By URL, and not by client: two clients of one server would wait for each other for ever.
  std::set<std::pair<std::string_view, std::string_view>> known;
  for (auto const& one : all) {
    sync::check(known.emplace(one.core->url(), one.name).second,
                "the name \"" + one.name + "\" is given twice for " + one.core->url());
  }
}

/// What messages call them, if they can be taken together.
std::string checked_title(places const& all, lock_options const& options) {
  check(all, options);
  std::vector<std::string_view> names;
  names.reserve(all.size());
  for (auto const& one : all) names.push_back(one.name);
  return sync::title_of(names);
}

/// Cuts off those of the first client and hash slot, for a group of their own.
std::vector<std::string> next_group(places& sorted, std::size_t part, std::vector<std::size_t>& part_of) {
  auto const* const core = sorted.front().core.get();
  auto const slot = core->slot_of(sorted.front().name);
  auto const end = std::ranges::find_if(sorted, [core, slot](place const& one) {
    return one.core.get() != core || core->slot_of(one.name) != slot;
  });
  std::vector<std::string> names;
  for (auto one = sorted.begin(); one != end; ++one) {
    part_of[one->given_as] = part;
    names.push_back(std::move(one->name));
  }
  sorted.erase(sorted.begin(), end);
  return names;
}

places places_of(client const& redis, std::vector<std::string> names) {
  places all;
  all.reserve(names.size());
  for (auto& name : names) all.push_back({engine::access::core_of(redis), std::move(name), all.size()});
  return all;
}

places places_of(std::vector<multi_mutex::member> members) {
  places all;
  all.reserve(members.size());
  for (auto& one : members)
    all.push_back({engine::access::core_of(one.server), std::move(one.name), all.size()});
  return all;
}

}  // namespace

struct multi_mutex::impl {
  std::string title;
  std::shared_ptr<multi_lease::contents const> what;
  sync::slot_groups groups;
  sync::std_shape<multi_lease> shape;

  impl(places all, lock_options const& options)
      : title{checked_title(all, options)},
        shape{"the lock " + title, engine::exclusive_kind::nesting::refused,
              [on = all.front().core, called = title](multi_lease mine) {
                mine.async_release({});
                on->warn([&called] {
                  return "a thread ended without unlocking the lock " + called + "; it is given back";
                });
              }} {
    auto contents = std::make_shared<multi_lease::contents>();
    for (auto const& one : all) contents->names.push_back(one.name);
    contents->part_of.resize(all.size());
    std::ranges::sort(
        all, {},
        [](place const& one) -> std::tuple<std::string_view, std::string_view, int, std::string_view> {
          return {one.core->url(), one.core->uuid(), one.core->slot_of(one.name), one.name};
        });
    std::vector<sync::slot_group> made;
    while (!all.empty()) {
      auto const core = all.front().core;
      auto const names = next_group(all, made.size(), contents->part_of);
      made.emplace_back(core, names, options);
    }
    groups = std::make_shared<std::vector<sync::slot_group> const>(std::move(made));
    what = std::move(contents);
  }

  [[nodiscard]] std::optional<multi_lease> acquire(engine::patience_time wait,
                                                   std::stop_token const& stop) const {
    auto parts = sync::take_together(groups, wait, stop);
    if (parts.empty()) return std::nullopt;
    return multi_lease{what, std::move(parts)};
  }

  void async_acquire(engine::patience_time wait, acquire_handler done, std::stop_token stop) const {
    sync::async_take_together(
        groups, wait, std::move(stop),
        [made_of = what, done = std::move(done)](std::vector<lease> parts, std::exception_ptr const& why) {
          std::optional<multi_lease> result;
          if (!parts.empty()) result = multi_lease{made_of, std::move(parts)};
          done(std::move(result), why);
        });
  }

  void check_wait(std::chrono::nanoseconds wait) const {
    sync::check(wait.count() >= 0, "the time to wait for the lock " + title + " is negative");
  }
};

multi_mutex::multi_mutex(client& redis, std::vector<std::string> names, lock_options options)
    : impl_{std::make_unique<impl>(places_of(redis, std::move(names)), options)} {}

multi_mutex::multi_mutex(std::vector<member> members, lock_options options)
    : impl_{std::make_unique<impl>(places_of(std::move(members)), options)} {}

multi_mutex::~multi_mutex() = default;

std::optional<busy_info> multi_mutex::last_busy() {
  sync::slot_group const* last = nullptr;
  auto at = time_point{};
  for (auto const& one : *impl_->groups) {
    auto const when = one.core().last_busy_at(*one.queue());
    if (when <= at) continue;
    last = &one;
    at = when;
  }
  return last != nullptr ? last->core().last_busy(*last->queue()) : std::nullopt;
}

std::vector<std::string> const& multi_mutex::names() const noexcept { return impl_->what->names; }

void multi_mutex::lock() {
  impl_->shape.lock([this] { return acquire(); });
}

bool multi_mutex::try_lock() { return try_lock_within({}); }

bool multi_mutex::try_lock_within(std::chrono::nanoseconds wait) {
  return impl_->shape.try_lock([this, wait] { return impl_->acquire(wait, {}); });
}

void multi_mutex::unlock() { impl_->shape.unlock(); }

release_result multi_mutex::last_release() const noexcept { return impl_->shape.last_release(); }

multi_lease multi_mutex::acquire(std::stop_token stop) {
  return std::move(*impl_->acquire(std::nullopt, stop));
}

std::optional<multi_lease> multi_mutex::try_acquire() { return try_acquire_within({}, {}); }

std::optional<multi_lease> multi_mutex::try_acquire_within(std::chrono::nanoseconds wait,
                                                           std::stop_token stop) {
  impl_->check_wait(wait);
  return impl_->acquire(wait, stop);
}

void multi_mutex::async_acquire(acquire_handler done, std::stop_token stop) {
  impl_->async_acquire(std::nullopt, std::move(done), std::move(stop));
}

void multi_mutex::async_try_acquire_within(std::chrono::nanoseconds wait, acquire_handler done,
                                           std::stop_token stop) {
  impl_->check_wait(wait);
  impl_->async_acquire(wait, std::move(done), std::move(stop));
}

}  // namespace holdfast
