/// What makes one kind of exclusive lock differ from another.
#pragma once

#include <holdfast/options.hpp>

#include "sync/wires.hpp"

namespace holdfast::engine {

/// Constant for each kind.
struct exclusive_kind {
  sync::wires const& wires;
  /// The options that this kind has its own mind about.
  lock_options (*normalize_options)(lock_options);
  /// What a thread that holds it gets for locking it again.
  enum class nesting { refused, counted } again;
};

}  // namespace holdfast::engine
