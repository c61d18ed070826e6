#include "sync/options_check.hpp"

#include <holdfast/error.hpp>

#include "base/ranges.hpp"
#include "script/names.hpp"

namespace holdfast::sync {

void check(bool fine, std::string const& message) {
  if (!fine) throw error{std::errc::invalid_argument, message};
}

void check(std::string const& name, lock_options const& options) {
  check(!name.empty(), "a lock needs a name: it is empty");
  check(name.size() <= longest_name,
        "the name of a lock has at most 65536 bytes, not " + std::to_string(name.size()));
  auto const option_of_lock = [&name](char const* option) {
    return std::string{option} + " of lock \"" + name + "\"";
  };
  ranges::check(options, ranges::of_locks, option_of_lock);
  check(options.renew_every <= options.ttl / 2,
        option_of_lock("renew_every") + " must be at most half the ttl, so that one renewal can fail");
  check(options.max_renewals >= 0, option_of_lock("max_renewals") + " must not be negative");
  check(options.handoff_limit >= 0 && options.handoff_limit <= 4096,
        option_of_lock("handoff_limit") + " must be from 0 to 4096");
  check(options.replicas >= 0, option_of_lock("replicas") + " must not be negative");
  check(options.poll_floor <= options.poll_cap, option_of_lock("poll_floor") + " must be at most poll_cap");
}

void check_cluster_name(std::string_view name) {
  check(names::fits_in_a_slot(name),
        "the name \"" + std::string{name} +
            "\" can't be used in a cluster: its first '{' needs a '}' behind it, and something between them; "
            "otherwise the keys beside it are in another hash slot. Leave the braces out, or put a tag in "
            "them, as in \"{orders}42\"");
}

void check_redisson_name(std::string_view name) {
  check(names::fits_in_a_slot(name),
        "the name \"" + std::string{name} +
            "\" can't be used on Redisson's wire: its first '{' needs a '}' behind it, and something between "
            "them; otherwise its channel is in another hash slot than its key, and a cluster that granted "
            "the lock couldn't release it");
}

}  // namespace holdfast::sync
