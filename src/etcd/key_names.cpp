#include "etcd/key_names.hpp"

#include "etcd/keys.hpp"
#include "etcd/permit_keys.hpp"

namespace holdfast::etcd::keys {

std::optional<std::string> name_in(std::string_view prefix, std::string_view key, std::int64_t lease) {
  if (lease == 0 || !key.starts_with(prefix)) return std::nullopt;
  auto const slash = key.rfind('/');
  if (slash == std::string_view::npos || slash <= prefix.size()) return std::nullopt;
  auto const folder = key.substr(0, slash + 1);
  if (key != place(folder, lease) && !key.starts_with(reading_place(folder, lease, {})) &&
      !permit_in({.key = std::string{key}, .lease = lease}))
    return std::nullopt;
  return std::string{key.substr(prefix.size(), slash - prefix.size())};
}

}  // namespace holdfast::etcd::keys
