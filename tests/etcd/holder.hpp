/// A holder in a process of its own: this program, started again.
#pragma once

#include "support/line_process.hpp"

#include <chrono>
#include <string>

namespace holdfast::test {

/// To be called first in main().
void hold_if_requested(int argc, char** argv);

/// Leads an election with that value, writes "leads TERM", and leads on until a line comes; then "released".
class leader_process : public line_process {
 public:
  leader_process(std::string const& url, std::string const& name, std::string const& value,
                 std::chrono::milliseconds ttl);
};

/// Reads with a shared_mutex, writes "reads TOKEN", and reads on until a line comes; then "released".
class reader_process : public line_process {
 public:
  reader_process(std::string const& url, std::string const& name, std::chrono::milliseconds ttl);
};

/// Acquires one of so many permits, writes "holds TOKEN", and holds it until a line comes; then "released".
class slot_process : public line_process {
 public:
  slot_process(std::string const& url, std::string const& name, int size, std::chrono::milliseconds ttl);
};

/// Acquires a multi_mutex of these names, with commas between them, writes "held TOKEN", and holds it until a
/// line comes; then "released".
class several_process : public line_process {
 public:
  several_process(std::string const& url, std::string const& names, std::chrono::milliseconds ttl);
};

/// Arrives at a barrier and waits; writes "passed GENERATION", or what is wrong.
class arriver_process : public line_process {
 public:
  arriver_process(std::string const& url, std::string const& name, int parties,
                  std::chrono::milliseconds ttl);
};

/// Acquires a mutex, writes "held TOKEN", and holds it until a line comes; then "released".
class holder : public line_process {
 public:
  holder(std::string const& url, std::string const& name, std::chrono::milliseconds ttl);
};

}  // namespace holdfast::test
