/// The command `holdfast`: reads the arguments; prints an error as one line and converts it to an exit code.
#include "common/exit_codes.hpp"
#include "common/output.hpp"
#include "common/standard_output.hpp"
#include "process/end_by_signal.hpp"
#include "process/signals.hpp"
#include "read_arguments.hpp"

#include <holdfast/error.hpp>

#include <chrono>
#include <csignal>
#include <exception>
#include <string>

namespace {

using namespace holdfast::cli;

int guarded_main(int const argc, char** const argv) {
  auto const arguments = read_arguments(argc, argv);
  if (!arguments.text.empty()) {
    // Help that can't be written is an error: `holdfast help > /dev/full` fails.
    print_line(arguments.text);
    return ok;
  }
  return arguments.chosen();
}

/// All ends but the one by a signal.
int exit_code_of(int const argc, char** const argv) {
  try {
    return guarded_main(argc, argv);
  } catch (output_closed const&) {
    return by_signal + SIGPIPE;  // the exit code of an end by SIGPIPE, which is ignored
  } catch (ended_by_signal const&) {
    throw;
  } catch (failure const& problem) {
    output::error(problem.what());
    return problem.code();
  } catch (holdfast::error const& problem) {
    output::error(problem.what());
    return exit_code_for(problem.code());
  } catch (std::exception const& problem) {
    output::error(std::string{"internal error: "} + problem.what());
    return internal;
  }
}

/// The messages for a slow reader. If nobody reads them a signal ends the process, or has told it to end.
void write_kept_messages() {
  if (output::write_kept() == std::chrono::nanoseconds::max() || signals::told_to_end()) return;
  endable_by_signals const while_nobody_reads;
  output::end_to_keep();
}

}  // namespace

int main(int argc, char** argv) {
  occupy_closed_streams();
  output::set_up(output::detail::normal);
  try {
    int const code = exit_code_of(argc, argv);
    write_kept_messages();
    return code;
  } catch (ended_by_signal const& end) {
    write_kept_messages();
    return end_by_signal(end.signal());
  }
}
