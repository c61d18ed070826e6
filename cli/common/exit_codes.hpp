/// The exit codes of `holdfast`. Numbers follow sysexits(3) and the shell. Scripts can thus distinguish a
/// job's own failure, a busy lock and an unreachable server.
#pragma once

#include <exception>
#include <stdexcept>
#include <string>
#include <system_error>

namespace holdfast::cli {

enum exit_code : int {
  ok = 0,
  not_held = 1,          ///< inspect: nobody holds the lock
  violated = 1,          ///< judge: a promise was broken
  usage = 64,            ///< EX_USAGE: option, duration, URL, name
  wrong_type = 65,       ///< EX_DATAERR: the key holds something that isn't a lock
  no_history = 65,       ///< judge: the file can't be judged
  unavailable = 69,      ///< EX_UNAVAILABLE: the server can't be reached, or refused
  internal = 70,         ///< EX_SOFTWARE: an error of holdfast or of this machine
  busy = 75,             ///< EX_TEMPFAIL: the lock is held by another holder
  protocol = 76,         ///< EX_PROTOCOL: not a Redis server
  unauthorized = 77,     ///< EX_NOPERM: user, password or a right
  unfit = 78,            ///< EX_CONFIG: doctor found a problem of the server
  lost = 79,             ///< after the range of sysexits(3): the lock was lost while the command ran
  not_executable = 126,  ///< as in shells
  not_found = 127,       ///< as in shells
  by_signal = 128,       ///< plus the signal's number
};

/// The exit code for an error of the library.
[[nodiscard]] exit_code exit_code_for(std::error_code const& error);

/// Ends the program with a message and a code; caught in main().
class failure : public std::runtime_error {
 public:
  failure(exit_code code, std::string const& text) : std::runtime_error{text}, code_{code} {}
  [[nodiscard]] exit_code code() const noexcept { return code_; }

 private:
  exit_code code_;
};

/// Ends the program by a signal, as one ended the command, or the wait; caught in main().
class ended_by_signal : public std::exception {
 public:
  explicit ended_by_signal(int const signal) noexcept : signal_{signal} {}
  [[nodiscard]] int signal() const noexcept { return signal_; }
  [[nodiscard]] char const* what() const noexcept override { return "ended by a signal"; }

 private:
  int signal_;
};

}  // namespace holdfast::cli
