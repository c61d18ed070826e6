/// Looking at what a user may have no right to.
#pragma once

#include <holdfast/error.hpp>

#include <optional>

namespace holdfast::inspection {

/// Attempts that a server may refuse although it allows the plain wire.
class attempts {
 public:
  /// `in_caller`: an exception that is thrown now comes from the caller's function.
  explicit attempts(bool const& in_caller) : in_caller_{in_caller} {}

  /// True also when the server refuses, or has refused before.
  template <class Look>
  bool operator()(Look const look) {
    if (refused_) return true;
    try {
      return look();
    } catch (error const& problem) {
      bool const by_server = problem.code() == errc::unauthorized || problem.code() == errc::refused;
      if (in_caller_ || !by_server) throw;
      refused_ = problem;
      return true;
    }
  }
  [[nodiscard]] std::optional<error> const& refused() const noexcept { return refused_; }

 private:
  bool const& in_caller_;
  std::optional<error> refused_{};
};

}  // namespace holdfast::inspection
