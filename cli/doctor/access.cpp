// Checks of the rights that the server grants to this user.
#include "common/output.hpp"
#include "doctor/checks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

namespace holdfast::cli {
namespace {

using needed = right_attempt::needed;

/// The missing rules without duplicates, and the first refusal of the server.
struct missing_rules {
  std::string rules{};  ///< " +zadd ~jobs:* ~{jobs:*"
  std::string refusal{};
  std::vector<needed> by{};

  [[nodiscard]] bool any(needed const purpose) const { return std::ranges::find(by, purpose) != by.end(); }
};

missing_rules missing(std::vector<right_attempt> const& tried) {
  missing_rules all;
  std::set<std::string_view> seen;
  for (auto const& attempt : tried) {
    if (attempt.refusal.empty()) continue;
    if (all.refusal.empty()) all.refusal = attempt.refusal;
    all.by.push_back(attempt.by);
    if (seen.insert(attempt.rule).second) all.rules += ' ' + attempt.rule;
  }
  return all;
}

}  // namespace

finding check_rights(server_facts const& facts) {
  auto const all = missing(facts.rights);
  if (all.rules.empty()) {
    return {
        .check = "rights",
        .found = fmt::format("user {} may do all that was tried{}", facts.user,
                             facts.lock.empty() ? "" : ", also with the lock " + output::quoted(facts.lock))};
  }
  finding result{
      .check = "rights",
      .found = fmt::format("user {} may not:{} (the server says: {})", facts.user, all.rules, all.refusal),
      .advice = fmt::format("ACL SETUSER {}{}, and keep it: ACL SAVE, or the server's configuration",
                            facts.user, all.rules)};
  if (!all.refusal.starts_with("NOPERM")) {
    result.found = fmt::format("the server doesn't know:{} (it says: {})", all.rules, all.refusal);
    result.advice = "use a server that has these commands, or go past the proxy";
  }
  if (all.any(needed::always)) {
    result.level = severity::problem;
    result.why = "a lock's script that meets a missing right fails";
  } else if (all.any(needed::for_messages)) {
    result.level = severity::warning;
    result.why =
        "without its channel a waiter isn't woken: it polls, which is slower and costs more requests";
  } else if (all.any(needed::for_order)) {
    result.level = severity::advice;
    result.why =
        "a broken connection can't be ended at the server: a request that a proxy has kept may run late, "
        "and a lock may then stay without a holder for a ttl; but these rights are over all connections";
  } else {
    result.level = severity::advice;
    result.why = all.any(needed::to_be_asked) ? "without it a release by force doesn't ask the holder first"
                 : all.any(needed::for_free_locks)
                     ? "without it each free lock is taken by a script, which costs the server more"
                 : all.any(needed::for_replicas)
                     ? "the option `replicas` needs WAIT"
                     : "without it the commands that look at locks (`holdfast ls`, `top` …) are refused";
  }
  return result;
}

no_rule why_no_rule(std::string_view const prefix, std::string_view const lock) {
  auto const begin = prefix.empty() ? lock : prefix;
  if (begin.find_first_of(" \t\n\v\f\r") != std::string_view::npos)
    return {"patterns have no spaces", "choose names without spaces"};
  if (output::one_line(begin) != begin)
    return {"it has characters that can't be written down", "choose names that can be printed"};
  if (prefix.starts_with('{')) {
    return {"the keys beside other names begin with a brace, too",
            "give the prefix without the brace: its rule is for names in braces, too"};
  }
  if (prefix.starts_with("holdfast_"))
    return {"keys and channels of all users begin so, too", "choose other names"};
  return {};
}

finding check_tenant(server_facts const& facts) {
  auto const& scope = facts.prefix.empty() ? facts.lock : facts.prefix;
  finding result{.check = "tenant"};
  if (facts.rule.empty()) {
    auto const reason = why_no_rule(facts.prefix, facts.lock);
    result.level = severity::advice;
    result.found = fmt::format("no rule can cover only the names that begin with {}: {}",
                               output::quoted(scope), reason.why);
    result.why = "a user that may touch other names may end the locks of others";
    result.advice = reason.advice;
    return result;
  }
  result.found = fmt::format("the rule for names that begin with {}: ACL SETUSER USER reset on >PASSWORD {}",
                             output::quoted(scope), facts.rule);
  if (facts.prefix.empty() || facts.beyond.empty()) return result;
  result.level = severity::warning;
  result.found += fmt::format("; user {} may also: {}", facts.user, fmt::join(facts.beyond, ", "));
  result.why = "a user with more rights can read, end, count or find the locks of others";
  result.advice = "use the rule as it is, for a user of its own";
  return result;
}

finding check_writes(server_facts const& facts) {
  auto const& writes = facts.writes;
  if (writes.value) return {.check = "writing", .found = "a key can be written"};
  finding result{"writing", severity::problem, writes.refusal, "taking a lock writes a key",
                 "do what the server says"};
  auto const starts = [&writes](char const* const code) { return writes.refusal.starts_with(code); };
  if (starts("NOPERM")) result.advice = "give the rights that are missing, see there";
  if (starts("OOM")) result.advice = "free memory, or raise maxmemory";
  if (starts("READONLY")) result.advice = "this is a replica: give the URL of the master";
  if (starts("MISCONF")) result.advice = "it can't save its data: look at its log and its disk";
  if (starts("NOREPLICAS")) result.advice = "too few replicas are in touch for min-replicas-to-write";
  return result;
}

finding check_scripts(server_facts const& facts) {
  if (facts.scripts.value) return {.check = "scripts", .found = "scripts run, and run again from the cache"};
  auto const busy = facts.scripts.refusal.starts_with("BUSY");
  if (!busy && facts.compare.value && !facts.compare.value->empty() && facts.compare_refusal.empty()) {
    return {
        "scripts", severity::advice, facts.scripts.refusal + "; so locks go without them",
        "without scripts there are mutex, quorum_mutex and fence on the plain wire alone, and newcomers may "
        "always overtake waiters",
        "allow EVAL and EVALSHA for this user, or say ?scripts=no in the URL if that is meant so"};
  }
  return {"scripts", severity::problem, facts.scripts.refusal, "every acquisition and release is a script",
          busy ? "another script runs for too long: SCRIPT KILL ends it"
               : "allow EVAL and EVALSHA for this user, or use a server that has them"};
}

finding check_compare(server_facts const& facts) {
  constexpr auto check = "compare-and-set";
  if (!facts.compare.value) {
    return {check, severity::advice, "can't be found out: " + facts.compare.refusal,
            "what the server has beside scripts costs it less",
            "allow COMMAND INFO (+command|info) for this user"};
  }
  auto const& way = *facts.compare.value;
  if (way.empty())
    return {.check = check, .found = "none but scripts: locks are released and renewed by these"};
  if (facts.compare_refusal.empty()) return {.check = check, .found = way};
  return {check, severity::advice, way + ", but not for this user: " + facts.compare_refusal,
          "each client finds that out by itself, warns once, and calls scripts instead, which cost the "
          "server more",
          "allow it (holdfast doctor --prefix prints the rule), or say ?cas=lua in the URL"};
}

finding check_messages(server_facts const& facts) {
  auto const& messages = facts.messages;
  if (messages.value == true) return {.check = "pub/sub", .found = "a message to our own inbox arrived"};
  finding result{.check = "pub/sub",
                 .level = severity::warning,
                 .found = messages.refusal.empty()
                              ? std::string{"a message to our own inbox did not arrive in time"}
                              : "a message to our own inbox was refused: " + messages.refusal};
  result.why = "messages wake waiters; without messages waiters poll, or look once a second";
  result.advice =
      messages.refusal.empty()
          ? "look for a proxy that drops messages; use wake::poll with a proxy without pub/sub"
          : "allow SUBSCRIBE, PUBLISH (SSUBSCRIBE, SPUBLISH in a cluster) and the channels of these names "
            "(holdfast doctor --prefix prints the rule), or go past the proxy";
  return result;
}

}  // namespace holdfast::cli
