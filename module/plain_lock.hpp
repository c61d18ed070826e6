/// The exclusive lock of the plain wire, with its token counter and its queue: the steps that its commands
/// share. As the fragments in scripts/include that are named beside them.
#pragma once

#include "calls.hpp"
#include "request.hpp"
#include "token_counter.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::server {

inline constexpr std::string_view upgrade_suffix{":u"};
[[nodiscard]] inline bool is_upgrade(std::string_view owner) { return owner.ends_with(upgrade_suffix); }

enum class wake_outcome {
  nobody,   ///< waits, or can be reached
  self,     ///< the one who asks is the first
  mute,     ///< nobody may be told
  woken,    ///< the first was told to ask
  granted,  ///< the first has the lock
  spoilt    ///< a side key is something else; whoever waits finds out by itself
};

struct grant_policy {
  std::int64_t starvation_us;  ///< 0: whoever is next has waited long enough, whatever the clocks say
  std::int64_t grant_ms;       ///< the ttl of what is granted
  publishing mode;
};

/// How one who waits joins the queue.
struct place {
  std::optional<std::int64_t> ticket{};  ///< that of an earlier wait
  std::int64_t waited_us = 0;
};

class plain_lock {
 public:
  explicit plain_lock(request& call) : call_{call}, lock_{call.context(), call.keys()[0]} {}

  [[nodiscard]] stored_key& key() { return lock_; }
  /// Nothing when it is free, or no lock.
  [[nodiscard]] std::optional<std::string_view> holder() const { return lock_.text(); }
  [[nodiscard]] bool is_free() const { return lock_.is_absent(); }
  /// What somebody who isn't its owner is told: 0 it is gone, -1 it is somebody else's, or no lock.
  [[nodiscard]] long long foreign() const { return is_free() ? 0 : -1; }
  /// False, with an error as the reply, if the counter or the queue is something else.
  [[nodiscard]] bool has_sound_side_keys();
  [[nodiscard]] stored_key& queue();
  /// Cheaper than to open the queue of a lock that nobody waits for.
  [[nodiscard]] bool has_queue();
  void leave_queue(abi::string* owner);

  /// False, with an error as the reply: the server can't.
  [[nodiscard]] bool set_holder(abi::string* owner, std::int64_t ttl_ms);
  /// {first token, how many}: take_tokens.lua.
  void reply_tokens(std::int64_t wanted);
  /// The same with a 1 before it, as a pass has it.
  void reply_passed(std::int64_t wanted);

  /// join_queue.lua. Returns the ticket.
  std::int64_t join(abi::string* owner, place const& where);
  /// is_beside, in let_readers_in.lua. False: what the set of readers has to say isn't known here.
  [[nodiscard]] bool has_readers_beside();
  /// let_readers_in.lua. `nobody`: nobody who waits at the head wants to read, or can be reached.
  [[nodiscard]] wake_outcome let_readers_in(grant_policy const& policy);
  /// back_to_upgrade.lua, of `owner`, which has the lock.
  [[nodiscard]] bool back_to_upgrade(abi::string* owner, grant_policy const& policy);
  /// Readers have it.
  [[nodiscard]] bool is_shared() const;
  /// A reader has it for itself: its owner id is the text of the key.
  [[nodiscard]] bool is_read_alone() const;
  /// wake_next.lua. `self` may be null.
  [[nodiscard]] wake_outcome wake_next(grant_policy const& policy, abi::string* self = nullptr);
  /// busy_reply.lua. `last_token` says since when it is held, 0: it doesn't.
  [[nodiscard]] request::busy state(std::int64_t last_token, long long ahead = -1, std::int64_t ticket = 0);
  /// How many wait before this one.
  [[nodiscard]] long long ahead_of(abi::string* owner);
  [[nodiscard]] std::int64_t last_token() const { return counter_.last().value_or(0); }

 private:
  [[nodiscard]] std::optional<long long> wake(queue_entry const& waiter, publishing mode);
  [[nodiscard]] std::optional<long long> grant(queue_entry const& waiter, grant_policy const& policy);

  /// as_readers, in let_readers_in.lua. False: this server can't.
  [[nodiscard]] bool make_reader_one_of(stored_key& readers);
  [[nodiscard]] owned_string readers_name();
  /// A caller may name the queue so that the readers' key is one that is open already.
  [[nodiscard]] bool is_one_of_its_keys(owned_string const& name) const;
  [[nodiscard]] std::string grant_message(std::string_view owner, token_block const& tokens) const;

  request& call_;
  stored_key lock_;
  token_counter counter_{call_};
  std::optional<stored_key> queue_{};    ///< opened when it is needed
  bool is_without_queue_ = false;        ///< was found so; once it is open, it is asked itself
  std::optional<queue_entry> reader_{};  ///< whom state() has named
};

}  // namespace holdfast::server
