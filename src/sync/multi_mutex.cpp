#include <holdfast/multi_mutex.hpp>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "engine/access.hpp"
#include "sync/multi_contents.hpp"
#include "sync/options_check.hpp"
#include "sync/shared_counter.hpp"
#include "sync/slot_groups.hpp"
#include "sync/std_shape.hpp"
#include "wire/lock_names.hpp"

namespace holdfast {
namespace {

constexpr std::size_t most_names = 1000;

struct named_lock {
  std::shared_ptr<engine::core> core;
  multi_name wanted;
  std::size_t position;  ///< in the order given

  [[nodiscard]] std::string const& name() const noexcept { return wanted.name; }
};

using named_locks = std::vector<named_lock>;

std::string description_of(multi_name const& wanted) {
  switch (wanted.as) {
    case multi_name::hold::write:
      return "to write";
    case multi_name::hold::read:
      return "to read";
    case multi_name::hold::permits:
      break;
  }
  return "for permits";
}

void check(multi_name const& wanted, lock_options const& options) {
  sync::check(wanted.name, options);
  if (wanted.as != multi_name::hold::permits) return;
  sync::check_number("the number of permits to acquire of", wanted.name, wanted.count, 1, sync::most_permits);
  sync::check_number("the number of permits of", wanted.name, wanted.size, 0, sync::most_permits);
  sync::check(wanted.size == 0 || wanted.count <= wanted.size,
              std::to_string(wanted.count) + " permits of \"" + wanted.name + "\" are wanted, which has " +
                  std::to_string(wanted.size) + " altogether: nobody could ever get them");
}

void check(named_locks const& all, lock_options const& options) {
  sync::check(!all.empty(), "a multi_mutex needs a name: it has none");
  sync::check(all.size() <= most_names,
              "a multi_mutex has at most 1000 names, not " + std::to_string(all.size()));
  for (auto const& lock : all) check(lock.wanted, options);
  // Compared by URL, not by client: two clients of one server would wait for each other for ever.
  std::map<std::pair<std::string_view, std::string_view>, multi_name const*> known;
  for (auto const& lock : all) {
    std::pair<std::string_view, std::string_view> const identity{lock.core->constants().url, lock.name()};
    auto const [before, fresh] = known.emplace(identity, &lock.wanted);
    if (fresh) continue;
    auto const first = description_of(*before->second);
    auto const second = description_of(lock.wanted);
    auto text = "the name \"" + lock.name() + "\" is given twice for " + lock.core->constants().url;
    if (first != second) text.append(", ").append(first).append(" and ").append(second);
    sync::check(false, text);
  }
}

/// The title of the lock in messages. Throws when the names can't be locked together.
std::string checked_title(named_locks const& all, lock_options const& options) {
  check(all, options);
  std::vector<std::string_view> names;
  names.reserve(all.size());
  for (auto const& lock : all) names.push_back(lock.name());
  return recipes::title_of(names);
}

/// Cuts off the names of the first client and hash slot, which form one group.
std::vector<multi_name> next_group(named_locks& sorted, std::size_t part, std::vector<std::size_t>& part_of) {
  auto const* const core = sorted.front().core.get();
  auto const slot = core->constants().slot_of(sorted.front().name());
  auto const end = std::ranges::find_if(sorted, [core, slot](named_lock const& lock) {
    return lock.core.get() != core || core->constants().slot_of(lock.name()) != slot;
  });
  std::vector<multi_name> names;
  for (auto lock = sorted.begin(); lock != end; ++lock) {
    part_of[lock->position] = part;
    names.push_back(std::move(lock->wanted));
  }
  sorted.erase(sorted.begin(), end);
  return names;
}

template <class Names>
named_locks named_locks_of(client const& redis, Names const& names) {
  named_locks all;
  all.reserve(names.size());
  for (auto const& name : names) all.push_back({engine::access::core_of(redis), name, all.size()});
  return all;
}

named_locks named_locks_of(std::vector<multi_mutex::member> members) {
  named_locks all;
  all.reserve(members.size());
  for (auto& member : members)
    all.push_back({engine::access::core_of(member.server), std::move(member.name), all.size()});
  return all;
}

}  // namespace

struct multi_mutex::impl {
  std::string title;
  std::shared_ptr<multi_lease::contents const> shared_contents;
  sync::slot_groups groups;
  sync::std_shape<multi_lease> shape;

