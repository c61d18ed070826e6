/// The judgement of `holdfast doctor` about several servers of one kind, without I/O. Findings that all
/// servers share are reported once.
#pragma once

#include "doctor/server_checks.hpp"

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

/// A server, and the result of asking it.
struct examined {
  server_duty duty = server_duty::serving;
  probe::server_address name{};         ///< as other servers name it
  std::optional<server_facts> facts{};  ///< empty: it can't be asked
  std::string failure{};                ///< the reason then
  std::error_code failed_with{};
};

/// All findings of the checks of single servers, each with the servers that it is about.
[[nodiscard]] std::vector<finding> judge_all(std::span<examined const>);

/// Checks whether the reachable servers run the same version.
[[nodiscard]] finding check_same_version(std::span<examined const>);

/// What servers of one deployment should have in common: the version and the time of day.
[[nodiscard]] std::vector<finding> check_likeness(std::span<examined const>);

/// The spread of the times of day, which matters where one server may take over from another. Empty: fewer
/// than two are known.
[[nodiscard]] std::vector<finding> check_times(std::span<examined const>);

/// The finding for a server that can't be reached at the address by which others name it.
[[nodiscard]] finding unreachable_at(std::string_view topic, examined const& server, severity level);

/// Merges equal findings: `servers` then names all of them. Keeps the order of checks; within a check the
/// most severe come first.
[[nodiscard]] std::vector<finding> grouped(std::vector<finding> findings);

void append(std::vector<finding>& to, std::vector<finding> more);

/// The whole report: the findings about the deployment, merged, before those about each of its servers.
[[nodiscard]] std::vector<finding> with_each_server(std::vector<finding> of_deployment,
                                                    std::span<examined const>);

/// "a, b and c"
[[nodiscard]] std::string listed(std::vector<std::string> const& words);

}  // namespace holdfast::cli
