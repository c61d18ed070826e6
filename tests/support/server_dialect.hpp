/// Makes a server look like one with compare-and-delete commands, or without scripts: the facts that differ,
/// as they were tried on Redis 8.6, Valkey 9.1 and Redis 7.0 with TairString. For a flaky_proxy before any
/// server that runs scripts: what is said in the dialect is carried out there as a script.
#pragma once

#include "fate.hpp"

#include "script/capabilities.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::test {

/// May be changed while a proxy uses it.
struct server_facts_shown {
  scripting::dialect speaks = scripting::dialect::none;
  std::atomic<bool> scripts = true;        ///< EVAL and EVALSHA are allowed
  std::atomic<bool> at_maxmemory = false;  ///< what needs memory is refused
  std::atomic<bool> allowed = true;        ///< this user may use compare-and-delete
  std::atomic<bool> listed = true;         ///< COMMAND INFO is allowed
};

/// A decider for flaky_proxy::decide.
[[nodiscard]] std::function<fate(request const&)> speaking(std::shared_ptr<server_facts_shown const> facts);

}  // namespace holdfast::test
