/// The options and names of locks, checked before anything is sent.
#pragma once

#include <cstddef>
#include <holdfast/options.hpp>
#include <string>
#include <string_view>

namespace holdfast::sync {

/// In bytes.
inline constexpr std::size_t longest_name = 65536;

/// Throws std::errc::invalid_argument with `message` unless `fine`.
void check(bool fine, std::string const& message);

/// The same unless there is a function to call with the outcome of an asynchronous operation on `title`.
template <class Handler>
void check_handler(Handler const& done, std::string_view title) {
  if (!done) check(false, "no function was given to call with the outcome for " + std::string{title});
}

/// Throws std::errc::invalid_argument, naming the lock and the option.
void check(std::string const& name, lock_options const& options);

/// The same for a name whose side keys would be in other slots of a cluster than the lock.
void check_cluster_name(std::string_view name);

/// The same for a name that a cluster could lock on Redisson's wire, but not unlock.
void check_redisson_name(std::string_view name);

}  // namespace holdfast::sync
