/// The built command, as tests run it.
#pragma once

#include "support/process.hpp"

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

}  // namespace holdfast::test
