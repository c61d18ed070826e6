/// How the errors of a connection are worded.
#pragma once

#include <holdfast/error.hpp>
#include <memory>
#include <string>

namespace holdfast::net {

/// No I/O. The texts that it is given outlive it.
class session_errors {
 public:
  /// `display`: the server, or the deployment that has it. `advice`: added while it has never been reached.
  session_errors(std::string const& display, std::string const& advice);

  /// From now on there is no advice.
  void note_reached() noexcept { reached_ = true; }

  [[nodiscard]] std::shared_ptr<error const> explain(errc code, std::string const& text) const;
  /// For when there is no memory to describe another one.
  [[nodiscard]] std::shared_ptr<error const> const& no_memory() const noexcept { return no_memory_; }

 private:
  std::string const& display_;
  std::string const& advice_;
  bool reached_ = false;
  std::shared_ptr<error const> const no_memory_;
};

}  // namespace holdfast::net
