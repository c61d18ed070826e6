/// What `holdfast` exits with. Numbers follow sysexits(3) and the shell, so that scripts can tell a job's own
/// failure from a lock that was busy, and that from a server that is down.
#pragma once

#include <stdexcept>
#include <string>
#include <system_error>

namespace holdfast::cli {

enum exit_code : int {
  ok = 0,
  usage = 64,            ///< EX_USAGE: option, duration, URL, name
  wrong_type = 65,       ///< EX_DATAERR: the key holds something that isn't a lock
  unavailable = 69,      ///< EX_UNAVAILABLE: the server can't be reached, or refused
  internal = 70,         ///< EX_SOFTWARE: an error of holdfast or of this machine
  busy = 75,             ///< EX_TEMPFAIL: the lock is held by somebody else
  protocol = 76,         ///< EX_PROTOCOL: what answered isn't a Redis server
  unauthorized = 77,     ///< EX_NOPERM: user, password or a right
  unfit = 78,            ///< EX_CONFIG: doctor found a problem in how the server is set up
  lost = 79,             ///< just past sysexits(3): the lock was lost while the command ran
  not_executable = 126,  ///< as a shell says it
  not_found = 127,       ///< as a shell says it
  by_signal = 128,       ///< plus the signal's number
};

/// What an error of the library means for the exit code.
[[nodiscard]] exit_code code_of(std::error_code const& error);

/// Ends the program with a message and a code; caught in main().
class failure : public std::runtime_error {
 public:
  failure(exit_code code, std::string const& what) : std::runtime_error{what}, code_{code} {}
  [[nodiscard]] exit_code code() const noexcept { return code_; }

 private:
  exit_code code_;
};

}  // namespace holdfast::cli
