/// Processes that exit with leases held on an event loop: the test program, started again.
#pragma once

#include "support/line_process.hpp"

#include <string>

namespace holdfast::test {

/// To be called first in main(). If this process was started by exiting(), it runs that program.
void exit_if_requested(int argc, char** argv);

/// A program of exiting.cpp. It writes "ready", reads a line, and exits with a lease of "orders" held.
[[nodiscard]] line_process exiting(std::string const& program, std::string const& url);

}  // namespace holdfast::test
