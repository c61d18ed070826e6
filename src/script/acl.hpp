/// The ACL rights that a user of locks needs, in the syntax of ACL SETUSER: in one place, for error texts,
/// and for the doctor, which prints and tests them.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "script/names.hpp"

namespace holdfast::acl {

/// The commands of a connection's handshake.
inline constexpr std::string_view to_connect{"+ping +auth +select +client|setname +command|info"};
/// Script calls, and the commands inside the scripts; multi, exec and incr take a free lock without one.
inline constexpr std::string_view to_lock{
    "+eval +evalsha +get +getrange +set +del +exists +pexpire +pttl +type +time +zadd +zcard +zcount "
    "+zpopmin "
    "+zrange +zrank "
    "+zrem +zscore +hset +hsetnx +hgetall +multi +exec +incr"};
/// Instead of calls of scripts, where there are none.
inline constexpr std::string_view without_scripts{"+multi +exec +watch +unwatch +incr +incrby +expire"};
inline constexpr std::string_view to_be_told{"+subscribe +unsubscribe +publish +pubsub|numsub"};
inline constexpr std::string_view to_be_told_in_slots{"+ssubscribe +sunsubscribe +spublish"};
inline constexpr std::string_view in_a_cluster{"+cluster|slots +cluster|info +pubsub|shardnumsub +asking"};

/// The keys and channels of all names that begin with `prefix`, a pattern, and of no other names.
inline std::string keys(std::string_view prefix) {
  auto const names = std::string{prefix} + "*";
  return "~" + names + " ~{" + names;
}
inline std::string channels(std::string_view prefix) {
  auto const names = std::string{prefix} + "*";
  return "&" + names + " &{" + names;
}

/// The keys and channels of one name.
inline std::string keys_of(std::string_view name) {
  return "~" + std::string{name} + " ~" + names::beside(name, "holdfast_*");
}
inline std::string channels_of(std::string_view name) {
  return "&" + names::beside(name, "holdfast_inbox:*") + " &" + names::leader(name);
}

/// The client's own: the record that describes it, and a channel for hints, which are never trusted.
inline constexpr std::string_view keys_of_clients{"~holdfast_client:*"};
inline constexpr std::string_view channels_of_clients{"&holdfast_inbox:*"};

/// Additional rights for Redisson's wire.
namespace redisson {

inline constexpr std::string_view to_lock{
    "+hget +hdel +hexists +hkeys +hlen +hscan +hstrlen +incrby +decrby +lindex +llen +lpop +lpos +lrange "
    "+lrem +rpush +zincrby +zrangebyscore +zremrangebyrank"};

/// Patterns for the names of names::redisson, which puts braces around a name that has none.
inline std::string patterns(char sign, std::initializer_list<std::string_view> kinds,
                            std::string_view prefix) {
  std::string all;
  for (auto const kind : kinds) {
    for (auto const* const brace : {":{", ":"})
      all.append(all.empty() ? "" : " ")
          .append(1, sign)
          .append(kind)
          .append(brace)
          .append(prefix)
          .append("*");
  }
  return all;
}
inline std::string keys(std::string_view prefix) {
  return patterns('~', {"redisson_lock_queue", "redisson_lock_timeout", "redisson_lock_token"}, prefix);
}
inline std::string channels(std::string_view prefix) {
  return patterns('&', {"redisson_lock__channel", "redisson_rwlock", "redisson_sc"}, prefix)
      .append(" &redisson_countdownlatch__channel__{")
      .append(prefix)
      .append("*");
}

}  // namespace redisson

}  // namespace holdfast::acl
