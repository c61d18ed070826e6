// Tells mutants.hpp, and the programs that a test starts, which test runs: of a copy that tools/mutate has made.
#include "mutants.hpp"

#include <gtest/gtest.h>

namespace {

class listener final : public testing::EmptyTestEventListener {
  void OnTestStart(testing::TestInfo const& test) override {
    mutants::begin_test(std::string{test.test_suite_name()} + '.' + test.name());
  }
};

[[maybe_unused]] bool const listens = [] {
  testing::UnitTest::GetInstance()->listeners().Append(new listener);
  return true;
}();

}  // namespace
