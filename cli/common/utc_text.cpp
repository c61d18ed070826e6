#include "common/utc_text.hpp"

#include <fmt/format.h>

#include <time.h>

#include <array>

namespace holdfast::cli {

std::string utc_text(std::chrono::sys_time<std::chrono::microseconds> const time) {
  auto const second = std::chrono::floor<std::chrono::seconds>(time);
  time_t const seconds = second.time_since_epoch().count();
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%FT%T", &parts);
  return fmt::format("{}.{:03}Z", text.data(),
                     std::chrono::floor<std::chrono::milliseconds>(time - second).count());
}

}  // namespace holdfast::cli
