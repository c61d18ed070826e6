/// The version of these headers, for programs that support several. Versions follow semver.org;
/// CONTRIBUTING.md
/// ("Versions") says what that means for the interface and for the shared library.
#pragma once

#include <string_view>

/// The build reads the version from these three lines.
#define HOLDFAST_VERSION_MAJOR 0
#define HOLDFAST_VERSION_MINOR 1
#define HOLDFAST_VERSION_PATCH 0

/// As one number, for `#if`: 1.2.3 is 10203.
#define HOLDFAST_VERSION \
  (HOLDFAST_VERSION_MAJOR * 10000 + HOLDFAST_VERSION_MINOR * 100 + HOLDFAST_VERSION_PATCH)

/// As text, "1.2.3"; its two helpers turn numbers into text.
#define HOLDFAST_VERSION_STRING \
  HOLDFAST_VERSION_TEXT(HOLDFAST_VERSION_MAJOR, HOLDFAST_VERSION_MINOR, HOLDFAST_VERSION_PATCH)
#define HOLDFAST_VERSION_TEXT(major, minor, patch) HOLDFAST_VERSION_TEXT_OF(major, minor, patch)
#define HOLDFAST_VERSION_TEXT_OF(major, minor, patch) #major "." #minor "." #patch

namespace holdfast {

/// The macros HOLDFAST_VERSION, 10203 for 1.2.3, and HOLDFAST_VERSION_STRING, "1.2.3", as constants.
inline constexpr int version_number = HOLDFAST_VERSION;
inline constexpr std::string_view version = HOLDFAST_VERSION_STRING;

}  // namespace holdfast
