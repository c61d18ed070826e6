/// A lease in the history of a client that may be killed, for the process that gives it back then.
#pragma once

#include <holdfast/lease.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace holdfast::probe {

struct lease_in_history {
  std::string text{};  ///< which lease of which client, for tell_released()
  int history = -1;    ///< the file's descriptor, as long as the client lives
};

/// The name of an environment variable for the text.
inline constexpr char const* lease_in_history_variable = "HOLDFAST_LEASE_IN_HISTORY";

/// nullopt: its client writes no history, or the lease or the history has ended.
[[nodiscard]] std::optional<lease_in_history> find_in_history(lease const& held);

/// Writes to the history, which this process has open as `history`, that the lease is given back: to be
/// called before it is, when its client is dead. No effect where it can't be written.
void tell_released(std::string_view text, int history);

}  // namespace holdfast::probe
