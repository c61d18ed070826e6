/// The functions of a server that the module uses, over keys in memory: for the fuzzer of its commands.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "abi.hpp"

namespace holdfast::fuzzing::module_server {

using sorted_set = std::map<std::string, double>;
using hash = std::map<std::string, std::string>;
using list = std::vector<std::string>;

struct value {
  std::variant<std::string, sorted_set, hash, list> data{};
  long long expires = server::abi::no_expiry;  ///< milliseconds since the epoch

  friend bool operator==(value const&, value const&) = default;
};
using keyspace = std::map<std::string, value>;

/// What the module has put there, and what a test puts there.
[[nodiscard]] keyspace& keys();

/// Loads the module. Once.
void load();

/// How a call ended.
enum class outcome { unknown, replied, refused };

/// The server's time is now: what has expired by it is gone, and nothing else expires before the next time.
void advance_clock();

/// Calls a command of the module: unknown, if it has none of that name. Aborts unless the command replies
/// once, and closes the keys that it opens, of which no two may be the same.
[[nodiscard]] outcome call(std::vector<std::string> const& words);

}  // namespace holdfast::fuzzing::module_server
