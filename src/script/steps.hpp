/// Steps of locks in commands that every server has, shared by the forms for servers without scripts. No I/O.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "script/form.hpp"

namespace holdfast::scripting {

/// What EXEC replied; or the first error in place of it, when the transaction was refused.
struct transaction_outcome {
  std::span<resp::reply> results{};
  resp::reply const* refusal = nullptr;
};
/// `replies`: to MULTI, the commands, and EXEC, in that order.
[[nodiscard]] transaction_outcome read_transaction(std::span<resp::reply> replies) noexcept;

/// The keys and arguments of a script that ends a hold or a wait: exclusive.release and its kin.
struct ending {
  explicit ending(spoken_call const& call) noexcept
      : lock{call.keys[0]},
        queue{call.keys[2]},
        owner{call.args[0]},
        publish{call.args.size() == 4 ? call.args[3] : call.args[2]} {}  // of exclusive.pass the third
  std::string_view lock;
  std::string_view queue;
  std::string_view owner;
  std::string_view publish;
};

/// Takes waiters out of the queue and tells them, one after the other, until one hears it: as wake_next.lua
/// does, but that nobody is granted the lock. Between the steps a waiter may be out of the queue untold: it
/// asks again by itself at its re-check. These steps have the numbers from `first_waking_step` on.
inline constexpr std::uint8_t first_waking_step = 100;
/// `code` is the reply of the request when that is over.
[[nodiscard]] net::meaning begin_waking(std::string_view queue, std::int64_t code);
[[nodiscard]] net::meaning go_on_waking(ending const& of, net::exchange const& now,
                                        std::span<resp::reply> replies);

}  // namespace holdfast::scripting
