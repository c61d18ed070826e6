/// What a failed wait says about those that it waited for.
#pragma once

#include "support/raw_redis.hpp"

#include <fstream>
#include <string>

#include <sys/types.h>

namespace holdfast::test {

/// A lock's key and queue, and who is connected.
inline std::string state_of(raw_redis& raw, std::string const& lock) {
  auto const waiting = raw.command({"ZRANGE", "{" + lock + "}:holdfast_queue", "0", "-1"}).elements.size();
  return lock + " is " + raw.get(lock).value_or("free") + " for " +
         std::to_string(raw.command({"PTTL", lock}).integer) + " ms, " + std::to_string(waiting) + " wait\n" +
         raw.command({"CLIENT", "LIST"}).text;
}

/// Whether a process runs, and which signals are on their way to it.
inline std::string state_of(pid_t const id) {
  std::ifstream status{"/proc/" + std::to_string(id) + "/status"};
  std::string text = "process " + std::to_string(id) + '\n';
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("State") || line.find("Pnd:") != std::string::npos) text += line + '\n';
  }
  return text;
}

}  // namespace holdfast::test
