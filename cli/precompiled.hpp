// What most sources of the command include, parsed once for all of them; see src/precompiled.hpp. No headers
// of ours: GCC knows `#pragma once` by a file's time, which is another one when ccache has this from another
// tree.
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
