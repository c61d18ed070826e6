/// What `holdfast doctor` makes of a server: from what was found out, by no I/O, to findings.
#pragma once

#include "info_text.hpp"
#include "server_place.hpp"

#include <holdfast/error.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::cli {

/// One right that was tried.
struct right_attempt {
  enum class needed { always, for_messages, for_order, to_be_asked, for_replicas, for_tools };
  std::string rule{};     ///< as ACL SETUSER has it: "+zadd", "~jobs:* ~{jobs:*"
  std::string refusal{};  ///< the server's words; empty: it works
  needed by = needed::always;
};

/// What TIME said, and when that was here, by the clock that counts the time since this machine started.
struct clock_sample {
  std::chrono::microseconds here{};
  std::chrono::microseconds there{};
  std::chrono::microseconds round_trip = std::chrono::microseconds::max();
};

/// How two clocks went beside each other.
struct clock_facts {
  std::chrono::microseconds ours{};    ///< time passed here
  std::chrono::microseconds server{};  ///< time passed there
  std::chrono::microseconds doubt{};   ///< how far `server` may be off, since answers take time
  std::chrono::microseconds ahead{};   ///< of what this machine's own clock says, at the end
  std::chrono::microseconds step{};  ///< by which it jumped there, which isn't part of `server`; 0: it didn't
  std::chrono::microseconds now{};   ///< time of day there, at the end; 0: not known
};

/// At least two, in their order.
[[nodiscard]] clock_facts compare(std::span<clock_sample const> samples);

/// What a sample of the keys showed.
struct key_facts {
  std::int64_t keys = 0;
  std::int64_t sampled = 0;
  std::int64_t counters = 0;
  std::int64_t queues = 0;
  std::int64_t clients = 0;
};

/// A question that the server answered with `value` or refused with `refusal`; neither: it was not asked.
template <class T>
struct known {
  std::optional<T> value{};
  std::string refusal{};
};

using setting_map = std::map<std::string, std::string, std::less<>>;

struct server_facts {
  deployment_kind part_of = deployment_kind::single;
  std::string url{};  ///< without its password; empty: the report says which server it is
  line_kind line = line_kind::plain;
  std::string user{};
  std::string lock{};    ///< whose rights were tried, too; empty: none
  std::string prefix{};  ///< the names that this user is for; empty: none in particular
  std::string rule{};    ///< what a user for such names needs; empty: not known, or it can't be said
  std::vector<std::chrono::microseconds> pings{};
  known<info_text> info{};
  /// Settings by their names; one that is absent is not known to the server.
  known<setting_map> config{};
  std::vector<right_attempt> rights{};
  std::vector<std::string> beyond{};  ///< what a user for a prefix shouldn't be let do, and is
  known<bool> writes{};               ///< a key with a ttl
  known<bool> scripts{};              ///< run, and run again from the cache
  known<bool> messages{};             ///< false: none came, and nobody said why
  known<clock_facts> clock{};
  known<key_facts> keys{};
  bool shards_messages = false;  ///< has channels that belong to a slot
};

enum class severity : std::uint8_t {
  ok,
  advice,   ///< fine, but could be better; or it couldn't be found out
  warning,  ///< locks work, and there is a case in which they don't
  problem,  ///< locks don't work, or not safely
};
[[nodiscard]] std::string_view to_string(severity) noexcept;

struct finding {
  std::string_view check{};
  severity how = severity::ok;
  std::string found{};
  std::string why{};     ///< why it matters for locks; empty when all is well
  std::string advice{};  ///< what to do; empty when there is nothing to do
  /// Of several servers those that it is about; empty: the only one, or what they are together.
  std::vector<std::string> servers{};
};

/// All findings, one for each check at least, in the order in which one looks into them.
[[nodiscard]] std::vector<finding> judge(server_facts const&);

/// Nothing else can be found out: why the server can't be asked.
[[nodiscard]] finding unreachable_finding(error const&);

/// A setting, if it is known.
[[nodiscard]] std::optional<std::string_view> setting(server_facts const&, std::string_view name);
[[nodiscard]] std::optional<std::int64_t> number_of(server_facts const&, std::string_view name);
/// What keeps all acknowledged writes through a restart, whatever ends the server.
[[nodiscard]] bool keeps_all(server_facts const&);

/// "85 µs", "1.2 ms", "3.4 s"
[[nodiscard]] std::string to_text(std::chrono::microseconds);

/// "Redis 7.0.15", "Valkey 8.0.1"; empty without INFO.
[[nodiscard]] std::string server_name(info_text const&);

/// "standalone", "cluster", "sentinel": Valkey has a name of its own for the field. Empty without it.
[[nodiscard]] std::string_view server_mode(info_text const&);

// The checks themselves, in four files.

[[nodiscard]] finding check_latency(server_facts const&);
[[nodiscard]] finding check_version(server_facts const&);
[[nodiscard]] finding check_mode(server_facts const&);
[[nodiscard]] finding check_role(server_facts const&);
[[nodiscard]] finding check_clock(server_facts const&);
[[nodiscard]] finding check_keys(server_facts const&);

[[nodiscard]] finding check_rights(server_facts const&);
/// Why no rule of an ACL is for names that begin so and no others, and what to do; no words: there is one.
struct no_rule {
  std::string_view why{};
  std::string_view advice{};
};
[[nodiscard]] no_rule why_no_rule(std::string_view prefix, std::string_view lock);

/// The rule for a prefix of names, and whether this user is kept to it.
[[nodiscard]] finding check_tenant(server_facts const&);
[[nodiscard]] finding check_writes(server_facts const&);
[[nodiscard]] finding check_scripts(server_facts const&);
[[nodiscard]] finding check_messages(server_facts const&);

[[nodiscard]] finding check_eviction(server_facts const&);
[[nodiscard]] finding check_memory(server_facts const&);
[[nodiscard]] finding check_persistence(server_facts const&);
[[nodiscard]] finding check_replicas(server_facts const&);
[[nodiscard]] finding check_idle_timeout(server_facts const&);
[[nodiscard]] finding check_output_buffer(server_facts const&);

/// It could not be found out.
[[nodiscard]] finding unknown(std::string_view check, std::string_view why);

}  // namespace holdfast::cli
