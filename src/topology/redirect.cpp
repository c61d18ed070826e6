#include "topology/redirect.hpp"

#include <algorithm>
#include <array>

#include "base/hash_slot.hpp"
#include "base/whole_number.hpp"

namespace holdfast::topology {
namespace {

struct code_meaning {
  std::string_view code;
  refusal::kind kind;
};

/// The last three come from a node that was a master until recently, or has lost its own.
constexpr std::array<code_meaning, 8> meanings{{
    {"MOVED", refusal::kind::moved},
    {"ASK", refusal::kind::ask},
    {"CLUSTERDOWN", refusal::kind::unserved},
    {"TRYAGAIN", refusal::kind::halved},
    {"LOADING", refusal::kind::not_yet},
    {"MASTERDOWN", refusal::kind::unserved},
    {"READONLY", refusal::kind::unserved},
    {"UNBLOCKED", refusal::kind::unserved},
}};

/// The error in the middle of a script, from Redis 6, 7 and Valkey. Errors of our scripts may quote such
/// words, but never begin with ERR.
bool is_not_here(std::string_view text) {
  return text.starts_with("ERR ") && text.find("non local key in a cluster node") != std::string_view::npos;
}

/// "3999 10.0.0.1:6381", "3999 :6381", "3999 ::1:6381".
bool read_target(std::string_view text, refusal& result) {
  auto const space = text.find(' ');
  auto const colon = text.rfind(':');
  if (space == std::string_view::npos || colon == std::string_view::npos || colon <= space) return false;
  result.host = text.substr(space + 1, colon - space - 1);
  auto const slot = whole_number<decltype(result.slot)>(text.substr(0, space));
  auto const port = whole_number<decltype(result.port)>(text.substr(colon + 1));
  if (!slot || *slot >= hash_slots || !port || *port == 0) return false;
  result.slot = *slot;
  result.port = *port;
  return true;
}

}  // namespace

refusal read_refusal(std::string_view text) {
  auto const space = std::min(text.find(' '), text.size());
  auto const* const known = std::ranges::find(meanings, text.substr(0, space), &code_meaning::code);
  if (known == meanings.end()) {
    if (!is_not_here(text)) return {};
    return {.type = refusal::kind::halved, .halfway = true};
  }
  refusal result{.type = known->kind};
  auto const elsewhere = result.type == refusal::kind::moved || result.type == refusal::kind::ask;
  if (elsewhere && !read_target(text.substr(std::min(space + 1, text.size())), result)) return {};
  return result;
}

}  // namespace holdfast::topology
