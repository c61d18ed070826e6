#include "engine/failure.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "script/names.hpp"

namespace holdfast::engine {
namespace {

constexpr std::array<std::string_view, 4> passing{"LOADING", "BUSY", "TRYAGAIN", "MASTERDOWN"};

struct advice {
  std::string_view code;
  std::string_view what_to_do;
};

constexpr std::array<advice, 7> advices{{
    {"READONLY", "this is a replica: give the URL of the master"},
    {"OOM", "the server is at maxmemory: free memory, or raise maxmemory; locks need policy noeviction"},
    {"MISCONF", "the server can't save its data and refuses writes: look at its disk and its log"},
    {"CLUSTERDOWN", "the cluster doesn't serve this slot: look at CLUSTER INFO"},
    {"MOVED", "this is a node of a cluster, and another node has the key"},
    {"NOREPLICAS", "too few replicas are in touch for min-replicas-to-write"},
    {"LOADING", "it is loading its data: try again later"},
}};

std::string quoted(std::string_view name) { return '"' + std::string{name} + '"'; }

}  // namespace

bool passes(resp::reply const& refusal) noexcept {
  return std::find(passing.begin(), passing.end(), refusal.error_code()) != passing.end();
}

bool about_rights(resp::reply const& refusal) noexcept {
  auto const has = [&refusal](std::string_view words) {
    return refusal.text.find(words) != std::string::npos;
  };
  auto const code = refusal.error_code();
  return code == "NOPERM" || code == "NOAUTH" || code == "WRONGPASS" || has("permission") ||
         has("can't run this command") || has("can't access at least one of the keys");
}

std::string_view advice_for(resp::reply const& refusal) noexcept {
  auto const known = std::find_if(advices.begin(), advices.end(),
                                  [&refusal](advice const& a) { return refusal.is_error(a.code); });
  return known == advices.end() ? std::string_view{} : known->what_to_do;
}

std::shared_ptr<error const> explain(resp::reply const& refusal, std::string_view name,
                                     std::string_view server) {
  auto const code = refusal.error_code();
  auto const where = std::string{server} + ": ";
  if (code == "WRONGTYPE") {
    auto const rest = std::string_view{refusal.text}.substr(std::min(refusal.text.size(), code.size() + 1));
    auto const type = rest.substr(0, rest.find(' '));
    if (type != rest) {  // Redis's own words, about a key whose type we didn't ask for

      return std::make_shared<error const>(
          errc::wrong_type, where + "a key beside the lock " + quoted(name) + " (" +
                                names::token_counter(name) + " or " + names::queue(name) +
                                ") holds something else: delete it, or choose another name (" + refusal.text +
                                ")");
    }
    return std::make_shared<error const>(
        errc::wrong_type, where + "the key " + quoted(name) + " holds a " + std::string{type} +
                              ", not a lock: something else uses it (the server says: " + refusal.text +
                              "); choose another name, or delete the key if nothing needs it");
  }
  if (about_rights(refusal)) {
    return std::make_shared<error const>(
        errc::unauthorized,
        where + "not allowed, for the lock " + quoted(name) + ": " + refusal.text +
            "; Holdfast needs the rights +eval +evalsha +ping +client|setname +select +subscribe and, inside "
            "its scripts, "
            "+get +set +del +pexpire +pttl +type +time +zadd +zrange +zrank +zrem +zscore +hset +hsetnx "
            "+publish; keys ~" +
            std::string{name} + " ~holdfast_*; channels &holdfast_inbox:*");
  }
  auto const advice = advice_for(refusal);
  auto const what_to_do = advice.empty() ? std::string{} : "; " + std::string{advice};
  return std::make_shared<error const>(errc::refused, where + "the server refused a request for the lock " +
                                                          quoted(name) + ": " + refusal.text + what_to_do);
}

}  // namespace holdfast::engine
