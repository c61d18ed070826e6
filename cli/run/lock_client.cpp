#include "run/lock_client.hpp"

#include "common/output.hpp"
#include "run/outer_lock.hpp"
#include "run/server_patience.hpp"

namespace holdfast::cli {
namespace {

std::unique_ptr<run_lock> make_permitted_lock(client& redis, std::string_view const url,
                                              run_options const& options) {
  default_actions const nothing_to_leave_behind{signals::ending};
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
             .history = asked.history,
             .log = output::hook_of_holder()}},
      options{reach_server(redis, asked)},
      lock{make_permitted_lock(redis, url, options)} {}

}  // namespace holdfast::cli
