/// The keys of permits in etcd (docs/etcd.md). No I/O.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "etcd/messages.hpp"

namespace holdfast::etcd::keys {

inline constexpr std::int64_t most_permits = std::numeric_limits<std::int32_t>::max();

/// What the keys of all permits of a name begin with.
[[nodiscard]] std::string permits_of(std::string_view folder);
/// The same of those that were made while there were so many altogether.
[[nodiscard]] std::string permits_of_size(std::string_view folder, std::int64_t size);
/// The place of an owner of so many permits, under that lease.
[[nodiscard]] std::string permit_place(std::string_view folder, std::int64_t size, std::int64_t amount,
                                       std::int64_t lease, std::string_view owner);

/// What the key of such a place says.
struct permit_words {
  std::int64_t size = 0;
  std::int64_t amount = 0;
};
/// nullopt: it is no such key, or isn't under the lease that it names.
[[nodiscard]] std::optional<permit_words> permit_in(key_value const& place);

/// The key that says how many permits there are, if somebody has set that.
[[nodiscard]] std::string size_of(std::string_view folder);
/// Its value. `by` is unlike that of any other request, so that a copy of one that comes late changes
/// nothing.
[[nodiscard]] std::string size_text(std::int64_t size, std::string_view by);
/// The number in such a value; nullopt: it is somebody else's.
[[nodiscard]] std::optional<std::int64_t> size_in(std::string_view value);

}  // namespace holdfast::etcd::keys
