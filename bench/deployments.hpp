/// Deployments of several servers for the rows that need them: those that the tests use, started where the
/// run's own server is.
#pragma once

#include <memory>

#include "process.hpp"
#include "rows.hpp"
#include "support/redis_server.hpp"

namespace holdfast::bench {

inline constexpr int server_core = 0;
inline constexpr int client_core = 1;

/// Makes servers, on their core.
template <class Make>
[[nodiscard]] auto make_servers(context const& run, Make const& make) {
  class there {
   public:
    explicit there(settings const& options) : pinned_{options.pinned} {
      if (pinned_) pin_to_core(server_core);
    }
    ~there() {
      if (pinned_) pin_to_core(client_core);
    }
    there(there const&) = delete;
    there& operator=(there const&) = delete;

   private:
    bool pinned_;
  };
  there const meanwhile{run.options};
  return make();
}

/// What the servers have counted, together. None of them is frozen or dead.
[[nodiscard]] call_counts calls_of_all(std::vector<test::redis_server const*> const& servers);

}  // namespace holdfast::bench
