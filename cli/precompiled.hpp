// The headers that most sources of the command include, parsed once; see src/precompiled.hpp. Excludes our
// own headers: GCC identifies a file of `#pragma once` by its time, which differs when ccache has this file
// from another tree.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>
