/// The error of a call, for a test to look at.
#pragma once

#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <string_view>
#include <system_error>

#include <holdfast/error.hpp>

namespace holdfast::test {

struct failure {
  std::error_code code{};
  std::string message{};

  [[nodiscard]] bool mentions(std::string_view text) const { return message.find(text) != std::string::npos; }
  friend std::ostream& operator<<(std::ostream& out, failure const& f) {
    return out << f.code << ": " << f.message;
  }
};

/// What `f` throws; no code and no message when it throws nothing.
template <class F>
failure failure_of(F f) {
  try {
    f();
  } catch (error const& e) {
    return {e.code(), e.what()};
  }
  return {};
}

template <class F>
std::error_code code_of(F f) {
  return failure_of(f).code;
}

template <class F>
std::string message_of(F f) {
  return failure_of(f).message;
}

/// The message of what `f` throws, which must have this code; empty when it throws nothing.
template <class F>
std::string message_of(std::error_code expected, F f) {
  auto const thrown = failure_of(f);
  if (thrown.code) {
    EXPECT_EQ(thrown.code, expected) << thrown.message;
  }
  return thrown.message;
}

}  // namespace holdfast::test
