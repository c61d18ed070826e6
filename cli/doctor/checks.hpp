/// The judgement of `holdfast doctor` about one server: from facts to findings, without I/O.
#pragma once

#include "doctor/info_text.hpp"
#include "probe/named_servers.hpp"

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

/// A right, and the result of trying it.
struct right_attempt {
  enum class needed { always, for_messages, for_order, to_be_asked, for_replicas, for_tools, for_free_locks };
  std::string rule{};     ///< in the syntax of ACL SETUSER: "+zadd", "~jobs:* ~{jobs:*"
  std::string refusal{};  ///< the server's text; empty: the right is granted
  needed by = needed::always;
};

/// A reply to TIME, and the local time of it by the clock that counts since the start of this machine.
struct clock_sample {
  std::chrono::microseconds here{};
  std::chrono::microseconds there{};
  std::chrono::microseconds round_trip = std::chrono::microseconds::max();
};

/// The server's clock compared with the local one.
struct clock_facts {
  std::chrono::microseconds local{};   ///< time passed here
  std::chrono::microseconds server{};  ///< time passed there
  std::chrono::microseconds doubt{};   ///< the uncertainty of `server`, since replies take time
  std::chrono::microseconds ahead{};   ///< the server's time of day less this machine's, at the end
  std::chrono::microseconds step{};    ///< a jump of the server's clock, not part of `server`; 0: none
  std::chrono::microseconds now{};     ///< the server's time of day at the end; 0: unknown
};

/// Requires at least two samples, in the order of time.
[[nodiscard]] clock_facts compare(std::span<clock_sample const> samples);

/// Counts of a sample of the keys.
struct key_facts {
  std::int64_t keys = 0;
  std::int64_t sampled = 0;
  std::int64_t counters = 0;
  std::int64_t queues = 0;
  std::int64_t clients = 0;
};

/// A fact: the server replied with `value` or refused with `refusal`; both empty: not asked.
template <class T>
struct known {
  std::optional<T> value{};
  std::string refusal{};
};

using setting_map = std::map<std::string, std::string, std::less<>>;

struct server_facts {
  probe::deployment_kind part_of = probe::deployment_kind::single;
  std::string url{};  ///< without its password; empty: the report names the server
  probe::transport_kind transport = probe::transport_kind::plain;
  std::string user{};
  std::string lock{};    ///< the lock whose rights were tried too; empty: none
  std::string prefix{};  ///< the prefix of the names that this user is for; empty: none
  std::string rule{};    ///< the ACL rule for such names; empty: unknown, or no rule can express it
  std::vector<std::chrono::microseconds> pings{};
  known<info_text> info{};
  /// Settings by their names; the server does not know an absent one.
  known<setting_map> config{};
  std::vector<right_attempt> rights{};
  std::vector<std::string> beyond{};  ///< rights of the user beyond the rule for its prefix
  known<bool> writes{};               ///< whether a key with a ttl can be written
  known<bool> scripts{};              ///< whether a script runs, also from the cache
  known<std::string> compare{};       ///< how compare-and-delete is said there; an empty text: there is none
  std::string compare_refusal{};      ///< why this user can't use it; empty: it can
  known<bool> messages{};             ///< false: no message arrived, without an error
  known<clock_facts> clock{};
  known<key_facts> keys{};
  bool shards_messages = false;  ///< the server has sharded pub/sub
};

enum class severity : std::uint8_t {
  ok,
  advice,   ///< works but can be improved, or could not be found out
  warning,  ///< locks work, except in some cases
  problem,  ///< locks don't work, or not safely
};
[[nodiscard]] std::string_view to_string(severity) noexcept;

struct finding {
  std::string_view check{};
  severity level = severity::ok;
  std::string found{};
  std::string why{};     ///< why it matters for locks; empty when all is well
  std::string advice{};  ///< the remedy; empty when there is nothing to do
  /// The servers that the finding is about; empty: the only server, or the deployment as a whole.
  std::vector<std::string> servers{};
};

/// The only finding for a server that can't be asked.
[[nodiscard]] finding unreachable_finding(error const&);

/// The value of a setting; empty if unknown.
[[nodiscard]] std::optional<std::string_view> setting(server_facts const&, std::string_view name);
[[nodiscard]] std::optional<std::int64_t> number_of(server_facts const&, std::string_view name);
/// Whether all acknowledged writes survive a restart, however the server ends.
[[nodiscard]] bool keeps_all(server_facts const&);

/// "85 µs", "1.2 ms", "3.4 s"
[[nodiscard]] std::string to_text(std::chrono::microseconds);

/// "Redis 7.0.15", "Valkey 8.0.1"; empty without INFO.
[[nodiscard]] std::string server_name(info_text const&);

/// "standalone", "cluster", "sentinel"; Valkey has another name for the field. Empty without it.
[[nodiscard]] std::string_view server_mode(info_text const&);

// The checks, in four files; server_checks.cpp has the list of them.

[[nodiscard]] finding check_latency(server_facts const&);
[[nodiscard]] finding check_version(server_facts const&);
[[nodiscard]] finding check_mode(server_facts const&);
[[nodiscard]] finding check_role(server_facts const&);
[[nodiscard]] finding check_clock(server_facts const&);
[[nodiscard]] finding check_keys(server_facts const&);

[[nodiscard]] finding check_rights(server_facts const&);
/// The reason why no ACL rule fits exactly the names that begin so, and a remedy; empty: there is such a
/// rule.
struct no_rule {
  std::string_view why{};
  std::string_view advice{};
};
[[nodiscard]] no_rule why_no_rule(std::string_view prefix, std::string_view lock);

/// Shows the rule for a prefix of names, and checks that this user has no rights beyond it.
[[nodiscard]] finding check_tenant(server_facts const&);
[[nodiscard]] finding check_writes(server_facts const&);
[[nodiscard]] finding check_scripts(server_facts const&);
[[nodiscard]] finding check_compare(server_facts const&);
[[nodiscard]] finding check_messages(server_facts const&);

[[nodiscard]] finding check_eviction(server_facts const&);
[[nodiscard]] finding check_memory(server_facts const&);
[[nodiscard]] finding check_persistence(server_facts const&);
[[nodiscard]] finding check_replicas(server_facts const&);
[[nodiscard]] finding check_idle_timeout(server_facts const&);
[[nodiscard]] finding check_output_buffer(server_facts const&);

/// The finding for a fact that could not be found out.
[[nodiscard]] finding unknown(std::string_view check, std::string_view reason);

}  // namespace holdfast::cli
