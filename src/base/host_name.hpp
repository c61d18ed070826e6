/// The name of this host, as it calls itself.
#pragma once

#include <unistd.h>

#include <array>
#include <string>

namespace holdfast {

/// Empty if it isn't known.
inline std::string host_name() {
  std::array<char, 256> text{};
  if (::gethostname(text.data(), text.size() - 1) != 0) return {};
  return text.data();
}

}  // namespace holdfast
