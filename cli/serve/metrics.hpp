/// The metrics of `holdfast serve`, in Prometheus's text format.
#pragma once

#include "serve/access.hpp"
#include "serve/deployment.hpp"
#include "serve/http_server.hpp"
#include "serve/store.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace holdfast::cli {

/// What doctor has found last about a deployment.
struct fitness {
  std::map<std::string, std::int64_t> findings{};  ///< how many, by severity; empty: not examined yet
};

/// All of them. The number of series depends on the options alone: none has the name of a lock as a label.
[[nodiscard]] std::string metrics_text(std::span<std::unique_ptr<deployment> const> all,
                                       std::map<std::string, fitness> const& fitness_of,
                                       http_facts const& http, access_control const& access,
                                       long_hold_rules const& long_hold);

}  // namespace holdfast::cli
