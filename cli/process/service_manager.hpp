/// The service manager that started this process, such as systemd.
#pragma once

#include <string>
#include <string_view>

namespace holdfast::cli {

/// Tells the service manager about the state of the service, as sd_notify(3) does. Does nothing without one.
class service_manager {
 public:
  /// Takes NOTIFY_SOCKET out of the environment: holdfast, not the command, speaks for the service. Call it
  /// before there is a second thread.
  service_manager();

  /// `state` has one NAME=value a line. If the manager can't be told, a note says why.
  void tell(std::string_view state) const;

 private:
  std::string socket_;  // a path, or an abstract name after a `@`; empty: nobody wants to be told
};

}  // namespace holdfast::cli
