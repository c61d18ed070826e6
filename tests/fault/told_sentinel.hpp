/// Sentinels whose answers the test sets, and independent servers.
#pragma once

#include "fault.hpp"
#include "scripted_sentinel.hpp"

#include <memory>
#include <string>

namespace holdfast::test {

/// One sentinel under the control of the test, and two independent servers.
class told_sentinel : public testing::Test {
 protected:
  static std::unique_ptr<redis_server> watching(redis_server const& master) {
    return redis_server::make(
        {.transport = server_transport::tcp,
         .args = {"--sentinel"},
         .config = "sentinel monitor mymaster 127.0.0.1 " + std::to_string(master.port()) + " 1\n"});
  }
  static std::unique_ptr<redis_server> data() {
    return redis_server::make(
        {.transport = server_transport::tcp, .args = {"--repl-diskless-sync-delay", "0"}});
  }

  /// How many requests the server has refused, in whatever words: a server that becomes a replica reads its
  /// master's data first, and carries out no request meanwhile.
  static int refused_by(redis_server const& server) {
    return std::stoi(server.raw().info("stats", "total_error_replies"));
  }

  std::unique_ptr<redis_server> first_ = data();
  std::unique_ptr<redis_server> second_ = data();
  std::unique_ptr<redis_server> sentinel_ = watching(*first_);
  log_lines log_;
};

}  // namespace holdfast::test
