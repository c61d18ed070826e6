// A URL with TLS for a port without it, and the reverse.
#include "holdfast_command.hpp"
#include "support/eventually.hpp"
#include "support/redis_server.hpp"

#include <gmock/gmock.h>

#include <memory>
#include <string>

namespace {

using namespace holdfast::test;
using testing::HasSubstr;

std::string error_of(std::string const& url) {
  auto command = holdfast_command({"ls", "--url", url});
  EXPECT_EQ(command.wait(), 69);
  return command.err();
}

/// The server says nothing, so the attempt ends with its time. Whoever is kept from the processor until then
/// may not even have begun to shake hands.
TEST(tls, to_a_port_without_it_says_so) {
  auto const plain = redis_server::make({.transport = server_transport::tcp});
  std::string problem;
  EXPECT_TRUE(eventually([&] {
    problem = error_of("rediss://" + plain->address());
    return problem.find("is that a TLS port? Without TLS the URL begins") != std::string::npos;
  })) << problem;
}

TEST(tls, is_named_when_a_url_without_it_meets_its_port) {
  auto const secure = redis_server::make({.transport = server_transport::tls});
  EXPECT_THAT(error_of("redis://" + secure->address()),
              HasSubstr("is that a TLS port? The URL begins with rediss"));
}

}  // namespace
