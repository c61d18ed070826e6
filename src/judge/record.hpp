/// The lines of histories as values.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

#include "history/words.hpp"
#include "judge/rules.hpp"

namespace holdfast::judging {

/// A file that can't be judged: no history, cut off, out of order, or of another version.
class unreadable : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Nanoseconds: of CLOCK_BOOTTIME if all histories are of one start of one machine, else of the wall clock.
using instant = std::int64_t;

enum class loss : std::uint8_t { forced, taken_over, key_gone, unreachable, limit_reached, closed };

/// One line. A field that its event doesn't have is 0.
struct record {
  history::event event{};
  history::kind of{};
  loss cause{};
  bool fine = false;     ///< alive: the server can be reached
  bool unheard = false;  ///< alive: the connection for messages has just broken
  bool moved = false;    ///< trouble: another server answers from now on
  std::uint16_t file = 0;
  std::uint32_t line = 0;
  std::uint32_t client = 0;  ///< index in tables::clients
  std::uint32_t lock = 0;    ///< index in tables::locks
  instant t = 0;
  std::int64_t wait = 0;
  std::int64_t lease = 0;
  std::int64_t number = 0;
  std::int64_t instead = 0;
  std::int64_t token = 0;
  instant until = 0;
  std::int64_t ttl = 0;             ///< ns
  std::optional<instant> credit{};  ///< nullopt: the line has none
  std::int64_t n = 0;
  std::int64_t of_all = 0;
};

/// How one name of a lock is held.
struct part {
  std::uint32_t name;  ///< index in tables::names
  company as;
  std::int64_t amount = 0;  ///< permits; 0: as many as the line says
  std::int64_t of_all = 0;
};

struct lock_parts {
  history::kind of;
  std::vector<part> parts;
};

/// From the header of a client.
struct client_facts {
  std::string uuid;
  std::string host;
  std::string boot;
  std::int64_t pid = 0;
  std::int64_t recheck = 0;        ///< ns
  std::int64_t reply_timeout = 0;  ///< ns
  instant wall = 0;                ///< the wall clock at `t`
  instant t = 0;                   ///< of the header, by its own clock
  instant last = 0;                ///< of its last line, by its own clock
  std::uint32_t machine = 0;       ///< of one start of one machine: their clocks are one
};

/// What records refer to by an index.
struct tables {
  std::vector<std::string> files;
  std::vector<client_facts> clients;
  std::vector<std::string> machines;  ///< boot ids
  std::vector<std::string> names;
  std::vector<lock_parts> locks;
  std::unordered_map<std::string, std::uint32_t> client_of;  ///< by uuid
  std::unordered_map<std::string, std::uint32_t> name_of;
  std::unordered_map<std::string, std::uint32_t> lock_of;  ///< by kind and names
};

}  // namespace holdfast::judging
