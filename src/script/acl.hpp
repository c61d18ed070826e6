/// The rights that a user of locks needs, as ACL SETUSER has them: in one place, for error texts, and for the
/// doctor, who prints them and tries them.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "script/names.hpp"

namespace holdfast::acl {

/// What connections begin with.
inline constexpr std::string_view to_connect{"+ping +auth +select +client|setname"};
/// Scripts, and what is done inside them.
inline constexpr std::string_view to_lock{
    "+eval +evalsha +get +getrange +set +del +exists +pexpire +pttl +type +time +zadd +zcard +zpopmin "
    "+zrange +zrank "
    "+zrem +zscore +hset +hsetnx +hgetall"};
inline constexpr std::string_view to_be_told{"+subscribe +unsubscribe +publish"};
inline constexpr std::string_view to_be_told_in_slots{"+ssubscribe +sunsubscribe +spublish"};
inline constexpr std::string_view in_a_cluster{"+cluster|slots +cluster|info +pubsub|shardnumsub +asking"};

/// What belongs to all names that begin with `prefix`, a pattern, and to nobody else.
inline std::string keys(std::string_view prefix) {
  auto const names = std::string{prefix} + "*";
  return "~" + names + " ~{" + names;
}
inline std::string channels(std::string_view prefix) {
  auto const names = std::string{prefix} + "*";
  return "&" + names + " &{" + names;
}

/// What belongs to one name.
inline std::string keys_of(std::string_view name) {
  return "~" + std::string{name} + " ~" + names::beside(name, "holdfast_*");
}
inline std::string channels_of(std::string_view name) {
  return "&" + names::beside(name, "holdfast_inbox:*");
}

/// What belongs to the client: who it is, and hints that nothing is believed of.
inline constexpr std::string_view keys_of_clients{"~holdfast_client:*"};
inline constexpr std::string_view channels_of_clients{"&holdfast_inbox:*"};

/// On Redisson's wire, besides.
namespace redisson {

inline constexpr std::string_view to_lock{
    "+hget +hdel +hexists +hkeys +hlen +hscan +incrby +decrby +lindex +lpop +lpos +lrange +lrem +rpush "
    "+zcount +zincrby +zremrangebyrank"};

/// As names::redisson has them: braces are put round a name without.
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
