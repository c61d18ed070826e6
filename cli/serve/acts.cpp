#include "serve/acts.hpp"

#include "common/output.hpp"
#include "show/json.hpp"
#include "show/lock_json.hpp"

#include <holdfast/inspect.hpp>

#include <fmt/format.h>

#include <exception>

namespace holdfast::cli {
namespace {

/// The hold of that owner; without it only its id is known.
process_info hold_of(lock_state const& lock, std::string_view const owner) {
  for (auto const& hold : lock.holders) {
    if (hold.process.owner == owner) return hold.process;
  }
  return lock.holder.owner == owner ? lock.holder : process_info{.owner = std::string{owner}};
}

}  // namespace

std::string release_by_force(client& redis, std::string_view const name, wire const of,
                             std::string_view const owner, act_by const& by) {
  auto const found = peek_on_wires(redis, name);
  auto const holder = hold_of(found.on(of), owner);
  auto const line = fmt::format("audit: {} at {} releases {} by force, held by {}",
                                by.user.empty() ? "a visitor" : output::quoted(by.user), by.peer,
                                output::quoted(name), holder.to_string());
  output::note(line);
  try {
    auto const word = json_word(force_release(redis, name, {.owner = owner, .of = of}));
    output::note(fmt::format("{}: {}", line, word));
    return json{}.set("name", name).set("result", word).set("holder", to_json(holder)).line();
  } catch (std::exception const& problem) {
    output::note(fmt::format("{}: failed: {}", line, problem.what()));
    throw;
  }
}

}  // namespace holdfast::cli
