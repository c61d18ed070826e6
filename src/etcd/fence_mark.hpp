/// The key that says which token of a fenced resource is the newest (docs/etcd.md). No I/O.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "etcd/messages.hpp"

namespace holdfast::etcd {

/// The mark of a resource, behind the prefix of the URL. It is below no name, so it is in no lock's way.
[[nodiscard]] inline std::string fence_mark_of(std::string_view resource) {
  return std::string{resource} + ":holdfast_fence";
}

/// A mark as etcd had it at one moment.
struct fence_mark {
  /// Of so many writers it is known what they wrote last.
  static constexpr std::size_t most_writers = 16;

  struct last_write {
    std::string writer{};
    std::int64_t number = 0;
  };

  /// nullopt: it is somebody else's.
  [[nodiscard]] static std::optional<fence_mark> read(key_value const& from);
  [[nodiscard]] std::string text() const;

  /// The newest write that is noted of that one; 0: none is.
  [[nodiscard]] std::int64_t last_of(std::string_view writer) const noexcept;
  /// Behind that write. It has no revision and no lease yet.
  [[nodiscard]] fence_mark after(std::string_view writer, std::int64_t number, std::int64_t with_token) const;

  std::int64_t revision = 0;  ///< of its last change; 0: there is no mark
  std::int64_t lease = 0;
  std::int64_t token = 0;
  std::vector<last_write> writers{};  ///< each once, the newest first
};

}  // namespace holdfast::etcd
