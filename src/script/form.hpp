/// Forms: what is said in place of a script, by the name of the script. No I/O.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "net/pipeline.hpp"
#include "script/call.hpp"
#include "script/capabilities.hpp"

namespace holdfast::scripting {

/// The keys and arguments of a request that calls a script. Views of its bytes.
struct spoken_call {
  explicit spoken_call(std::string_view request);
  std::vector<std::string_view> keys;
  std::vector<std::string_view> args;
};

/// What a form knows besides the call.
struct form_context {
  capabilities const& server;
  script const& wake;   ///< passes a wake-up on: it has the keys and arguments of exclusive.release
  bool resent = false;  ///< an earlier copy of the request may have been carried out
};

/// The other way of one script. Both functions get the same call.
struct form {
  std::string_view script;
  net::exchange (*begin)(spoken_call const&, form_context const&);
  net::meaning (*read)(spoken_call const&, form_context const&, net::exchange const& now,
                       std::span<resp::reply> replies);
};

/// For servers with compare-and-delete, beside scripts.
[[nodiscard]] form const* native_form(std::string_view script) noexcept;
/// For servers with compare-and-delete, without scripts; null: it can't be done there.
[[nodiscard]] form const* scriptless_form(std::string_view script) noexcept;

/// Of exclusive.release, in place of the form: an earlier copy may have deleted the lock and told nobody. Its
/// replies are for the form to read.
[[nodiscard]] net::exchange finish_release(spoken_call const& call, form_context const& context);

// Shared by forms.

/// Of {position, ttl}… pairs to the reply of a renewal: see renew.lua.
[[nodiscard]] net::exchange begin_renewal(spoken_call const& call, form_context const& context);
[[nodiscard]] net::meaning read_renewal(spoken_call const& call, form_context const& context,
                                        net::exchange const& now, std::span<resp::reply> replies);

[[nodiscard]] inline resp::reply integer_reply(std::int64_t number) {
  return {.type = resp::kind::integer, .integer = number, .text = {}, .elements = {}};
}
[[nodiscard]] inline resp::reply text_reply(std::string text) {
  return {.type = resp::kind::text, .text = std::move(text), .elements = {}};
}
[[nodiscard]] inline resp::reply error_reply(std::string text) {
  return {.type = resp::kind::error, .text = std::move(text), .elements = {}};
}
[[nodiscard]] inline resp::reply array_reply(std::vector<resp::reply> elements) {
  return {.type = resp::kind::array, .text = {}, .elements = std::move(elements)};
}

}  // namespace holdfast::scripting
