/// Whether somebody may hear what the module replicates. To tell the server of each change is a quarter of
/// what a lock costs it, also where nobody hears. Why it is safe not to: decision 81.
#pragma once

#include "abi.hpp"

namespace holdfast::server {

struct audience {
  bool possible = true;                   ///< false only where a look found nobody, and until the next event
  unsigned long long changes_untold = 0;  ///< that the server hasn't counted yet
};

inline constinit audience listeners{};

/// Replicates a change that was made, unless nobody can hear of it.
template <typename Replicate>
void tell(Replicate const& replicate) {
  if (listeners.possible) {
    replicate();
  } else {
    ++listeners.changes_untold;
  }
}

/// One of the commands that the module replicates, which the server doesn't know by that name
/// (`rename-command`): then replicas and files would lack what it does. Null: it knows all.
[[nodiscard]] char const* renamed_command(abi::context*);

/// From now on looks whether somebody listens. The last step of loading the module: a server forgets the
/// functions that it calls only when it unloads one that was loaded.
void watch_for_listeners(abi::context*);

/// The server saves after so many changes (`save 60 10000`), so it has to know of those that it wasn't told.
void count_untold_changes(abi::context*);

}  // namespace holdfast::server
