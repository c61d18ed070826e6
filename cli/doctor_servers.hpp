/// What `holdfast doctor` makes of several servers of one kind: what is true of all is said once, by no I/O.
#pragma once

#include "doctor_checks.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace holdfast::cli {

/// What a server is there for.
enum class server_duty : std::uint8_t {
  serving,   ///< locks are taken there
  stand_by,  ///< a replica: it will serve when its master is gone
  spare,     ///< a cluster's master without slots
};

/// A server, and what came of asking it.
struct examined {
  server_duty duty = server_duty::serving;
  address name{};                       ///< as the others name it
  std::optional<server_facts> facts{};  ///< empty: it can't be asked
  std::string failure{};                ///< why not
  std::error_code failed_with{};
};

/// All findings of the checks that one server gets, each with the servers that it is about.
[[nodiscard]] std::vector<finding> judge_all(std::span<examined const>);

/// Those that could be asked run different versions.
[[nodiscard]] finding check_same_version(std::span<examined const>);

/// How far their times of day are apart, which matters where one may take over from another. Empty: fewer
/// than two told.
[[nodiscard]] std::vector<finding> check_times(std::span<examined const>);

/// A server that others name at an address where it can't be reached from here.
[[nodiscard]] finding unreachable_at(std::string_view topic, examined const& server, severity how);

/// Findings in their order, those alike made one: `servers` then has all of them. Worst first.
[[nodiscard]] std::vector<finding> grouped(std::vector<finding> findings);

void append(std::vector<finding>& to, std::vector<finding> more);

/// "a, b and c"
[[nodiscard]] std::string listed(std::vector<std::string> const& words);

}  // namespace holdfast::cli
