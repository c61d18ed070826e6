/// A check that locks leave no keys behind.
#pragma once

#include "eventually.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace holdfast::test {

/// Waits until two looks in a row find no key: `residue` lists the keys of locks that are left. Each key that
/// stays fails the test, in the words of `describe`.
/// A request that was under way when its caller left may be carried out between two looks; it is taken back
/// when it is answered.
template <class Residue, class Describe = std::identity>
[[nodiscard]] bool nothing_left_behind(Residue residue, Describe describe = {}) {
  if (eventually([&] { return residue().empty() && residue().empty(); })) return true;
  for (auto const& key : residue()) ADD_FAILURE() << "left behind: " << describe(key);
  return false;
}

}  // namespace holdfast::test
