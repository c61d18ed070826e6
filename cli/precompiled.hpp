// What most sources of the command include, parsed once for all of them; see src/precompiled.hpp.
#include <fmt/format.h>
#include <holdfast/client.hpp>
#include <holdfast/inspect.hpp>

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
