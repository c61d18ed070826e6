/// Runs every script on a lock of any name, for what is true of all of them.
#pragma once

#include "contract/contract.hpp"

namespace holdfast::contract::all_scripts {

using engine::publishing;

inline constexpr std::string_view uuid = caller.substr(0, 36);

/// Runs each path of the plain scripts on a lock of this name, with a waiter that is woken, a waiter that
/// gets a grant, and a fenced key of this name.
void go_through(raw_redis& raw, std::string const& name, publishing publish);
/// Runs the scripts of a latch, and then of a barrier, of this name, on the plain wire.
void go_through_meetings(raw_redis& raw, std::string const& name, publishing publish);
/// Runs the scripts of the condition of a lock of this name.
void go_through_condition(raw_redis& raw, std::string const& name, publishing publish);
/// Runs every lock script of Redisson's wire.
void go_through_redisson(raw_redis& raw, std::string const& name, publishing publish);
/// Runs every script of a read-write lock of this name, with several readers. The count of one reader is too
/// high.
void go_through_shared(raw_redis& raw, std::string const& name);
/// Runs the scripts of each kind of semaphore and of a latch of this name, one after the other, on Redisson's
/// wire.
void go_through_numbers(raw_redis& raw, std::string const& name, publishing publish);

}  // namespace holdfast::contract::all_scripts
