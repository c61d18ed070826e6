/// The pair of programs in examples/redisson.
#include "interop.hpp"
#include "support/process.hpp"

#include <sstream>
#include <string>

namespace holdfast::test {
namespace {

class redisson_example : public interop {};

TEST_F(redisson_example, has_each_order_shipped_once_whoever_comes_first) {
  if (!peer::is_prepared(folder_of(redisson_version::current))) GTEST_SKIP() << not_prepared;
  temporary_folder const folder;
  auto const book = folder / "book.txt";
  environment const variables{{"HOLDFAST_URL", server_.url()}};
  process java{{"java", "-cp", HOLDFAST_PEERS "/redisson-current/lib/*",
                HOLDFAST_SOURCE_DIR "/examples/redisson/Orders.java", book},
               variables};
  process cpp{{HOLDFAST_ORDERS, book}, variables};

  EXPECT_EQ(cpp.wait(40s), 0) << cpp.err();
  EXPECT_EQ(java.wait(), 0) << java.err();
  std::string expected;
  for (int order = 1; order <= 20; ++order) expected += std::to_string(order) + " ordered, shipped\n";
  EXPECT_EQ(cpp.out(), expected);
  EXPECT_EQ(content_of(book), expected);
}

}  // namespace
}  // namespace holdfast::test
