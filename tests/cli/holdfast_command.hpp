/// The built command, as tests run it.
#pragma once

#include "support/eventually.hpp"
#include "support/process.hpp"
#include "support/raw_redis.hpp"

#include <chrono>
#include <string>

namespace holdfast::test {

/// `holdfast ARGS…`
inline process holdfast_command(words const& arguments, environment const& extra = {},
                                std::string const& input = {}) {
  words command{HOLDFAST_CLI};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return process{command, extra, input};
}

/// `holdfast run OPTIONS NAME -- COMMAND…` against the server of `url`.
inline process holdfast_run(std::string const& url, words const& options, std::string const& name,
                            words const& command, std::string const& input = {}) {
  words arguments{"run"};
  arguments.insert(arguments.end(), options.begin(), options.end());
  arguments.insert(arguments.end(), {name, "--"});
  arguments.insert(arguments.end(), command.begin(), command.end());
  return holdfast_command(arguments, {{"HOLDFAST_URL", url}}, input);
}

inline words shell(std::string const& script) { return {"sh", "-c", script}; }

/// True when so much time has passed for the server.
[[nodiscard]] inline bool passes(raw_redis& redis, std::chrono::milliseconds const time) {
  redis.command({"SET", "a while", "", "PX", std::to_string(time.count())});
  return eventually([&] { return !redis.exists("a while"); });
}

/// False: the lock was free while the process was still there.
[[nodiscard]] inline bool outlives(raw_redis& redis, std::string const& lock, pid_t const work) {
  bool held = true;
  bool const ended = eventually([&] {
    held = redis.exists(lock);
    return !held || !is_alive(work);
  });
  return ended && (held || !is_alive(work));
}

}  // namespace holdfast::test
