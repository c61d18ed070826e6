/// What `holdfast serve` shows of locks beyond their list, as JSON of one line each.
#pragma once

#include "serve/chosen_locks.hpp"
#include "serve/deployment.hpp"

#include <holdfast/client.hpp>

#include <string>
#include <string_view>

namespace holdfast::cli {

/// A page of the list: `locks`, and how many there are (`count`).
[[nodiscard]] std::string list_json(deployment const& of, lock_filter const& filter, std::size_t skipped,
                                    std::size_t at_most);
/// Asks the server about one name: the object of `inspect --json` with `id`, `deployment`, `changes` and
/// `times`. While the server can't be asked, what is known of it, with `error`.
[[nodiscard]] std::string lock_json(deployment const& of, client& redis, std::string const& name);
/// Asks about the locks that are waited for most: `edges`, each from a waiter to a holder.
[[nodiscard]] std::string blocking_json(deployment const& of, client& redis);
/// The processes that hold locks, those with most first.
[[nodiscard]] std::string processes_json(deployment const& of);

}  // namespace holdfast::cli
