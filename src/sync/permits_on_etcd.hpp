/// How many permits a name has on etcd, asked and changed outside of the engine. All throw when etcd can't be
/// asked, and errc::wrong_type when the name is something else.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/core.hpp"

namespace holdfast::sync::on_etcd {

struct permit_counts {
  std::int64_t available = 0;
  std::int64_t total = 0;
  std::int64_t acquired = 0;
};

/// `offered`: how many there are, where nobody has said so.
[[nodiscard]] permit_counts count_permits(engine::core& core, std::string const& name, std::int64_t offered);

/// `mode`: as of scripts/permits/resize. Returns whether the number was changed.
bool resize_permits(engine::core& core, std::string const& name, std::string_view mode, std::int64_t number,
                    std::int64_t offered);

/// Whether that owner had some.
[[nodiscard]] bool give_back_permits(engine::core& core, std::string const& name, std::string_view owner);

}  // namespace holdfast::sync::on_etcd
