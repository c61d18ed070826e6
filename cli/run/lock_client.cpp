#include "run/lock_client.hpp"

#include "common/exit_codes.hpp"
#include "common/output.hpp"
#include "process/end_by_signal.hpp"
#include "run/outer_lock.hpp"
#include "run/server_patience.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace holdfast::cli {
namespace {

/// `path`, if the client will be able to write to it, as it does; empty: no history is wanted.
std::string checked_history(std::string const& path) {
  if (path.empty()) return path;
  int const file = open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK,
                        S_IRUSR | S_IWUSR);
  if (file < 0)
    throw failure{usage, fmt::format("--history: {} can't be written: {}", path, std::strerror(errno))};
  close(file);
  return path;
}

std::unique_ptr<run_lock> make_permitted_lock(client& redis, std::string_view const url,
                                              run_options const& options) {
  endable_by_signals const nothing_to_leave_behind;
  if (options.detect_deadlock) count_outer_locks(redis);
  refuse_own_lock(redis, url, options);
  return make_run_lock(redis, options);
}

}  // namespace

lock_client::lock_client(std::string const& url, std::string_view const name, run_options const& asked)
    : redis{url,
            {.name = std::string{name},
             .label = asked.label,
             .patience = patience_of(asked),
             .history = checked_history(asked.history),
             .log = output::hook_of_holder()}},
      options{reach_server(redis, asked)},
      lock{make_permitted_lock(redis, url, options)} {}

}  // namespace holdfast::cli
