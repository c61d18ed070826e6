/// The commands of the server in memory that touch nothing but keys. They get the arguments behind
/// their name, and reply as a real server does.
#pragma once

#include "memory/arguments.hpp"
#include "memory/stored_keys.hpp"
#include "resp/reply.hpp"

namespace holdfast::memory::commands {

// key_commands.cpp
resp::reply del(stored_keys& keys, command args);
resp::reply exists(stored_keys& keys, command args);
resp::reply type(stored_keys& keys, command args);
resp::reply pexpire(stored_keys& keys, command args);
resp::reply pttl(stored_keys& keys, command args);
// string_commands.cpp
resp::reply get(stored_keys& keys, command args);
resp::reply set(stored_keys& keys, command args);
resp::reply append(stored_keys& keys, command args);
resp::reply incr(stored_keys& keys, command args);
resp::reply incrby(stored_keys& keys, command args);
resp::reply decrby(stored_keys& keys, command args);
resp::reply getrange(stored_keys& keys, command args);
// hash_commands.cpp
resp::reply hset(stored_keys& keys, command args);
resp::reply hsetnx(stored_keys& keys, command args);
resp::reply hget(stored_keys& keys, command args);
resp::reply hdel(stored_keys& keys, command args);
resp::reply hexists(stored_keys& keys, command args);
resp::reply hlen(stored_keys& keys, command args);
resp::reply hkeys(stored_keys& keys, command args);
resp::reply hgetall(stored_keys& keys, command args);
resp::reply hscan(stored_keys& keys, command args);
resp::reply hstrlen(stored_keys& keys, command args);
// sorted_set_commands.cpp
resp::reply zadd(stored_keys& keys, command args);
resp::reply zincrby(stored_keys& keys, command args);
resp::reply zrem(stored_keys& keys, command args);
resp::reply zscore(stored_keys& keys, command args);
resp::reply zrank(stored_keys& keys, command args);
resp::reply zcard(stored_keys& keys, command args);
resp::reply zcount(stored_keys& keys, command args);
resp::reply zrange(stored_keys& keys, command args);
resp::reply zrangebyscore(stored_keys& keys, command args);
resp::reply zpopmin(stored_keys& keys, command args);
resp::reply zremrangebyrank(stored_keys& keys, command args);
// list_commands.cpp
resp::reply rpush(stored_keys& keys, command args);
resp::reply lpush(stored_keys& keys, command args);
resp::reply llen(stored_keys& keys, command args);
resp::reply lpop(stored_keys& keys, command args);
resp::reply lindex(stored_keys& keys, command args);
resp::reply lpos(stored_keys& keys, command args);
resp::reply lrange(stored_keys& keys, command args);
resp::reply lrem(stored_keys& keys, command args);

}  // namespace holdfast::memory::commands
