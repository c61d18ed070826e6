/// The forms of single scripts for servers without scripts: what `begin` and `read` of a form do. No I/O.
#pragma once

#include <span>
#include <string_view>

#include "script/form.hpp"

namespace holdfast::scripting {

/// The lives of a counter, and of a queue, after their last use: as the scripts have them.
inline constexpr std::string_view day_s{"86400"};
inline constexpr std::string_view minute_ms{"60000"};

#define HOLDFAST_SCRIPTLESS(name)                                                                 \
  [[nodiscard]] net::exchange begin_##name(spoken_call const& call, form_context const& context); \
  [[nodiscard]] net::meaning read_##name(spoken_call const& call, form_context const& context,    \
                                         net::exchange const& now, std::span<resp::reply> replies)

/// exclusive.acquire, and quorum.acquire: a vote.
HOLDFAST_SCRIPTLESS(scriptless_acquire);
/// exclusive.release and quorum.release.
HOLDFAST_SCRIPTLESS(scriptless_release);
/// exclusive.abandon and quorum.abandon.
HOLDFAST_SCRIPTLESS(scriptless_abandon);
/// exclusive.release_unwanted
HOLDFAST_SCRIPTLESS(scriptless_release_unwanted);
HOLDFAST_SCRIPTLESS(fence_claim);
HOLDFAST_SCRIPTLESS(fence_write);

#undef HOLDFAST_SCRIPTLESS

/// exclusive.pass: begins as a release does. The next caller of the process sends a request of its own.
[[nodiscard]] net::meaning read_scriptless_pass(spoken_call const& call, form_context const& context,
                                                net::exchange const& now, std::span<resp::reply> replies);

}  // namespace holdfast::scripting