  impl(named_locks all, lock_options const& options)
      : title{checked_title(all, options)},
        shape{"the lock " + title, engine::exclusive_kind::nesting::refused,
              [core = all.front().core, lock_title = title](multi_lease abandoned) {
                abandoned.async_release({});
                core->warn([&lock_title] {
                  return "a thread ended without unlocking the lock " + lock_title + "; it is given back";
                });
              }} {
    auto contents = std::make_shared<multi_lease::contents>();
    for (auto const& lock : all) contents->names.push_back(lock.name());
    contents->part_of.resize(all.size());
    std::ranges::sort(
        all, {},
        [](named_lock const& lock) -> std::tuple<std::string_view, std::string_view, int, std::string_view> {
          return {lock.core->constants().url, lock.core->constants().uuid,
                  lock.core->constants().slot_of(lock.name()), lock.name()};
        });
    std::vector<sync::slot_group> made;
    while (!all.empty()) {
      auto const core = all.front().core;
      auto const names = next_group(all, made.size(), contents->part_of);
      made.emplace_back(core, names, options);
    }
    groups = std::make_shared<std::vector<sync::slot_group> const>(std::move(made));
    shared_contents = std::move(contents);
  }

  static multi_lease hand_out(sync::slot_groups const& groups,
                              std::shared_ptr<multi_lease::contents const> contents,
                              std::vector<lease> parts) {
    multi_lease result{std::move(contents), std::move(parts)};
    sync::hand_out(groups, result.parts());
    return result;
  }

  [[nodiscard]] std::optional<multi_lease> acquire(engine::wait_limit wait,
                                                   std::stop_token const& stop) const {
    auto parts = sync::take_together(groups, wait, stop);
    if (parts.empty()) return std::nullopt;
    return hand_out(groups, shared_contents, std::move(parts));
  }

  void async_acquire(engine::wait_limit wait, acquire_handler done, std::stop_token stop) const {
    sync::check_handler(done, title);
    sync::async_take_together(groups, wait, std::move(stop),
                              [of = groups, contents = shared_contents, done = std::move(done)](
                                  std::vector<lease> parts, std::exception_ptr const& reason) mutable {
                                std::optional<multi_lease> result;
                                if (!parts.empty()) result = hand_out(of, contents, std::move(parts));
                                done(std::move(result), reason);
                              });
  }
};

multi_mutex::multi_mutex(client& redis, std::vector<std::string> names, lock_options options)
    : impl_{std::make_unique<impl>(named_locks_of(redis, names), options)} {}

multi_mutex::multi_mutex(client& redis, std::initializer_list<multi_name> names, lock_options options)
    : impl_{std::make_unique<impl>(named_locks_of(redis, names), options)} {}

multi_mutex::multi_mutex(client& redis, std::span<multi_name const> names, lock_options options)
    : impl_{std::make_unique<impl>(named_locks_of(redis, names), options)} {}

multi_mutex::multi_mutex(std::vector<member> members, lock_options options)
    : impl_{std::make_unique<impl>(named_locks_of(std::move(members)), options)} {}

multi_mutex::~multi_mutex() = default;

std::optional<busy_info> multi_mutex::last_busy() {
  sync::slot_group const* latest_group = nullptr;
  auto latest = time_point{};
  for (auto const& group : *impl_->groups) {
    auto const busy_at = group.core().locks().last_busy_at(*group.queue());
    if (busy_at <= latest) continue;
    latest_group = &group;
    latest = busy_at;
  }
  return latest_group != nullptr ? latest_group->core().locks().last_busy(*latest_group->queue())
                                 : std::nullopt;
}

std::vector<std::string> const& multi_mutex::names() const noexcept { return impl_->shared_contents->names; }

void multi_mutex::lock() {
  impl_->shape.lock([this] { return acquire(); });
}

bool multi_mutex::try_lock() { return try_lock_within({}); }

bool multi_mutex::try_lock_within(std::chrono::nanoseconds wait) {
  return impl_->shape.try_lock([this, wait] { return impl_->acquire(wait, {}); });
}

void multi_mutex::unlock() { impl_->shape.unlock(); }

std::optional<release_result> multi_mutex::last_release() const noexcept {
  return impl_->shape.last_release();
}

multi_lease_view multi_mutex::current() const {
  return impl_->shape.look_at_own([](multi_lease const& held) { return multi_lease_view{held}; });
}

multi_lease multi_mutex::acquire(std::stop_token stop) {
  return std::move(*impl_->acquire(std::nullopt, stop));
}

std::optional<multi_lease> multi_mutex::try_acquire() { return try_acquire_within({}, {}); }

std::optional<multi_lease> multi_mutex::try_acquire_within(std::chrono::nanoseconds wait,
                                                           std::stop_token stop) {
  return impl_->acquire(wait, stop);
}

void multi_mutex::async_acquire(acquire_handler done, std::stop_token stop) {
  impl_->async_acquire(std::nullopt, std::move(done), std::move(stop));
}

void multi_mutex::async_try_acquire_within(std::chrono::nanoseconds wait, acquire_handler done,
                                           std::stop_token stop) {
  impl_->async_acquire(wait, std::move(done), std::move(stop));
}

}  // namespace holdfast
