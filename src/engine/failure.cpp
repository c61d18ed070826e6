#include "engine/failure.hpp"

#include <algorithm>
#include <array>
#include <new>
#include <optional>
#include <string>

#include "base/printable.hpp"
#include "base/quoted.hpp"
#include "engine/lock_queue.hpp"
#include "engine/record.hpp"
#include "net/deployment_url.hpp"
#include "resp/reply.hpp"
#include "script/acl.hpp"
#include "script/names.hpp"

namespace holdfast::engine {
namespace {

struct advice {
  std::string_view code;
  std::string_view remedy;
};

constexpr std::string_view one_node{
    "this is a node of a cluster: put redis+cluster:// in place of redis:// in the URL (rediss+cluster:// "
    "for "
    "TLS)"};

constexpr std::array<advice, 8> advices{{
    {"READONLY",
     "this is a replica: give the URL of the master, or, where sentinels say which one that is, "
     "redis+sentinel://host:26379/NAME"},
    {"OOM", "the server is at maxmemory: free memory, or raise maxmemory; locks need policy noeviction"},
    {"MISCONF", "the server can't save its data and refuses writes: look at its disk and its log"},
    {"CLUSTERDOWN", "the cluster doesn't serve this slot: look at CLUSTER INFO"},
    {"MOVED", one_node},
    {"CROSSSLOT", "in a cluster the keys of one request have to be in one hash slot"},
    {"NOREPLICAS", "too few replicas are in touch for min-replicas-to-write"},
    {"LOADING", "it is loading its data: try again later"},
}};

}  // namespace

std::string_view first_word(std::string_view refusal) noexcept {
  return refusal.substr(0, refusal.find(' '));
}

bool is_transient(std::string_view refusal) noexcept {
  auto const code = first_word(refusal);
  return code == "TRYAGAIN" || resp::is_not_ready(code);
}

bool about_rights(std::string_view refusal) noexcept {
  auto const has = [&refusal](std::string_view text) { return refusal.find(text) != std::string_view::npos; };
  auto const code = first_word(refusal);
  return code == "NOPERM" || code == "NOAUTH" || code == "WRONGPASS" || has("permission") ||
         has("can't run this command") || has("can't access at least one of the keys");
}

bool is_outage(error const& reason) noexcept {
  return reason.code() == errc::unreachable || reason.code() == errc::refused;
}

std::shared_ptr<error const> after_waiting(std::shared_ptr<error const> const& reason,
                                           std::chrono::nanoseconds waited) noexcept try {
  using namespace std::chrono_literals;
  if (!reason || reason->code() != errc::unreachable) return reason;
  auto const time = waited < 10s ? std::to_string(waited / 1ms) + " ms" : std::to_string(waited / 1s) + " s";
  return std::make_shared<error const>(reason->code(), reason->what() + ("; gave up after " + time));
} catch (std::bad_alloc const&) {
  return reason;
}

std::string_view advice_for(std::string_view refusal) noexcept {
  if (refusal.find("unknown command") != std::string_view::npos &&
      refusal.find("EVAL") != std::string_view::npos)
    return net::advice_about_sentinels;
  auto const known = std::find_if(advices.begin(), advices.end(), [&refusal](advice const& entry) {
    return first_word(refusal) == entry.code;
  });
  return known == advices.end() ? std::string_view{} : known->remedy;
}

namespace {

/// A key of the wrong type: the lock's own, or one beside it. With several names the script says which.
struct misfit {
  std::string_view name;
  std::optional<std::string_view> type;  ///< none: it is a key beside the lock
};

misfit read_misfit(std::string_view text, std::string_view only_name) {
  auto const space = std::min(text.find(' '), text.size());
  auto const first = text.substr(0, space);
  auto const rest = text.substr(std::min(space + 1, text.size()));
  auto const beside = only_name.empty() ? first == "beside"
                                        : space != text.size();  // Redis's own words, or about the counter
  return {only_name.empty() ? rest : only_name, beside ? std::nullopt : std::optional{first}};
}

/// What one of Holdfast's own keys is, by its name; empty: it is none.
std::string_view own_key(std::string_view name) noexcept {
  struct kind {
    std::string_view mark;
    std::string_view words;
  };
  constexpr auto kinds = std::to_array<kind>({{":holdfast_token", "the token counter of a lock"},
                                              {":holdfast_queue", "the queue of a lock"},
                                              {":holdfast_readers", "the readers of a lock"},
                                              {":holdfast_permit_queue", "the queue of a semaphore"},
                                              {":holdfast_permits", "the size of a semaphore"},
                                              {":holdfast_newest_ask", "a note beside a lock"},
                                              {":holdfast_asked:", "a note beside a lock"},
                                              {":holdfast_done:", "a note beside a lock"},
                                              {":holdfast_blocked:", "what the holder of a lock waits for"},
                                              {":holdfast_counted", "who has counted a latch down"},
                                              {":holdfast_arrived", "who has arrived at a barrier"},
                                              {":holdfast_seat:", "a note beside a barrier"},
                                              {":holdfast_leader", "what a leader says of itself"},
                                              {":holdfast_gave_up", "a note beside a lock"},
                                              {":holdfast_doubt", "a note beside a lock"},
                                              {":holdfast_condition", "who waits on a condition"},
                                              {":holdfast_condition_until", "who waits on a condition"},
                                              {":holdfast_last_run", "the record of a job's last run"},
                                              {":holdfast_fence", "the mark of a fence"},
                                              {":holdfast_fence_done:", "a note beside a fence"},
                                              {"holdfast_client:", "the record of a client"}});
  for (auto const& [mark, words] : kinds) {
    auto const at = name.find(mark);
    auto const fits = mark.front() != ':' ? at == 0 : at != std::string_view::npos;
    if (fits && (at + mark.size() == name.size() || mark.back() == ':')) return words;
  }
  return {};
}

bool is_number(std::string_view text) noexcept {
  auto const digits = text.substr(text.starts_with('-') ? 1 : 0);
  constexpr std::size_t longest = 19;
  return !digits.empty() && digits.size() <= longest &&
         digits.find_first_not_of("0123456789") == std::string_view::npos;
}

/// The kind of a string that is no lock, which begins with a word of its own; empty: it is none of those.
std::string_view kind_by_text(std::string_view text) noexcept {
  if (text.starts_with("holdfast_latch ")) return "a latch";
  if (text.starts_with("holdfast_barrier ")) return "a barrier";
  if (text.starts_with(names::held_by_one_permit)) return "the permits of an expiring_semaphore";
  return {};
}

/// Takes the text up to the next space off the front.
std::string take_word(std::string_view& text) {
  auto const word = first_word(text);
  text.remove_prefix(std::min(word.size() + 1, text.size()));
  return std::string{word};
}

/// Our scripts: "EXPIRED <left> <of> <ms ago>".
std::shared_ptr<error const> explain_expired(std::string_view rest, std::string const& prefix,
                                             std::string const& title) {
  auto const left = take_word(rest);
  auto const count = take_word(rest);
  return std::make_shared<error const>(
      errc::expired, prefix + "the time of the latch " + title + " was over " + std::string{rest} +
                         " ms ago, with " + left + " of " + count +
                         " still to be counted: set it anew, or open it, if that doesn't matter");
}

/// Our scripts: "BROKEN <generation> <why> <owner> <participant>".
std::shared_ptr<error const> explain_broken(std::string_view rest, std::string const& prefix,
                                            std::string const& title) {
  auto const generation = take_word(rest);
  auto const why = take_word(rest);
  auto const owner = take_word(rest);
  auto const participant = printable(rest.empty() ? owner : rest);
  auto text = prefix + "generation " + generation + " of the barrier " + title + " is broken: ";
  if (why == "died") {
    text += participant +
            " wasn't heard of for the ttl of its arrival: it has died, or couldn't reach the server";
  } else if (why == "timed_out") {
    text += participant + " has waited for as long as it wanted to";
  } else if (why == "left") {
    text += participant + " has left: its wait was cancelled, or failed";
  } else if (why == "forced") {
    text += participant + " has broken it by force";
  } else {
    text += "the server has lost who had arrived; " + participant + " had";
  }
  return std::make_shared<error const>(errc::broken, text);
}

/// Our scripts: "PARTIES <of the barrier> <own>".
std::shared_ptr<error const> explain_parties(std::string_view rest, std::string const& prefix,
                                             std::string const& title) {
  auto const parties = take_word(rest);
  return std::make_shared<error const>(errc::wrong_type,
                                       prefix + "the barrier " + title + " is in use for " + parties +
                                           " parties, and this one is for " + std::string{rest} +
                                           ": all have to name the same number, or another barrier");
}

std::string what_it_is(misfit const& problem) {
  if (auto const own = own_key(problem.name); !own.empty())
    return std::string{own} + " (a " + std::string{*problem.type} + ')';
  auto text = "a " + std::string{*problem.type};
  if (*problem.type == "zset")
    return "a sorted set (as the permits of an expiring_semaphore are, and holdfast run --slots)";
  if (*problem.type == "hash") text += " (as locks of Redisson are: then say wire=redisson)";
  return text;
}

std::shared_ptr<error const> explain_misfit(misfit const& problem, std::string_view refusal,
                                            std::string const& prefix) {
  auto const name = quoted(problem.name);
  if (!problem.type) {
    return std::make_shared<error const>(
        errc::wrong_type, prefix + "a key beside the lock " + name + " (" +
                              names::token_counter(problem.name) + " or " + names::queue(problem.name) +
                              ") holds something else: delete it, or choose another name (" +
                              std::string{refusal} + ")");
  }
  return std::make_shared<error const>(
      errc::wrong_type, prefix + "the key " + name + " holds " + what_it_is(problem) +
                            ", not a lock: something else uses it (the server says: " + std::string{refusal} +
                            "); choose another name, or delete the key if nothing needs it");
}

/// `title` names the lock in messages. `name` is empty when the lock has several.
std::shared_ptr<error const> explain(std::string_view refusal, std::string const& title,
                                     std::string_view name, client_constants const& client) {
  auto const code = first_word(refusal);
  auto const prefix = client.url + ": ";
  if (code == "WRONGTYPE") {
    auto const text = refusal.substr(std::min(refusal.size(), code.size() + 1));
    return explain_misfit(read_misfit(text, name), refusal, prefix);
  }
  if (code == "MISFIT") {  // our scripts: "MISFIT a string, not the hash of a lock", perhaps " IN <key>"
    auto const marker = std::min(refusal.find(" IN "), refusal.size());
    auto const key = marker < refusal.size() ? quoted(refusal.substr(marker + 4)) : title;
    return std::make_shared<error const>(
        errc::wrong_type, prefix + "the key " + key + " holds " +
                              std::string{refusal.substr(code.size() + 1, marker - code.size() - 1)} +
                              ": something else uses it, or another kind of lock; choose another name, or "
                              "delete the key if nothing needs it");
  }
  if (code == "LOST") {  // our scripts: what was to become this lock is over
    return std::make_shared<error const>(errc::lost, prefix + "the lock " + title + " was lost: " +
                                                         std::string{refusal.substr(code.size() + 1)});
  }
  if (code == "EXPIRED") return explain_expired(refusal.substr(code.size() + 1), prefix, title);
  if (code == "BROKEN") return explain_broken(refusal.substr(code.size() + 1), prefix, title);
  if (code == "PARTIES") return explain_parties(refusal.substr(code.size() + 1), prefix, title);
  if (about_rights(refusal)) {
    return std::make_shared<error const>(
        errc::unauthorized, prefix + "not allowed, for the lock " + title + ": " + std::string{refusal} +
                                "; Holdfast needs the rights " + std::string{acl::to_connect} + ' ' +
                                std::string{acl::to_lock} + ' ' + std::string{acl::to_be_told} + "; keys " +
                                (name.empty() ? "of each name and beside it" : acl::keys_of(name)) + ' ' +
                                std::string{acl::keys_of_clients} + "; channels " +
                                (name.empty() ? "beside each name" : acl::channels_of(name)) + ' ' +
                                std::string{acl::channels_of_clients} +
                                " (holdfast doctor --prefix prints the rule)");
  }
  auto const only_clusters_say =
      code == "MOVED" || code == "ASK" || code == "CROSSSLOT" || code == "CLUSTERDOWN" || code == "TRYAGAIN";
  auto const advice = only_clusters_say && !client.deployment.slots ? one_node : advice_for(refusal);
  auto const remedy = advice.empty() ? std::string{} : "; " + std::string{advice};
  return std::make_shared<error const>(errc::refused, prefix + "the server refused a request for the lock " +
                                                          title + ": " + std::string{refusal} + remedy);
}

}  // namespace

std::shared_ptr<error const> explain(std::string_view refusal, std::string_view name,
                                     client_constants const& client) {
  return explain(refusal, quoted(name), name, client);
}

std::shared_ptr<error const> explain(std::string_view refusal, lock_queue const& queue,
                                     client_constants const& client) {
  auto const several = queue.lock_recipe().several != nullptr;
  return explain(refusal, queue.title(), several ? std::string_view{} : queue.name(), client);
}

std::shared_ptr<error const> explain_endless(busy const& reply, lock_queue const& queue,
                                             client_constants const& client) {
  if (!uuid_of(reply.holder).empty()) return nullptr;
  auto const several = queue.lock_recipe().several != nullptr;
  auto const own = several ? std::string_view{} : own_key(queue.name());
  auto const by_text = kind_by_text(reply.holder);
  auto const endless_number = reply.pttl == without_ttl && is_number(reply.holder);
  if (own.empty() && by_text.empty() && !endless_number) return nullptr;
  auto const holds = !by_text.empty() ? std::string{by_text}
                     : own.empty()    ? "the number " + reply.holder +
                                         ", which never expires: a counter, a latch or "
                                         "the permits of a semaphore"
                                   : std::string{own};
  return std::make_shared<error const>(
      errc::wrong_type, client.url + ": the key " + queue.title() + " holds " + holds +
                            ", not a lock; choose another name, or delete the key if nothing needs it");
}

}  // namespace holdfast::engine
