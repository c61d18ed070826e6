/// The differences between the kinds of exclusive lock. In namespace engine: holdfast/exclusive_lock.hpp
/// declares the type there, as all that a public header names of the implementation.
#pragma once

#include <holdfast/options.hpp>

#include "sync/wires.hpp"

namespace holdfast::engine {

/// Constant for each kind.
struct exclusive_kind {
  sync::wires const& wires;
  /// Checks and adjusts the options for this kind.
  lock_options (*normalize_options)(lock_options);
  /// The result when a thread that holds the lock locks it again.
  enum class nesting { refused, counted } again;
};

}  // namespace holdfast::engine
