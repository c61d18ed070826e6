/// What is asked of etcd, and what it answers, as plain values: all that both sides of channel.hpp know. No
/// I/O.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace holdfast::etcd {

using std::chrono::milliseconds;

struct key_value {
  std::string key{};
  std::string value{};
  std::int64_t create_revision = 0;
  std::int64_t mod_revision = 0;  ///< of its last change
  std::int64_t lease = 0;
};

/// The keys from `key` to `end`, without it; empty: that one key. Sorted by their create revision, or by
/// name.
struct range {
  enum class order : std::uint8_t { oldest_first, newest_first, by_key };

  std::string key{};
  std::string end{};
  order sorted = order::oldest_first;
  std::int64_t limit = 0;                ///< at most so many; 0: all
  std::int64_t max_create_revision = 0;  ///< none that is newer; 0: no limit
  bool without_values = false;
};

/// The names of the keys of that range; `limit` as above.
[[nodiscard]] inline range names_from_to(std::string first, std::string end, std::int64_t limit = 0) {
  return {.key = std::move(first), .end = std::move(end), .limit = limit, .without_values = true};
}

struct put {
  std::string key{};
  std::string value{};
  std::int64_t lease = 0;
};

/// The keys from `key` to `end`, without it; empty: that one key.
struct remove {
  std::string key{};
  std::string end{};
};

using operation = std::variant<range, put, remove>;

/// All keys of the range have that create revision (0: there are none), or that value; or they were made
/// before a revision; or the key was last changed in one.
struct condition {
  std::string key{};
  std::string end{};
  std::variant<std::int64_t, std::string> equals{};
  std::int64_t made_before = 0;  ///< 0: `equals` counts
  std::int64_t changed_in = 0;   ///< the same
};

struct transaction {
  std::vector<condition> when{};
  std::vector<operation> then{};
  std::vector<operation> otherwise{};
};

/// The answer to one operation; empty but for a range.
struct found {
  std::vector<key_value> keys{};
  std::int64_t count = 0;  ///< of all keys in the range, whatever its limits say
};

struct outcome {
  std::int64_t revision = 0;  ///< of the whole store, after it
  std::uint64_t term = 0;     ///< of the leader, as the member that was asked knows it
  bool succeeded = false;     ///< all conditions were true: these are the answers of `then`
  std::vector<found> answers{};
};

struct lease_grant {
  std::int64_t id = 0;
  std::chrono::seconds ttl{};  ///< perhaps longer than requested: the server has a minimum
};

/// What is left of a lease.
struct lease_time {
  std::chrono::seconds left{};  ///< whole ones, rounded down; negative: there is no such lease
};

/// What one of the endpoints says of itself.
struct member_view {
  std::string endpoint{};
  std::string failure{};      ///< why it doesn't say anything; empty: it does
  bool unauthorized = false;  ///< that is why
  bool not_etcd = false;      ///< the same
  std::uint64_t cluster = 0;
  std::uint64_t id = 0;
  std::uint64_t leader = 0;  ///< the id of the member that it takes for the leader; 0: it knows none
  std::uint64_t term = 0;
  bool learner = false;  ///< it has no vote yet
  std::string version{};
  std::int64_t size = 0;  ///< of its database on disk
  std::int64_t size_in_use = 0;
};

/// An alarm, which lasts until somebody disarms it.
struct alarm_view {
  enum class kind : std::uint8_t { no_space, corrupt, other };

  kind type = kind::other;
  std::uint64_t member = 0;
};

/// One that the cluster counts as its member.
struct listed_member {
  std::uint64_t id = 0;
  std::string name{};
  std::vector<std::string> urls{};  ///< for clients; empty: it hasn't started yet
  bool learner = false;
};

/// What doctor looks at. Each endpoint is asked by itself, whatever cluster it belongs to.
struct cluster_view {
  std::vector<member_view> endpoints{};
  std::vector<alarm_view> alarms{};
  std::string alarms_unknown{};  ///< why; empty: they are known
  std::vector<listed_member> members{};
  std::string members_unknown{};  ///< the same
};

/// How a request ended.
struct status {
  enum class kind : std::uint8_t {
    ok,
    unreachable,  ///< no answer, or the member can't answer now: to be asked again
    no_such_lease,
    unauthorized,
    not_etcd,      ///< something else answers, or an etcd that is too old
    two_clusters,  ///< the endpoints belong to different clusters
    full,          ///< the space quota is exceeded
    refused,
  };

  kind type = kind::ok;
  bool sent = false;   ///< it may have been carried out
  std::string text{};  ///< with the endpoint

  [[nodiscard]] bool ok() const noexcept { return type == kind::ok; }
};

struct settings {
  std::vector<std::string> endpoints{};  ///< host:port
  bool tls = false;
  // In PEM.
  std::string ca{};  ///< empty: the system's
  std::string cert{};
  std::string key{};
  std::string user{};
  std::string password{};
  milliseconds connect_timeout{2'000};
};

}  // namespace holdfast::etcd
