#include "net/session_errors.hpp"

#include <gtest/gtest.h>

namespace holdfast::net {
namespace {

TEST(session_errors, have_advice_until_the_server_was_reached) {
  std::string const display = "redis://h";
  std::string const advice = "; is it a sentinel?";
  session_errors errors{display, advice};
  EXPECT_STREQ(errors.explain(errc::unreachable, "refused")->what(),
               "cannot reach redis://h: refused; is it a sentinel?");
  EXPECT_STREQ(errors.explain(errc::protocol, "nonsense")->what(), "nonsense");
  errors.note_reached();
  EXPECT_STREQ(errors.explain(errc::unreachable, "refused")->what(), "cannot reach redis://h: refused");
  EXPECT_EQ(errors.no_memory()->code(), std::errc::not_enough_memory);
  EXPECT_STREQ(errors.no_memory()->what(), "redis://h: out of memory");
}

}  // namespace
}  // namespace holdfast::net
