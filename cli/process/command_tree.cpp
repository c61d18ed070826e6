#include "process/command_tree.hpp"

#include <algorithm>

namespace holdfast::cli {
namespace {

/// The kernel gives no id of more than 22 bits.
std::uint64_t identity_of(process_entry const& entry) noexcept {
  return entry.started << 22U | static_cast<std::uint64_t>(entry.id);
}

}  // namespace

void spared_processes::add(process_entry const& entry) noexcept {
  auto const place = count_.fetch_add(1);
  if (place < identities_.size()) identities_[place] = identity_of(entry);
}

bool spared_processes::has(process_entry const& entry) const noexcept {
  auto const count = std::min(count_.load(), identities_.size());
  return std::any_of(identities_.begin(), identities_.begin() + count,
                     [identity = identity_of(entry)](auto const& spared) { return spared == identity; });
}

command_tree::command_tree(spared_processes& spared, job const of) noexcept : spared_{spared}, job_{of} {}

void command_tree::spare_present() noexcept {
  look();
  for (auto const& entry : table_.all()) {
    if (entry.depth != 0) spared_.add(entry);
  }
}

void command_tree::spare_daemons() noexcept {
  if (!spared_.choose_now()) return;
  look();
  for (int depth = 1; depth <= deepest_; ++depth) {
    for (auto const& entry : table_.all()) {
      if (entry.depth != depth) continue;
      auto const* const parent = table_.find(entry.parent);
      if (is_daemon(entry) || (parent != nullptr && spared_.has(*parent))) spared_.add(entry);
    }
  }
}

void command_tree::look() noexcept {
  deepest_ = 0;
  if (!table_.read()) {
    // Without /proc the command itself is all that can be found.
    if (command_is_there()) add_command();
  } else if (table_.find(command_) == nullptr && command_is_there()) {
    // /proc hides the processes of other users (hidepid), and it is one, such as sudo(8).
    add_command();
    std::ranges::sort(table_.all(), {}, &process_entry::id);
  }
  auto const depth_of = [this](process_entry const& entry) {
    if (entry.parent == root_) return 1;
    auto const* const parent = table_.find(entry.parent);
    return parent != nullptr && parent->depth != 0 ? parent->depth + 1 : 0;
  };
  // A parent may have the greater id, after the numbers began anew: hence until nothing changes.
  for (bool changed = true; changed;) {
    changed = false;
    for (auto& entry : table_.all()) {
      if (entry.depth != 0 || entry.id == root_ || spared_.has(entry)) continue;
      entry.depth = depth_of(entry);
      deepest_ = std::max(deepest_, entry.depth);
      changed = changed || entry.depth != 0;
    }
  }
}

bool command_tree::command_is_there() const noexcept {
  return command_ > 0 && !command_ended_ && (kill(command_, 0) == 0 || errno == EPERM);
}

void command_tree::add_command() noexcept {
  table_.add({.id = command_, .parent = root_, .group = job_.group, .session = job_.session});
}

bool command_tree::is_empty() const noexcept {
  return std::ranges::none_of(
      table_.all(), [this](auto const& entry) { return is_in(part::all, entry) && !entry.ended(); });
}

command_tree::reach command_tree::send(int const signal, part const scope) noexcept {
  look();
  return send(signal, scope, [](pid_t) { return true; });
}

bool command_tree::is_own_child(process_entry const& entry) const noexcept {
  return entry.parent == root_ || (guard_ != 0 && entry.parent == guard_);
}

/// The command may have made a session of its own (setsid); its processes there are no daemons. Nor is the
/// guard of a `holdfast run` below ours that was killed.
bool command_tree::is_daemon(process_entry const& entry) const noexcept {
  return is_own_child(entry) && entry.id != guard_ && entry.id != command_ && !entry.is_guard &&
         entry.session != job_.session && entry.session != command_;
}

bool command_tree::is_in(part const scope, process_entry const& entry) const noexcept {
  if (entry.depth == 0 || entry.id == guard_) return false;
  if (scope == part::all) return true;
  if (is_daemon(entry)) return false;
  if (entry.group == job_.group || is_own_child(entry)) return true;
  auto const* const parent = table_.find(entry.parent);
  return parent != nullptr && parent->group == job_.group;
}

}  // namespace holdfast::cli
