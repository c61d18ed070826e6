/// What the judge knows at a point of the history.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "judge/record.hpp"
#include "judge/report.hpp"
#include "judge/rules.hpp"

namespace holdfast::judging {

/// A line of the history; line 0: there was none.
struct place {
  instant t = 0;
  std::uint16_t file = 0;
  std::uint32_t line = 0;
};
inline place place_of(record const& line) { return {.t = line.t, .file = line.file, .line = line.line}; }

/// A caller that waits.
struct wait_state {
  std::uint32_t client = 0;
  std::uint32_t lock = 0;
  std::int64_t number = 0;
  std::int64_t amount = 1;
  instant ttl = 0;
  /// Its place in the queue outlives its client by so much, and keeps others out; 0: it has none. nullopt: of
  /// a lock without such places.
  std::optional<instant> credit{};
  place asked{};
  place queued{};
  instant over = 0;  ///< a caller that came later was served: its place is gone, unless its client goes on
};

/// The last caller of a client that went. Its place may have stayed: its client couldn't reach the server,
/// perhaps.
struct left_place {
  std::uint32_t client = 0;
  instant at = 0;
  instant credit = 0;
  bool cut_off = false;  ///< it couldn't a moment before
};

/// A lease.
struct hold_state {
  std::uint32_t client = 0;
  std::uint32_t lock = 0;
  std::int64_t number = 0;
  std::int64_t instead =
      0;  ///< the number of the lease of the same client that it takes the place of; 0: none
  std::int64_t amount = 1;
  std::int64_t token = 0;
  instant until = 0;  ///< its deadline
  instant ttl = 0;
  bool in_use = true;         ///< false: its holder is giving it back
  bool has_new_token = true;  ///< false: it has that of the lease that it was before
  place asked{};
  place granted{};
  place confirmed{};  ///< when the server last said that it is held

  [[nodiscard]] bool valid_at(instant t) const noexcept { return in_use && t < until; }
  /// The server has it no longer than that, unless it is renewed: the allowance of engine::drift_allowance on
  /// top, twice, since the server may count a hundredth slower as well.
  [[nodiscard]] instant end_at_server() const noexcept { return until + ttl / 50 + 4'000'000; }
};

/// Of those of a name.
struct newest_leases {
  hold_state token{};  ///< that with the newest token
  hold_state write{};  ///< the last one that wasn't a reader's

  void add(hold_state const& hold, company as) {
    if (hold.token >= token.token) token = hold;
    if (as == company::none) write = hold;
  }
  /// The one that shows that this one's token isn't in order; null: it is.
  [[nodiscard]] hold_state const* above(hold_state const& hold, company as) const {
    auto const writes = as == company::none;
    auto const& other = writes ? token : write;
    auto const fine = writes ? hold.token > other.token : hold.token >= other.token;
    return fine ? nullptr : &other;
  }
};

/// A caller was overtaken, if its client turns out to have lived, and to have listened.
struct suspicion {
  std::int64_t wait = 0;
  std::uint32_t by = 0;  ///< the client of the one that was served first
  instant at = 0;
  finding found{};
};

/// A lease of one client.
struct lease_identity {
  std::int64_t number = 0;
  std::int64_t token = 0;

  friend bool operator==(lease_identity const&, lease_identity const&) = default;
};

struct client_state {
  instant last = 0;         ///< its last line
  instant silent_from = 0;  ///< its last pause that was too long for a client that runs
  instant silent_until = 0;
  instant awake_since = 0;  ///< its last line behind a pause in which it may have stood still
  instant trouble = 0;      ///< when it last had no connection, or a new one
  instant away_from = 0;    ///< when the last trouble began
  instant arrived = 0;      ///< when it began, or last came to another server
  bool down = false;        ///< said so last
  instant unheard = 0;      ///< when its connection for messages last broke
  bool closed = false;
  lease_identity released{};           ///< the last one
  std::optional<std::int64_t> lost{};  ///< "l" of the last lease that was
  std::vector<suspicion> suspected{};
  std::unordered_map<std::int64_t, std::unique_ptr<wait_state>> waits{};
  std::unordered_map<std::int64_t, std::unique_ptr<hold_state>> holds{};
};

/// A client that waits or holds writes a line each second.
inline constexpr instant longest_silence = 2'500'000'000;

/// Shorter pauses are no sign that it stood still.
inline constexpr instant longest_pause = 1'100'000'000;

/// How many permits there are; more, if that isn't certain.
class permit_limit {
 public:
  void offer(std::int64_t number) noexcept {
    if (!set_ && number > limit_) limit_ = number;
  }
  void setting(std::uint32_t client, std::int64_t number) { pending_[client] = number; }
  void set(std::uint32_t client, std::int64_t number) {
    pending_.erase(client);
    limit_ = number;
    set_ = true;
  }
  void add(std::int64_t number) noexcept { limit_ = sum(limit_, number); }
  /// 0: nothing is known.
  [[nodiscard]] std::int64_t most() const noexcept {
    auto result = limit_;
    for (auto const& [client, number] : pending_) result = std::max(result, number);
    return result;
  }

 private:
  std::int64_t limit_ = 0;
  bool set_ = false;
  std::map<std::uint32_t, std::int64_t> pending_{};
};

struct name_state {
  std::vector<hold_state*> holds{};
  std::vector<wait_state*> waits{};  ///< for this name alone
  token_rule tokens{};
  token_times told{};
  newest_leases newest{};
  permit_limit permits{};
  bool barging = false;  ///< kinds that keep no order use it, too: their releases wake a fair waiter, which
                         ///< may be overtaken
  place last_end{};      ///< when a lease of it last ended
  std::uint32_t last_client = 0;
  instant last_until = 0;   ///< when the server would have ended it by itself
  instant busy_until = 0;   ///< it isn't free before: a key was kept, or the end of a lease isn't certain
  instant longest_ttl = 0;  ///< that was asked for
  std::vector<left_place> left{};  ///< one for each client
};

/// All that has been told. `names` and `clients` are indexed as in the tables.
struct state {
  tables const& known;
  instant uncertainty = 0;
  std::vector<client_state> clients{};
  std::vector<name_state> names{};
  std::deque<instant> troubles{};  ///< of all clients, in order; the latest ones
  report result{};

  [[nodiscard]] lock_parts const& parts_of(std::uint32_t lock) const { return known.locks[lock]; }
  [[nodiscard]] std::int64_t amount_of(part const& of, hold_state const& hold) const noexcept {
    return of.amount != 0 ? of.amount : hold.amount;
  }
  [[nodiscard]] std::string name_text(std::uint32_t name) const;
  [[nodiscard]] bool one_machine(std::uint32_t client, std::uint32_t other) const {
    return known.clients[client].machine == known.clients[other].machine;
  }
  /// By how much the times of two clients may differ.
  [[nodiscard]] instant doubt(std::uint32_t client, std::uint32_t other) const {
    return one_machine(client, other) ? 0 : uncertainty;
  }
  /// Whether any client noticed that a server went, or another came, within that time, by the clocks perhaps.
  [[nodiscard]] bool trouble_within(instant from, instant to) const noexcept;
  /// The first instant from which on that client ran and had its server, until `now`; `now`: it doesn't run.
  [[nodiscard]] instant well_since(std::uint32_t client, instant now) const noexcept;
  static void tell(finding& to, std::uint32_t client, place const& at, std::string text);
  /// What became of a lease up to now.
  void tell(finding& to, hold_state const& hold) const;
};

}  // namespace holdfast::judging
