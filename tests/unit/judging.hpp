/// What the tests of the judge share: a history that they write.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "support/process.hpp"
#include "support/written_history.hpp"

namespace holdfast::test {

class judged_history : public testing::Test {
 protected:
  [[nodiscard]] std::string verdict() const { return verdict_on({history_.written()}); }

  temporary_folder folder_;
  written_history history_{folder_ / "history"};
};

}  // namespace holdfast::test
