/// Rows that hold for a lock without an order (scripts/exclusive) and for one with (scripts/fair) alike.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "contract/contract.hpp"

namespace holdfast::contract {

/// `acquire` or `fair_acquire`; `pass` or `fair_pass`.
using acquire_call = call (*)(engine::acquire_request, std::string_view name);
using pass_call = call (*)(std::string_view owner, std::string_view next);

[[nodiscard]] std::vector<row> acquire_rows_of_both_orders(acquire_call acquire);
[[nodiscard]] std::vector<row> pass_rows_of_both_orders(pass_call pass);

/// Sends each kind of request while `spoil` has given a side key a wrong type: each is refused, and changes
/// no key.
void expect_refused_without_a_change(acquire_call acquire, words const& spoil, std::string const& error);

/// Passes the lock on without the right to publish: the next caller has it, though `first_waiter` waits.
void expect_passed_without_publishing(pass_call pass, waiter first_waiter);

}  // namespace holdfast::contract
