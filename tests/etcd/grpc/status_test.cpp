// What gRPC's codes and etcd's words mean to the backend.

#include "etcd/grpc/status.hpp"

#include <gtest/gtest.h>

namespace holdfast::etcd {
namespace {

using kind = status::kind;
using ::grpc::StatusCode;

status read_of(StatusCode code, std::string const& text) { return read({code, text}, "h1:2379"); }

bool asks_for_token(StatusCode code, std::string const& text) { return needs_new_token({code, text}); }

/// FOUND 412.
TEST(etcd_status, of_a_member_with_too_many_requests_is_to_be_asked_again) {
  auto const found = read_of(StatusCode::RESOURCE_EXHAUSTED, "etcdserver: too many requests");
  EXPECT_EQ(found.type, kind::unreachable);
  EXPECT_FALSE(found.sent);  // nothing was proposed
  EXPECT_EQ(found.text, "h1:2379: etcdserver: too many requests");
}

TEST(etcd_status, of_an_answer_that_is_too_long_is_final) {
  auto const found =
      read_of(StatusCode::RESOURCE_EXHAUSTED, "Received message larger than max (70000000 vs. 67108864)");
  EXPECT_EQ(found.type, kind::refused);
  EXPECT_TRUE(found.sent);
}

/// FOUND 411.
TEST(etcd_status, of_a_token_from_before_a_change_of_users_needs_another_one) {
  EXPECT_TRUE(asks_for_token(StatusCode::INVALID_ARGUMENT, "etcdserver: revision of auth store is old"));
  EXPECT_TRUE(asks_for_token(StatusCode::UNKNOWN, "auth: revision in header is old"));
  EXPECT_TRUE(asks_for_token(StatusCode::UNAUTHENTICATED, "etcdserver: invalid auth token"));
  EXPECT_TRUE(asks_for_token(StatusCode::INVALID_ARGUMENT, "etcdserver: user name is empty"));
  EXPECT_FALSE(asks_for_token(StatusCode::PERMISSION_DENIED, "etcdserver: permission denied"));
  EXPECT_FALSE(asks_for_token(StatusCode::OK, {}));
}

TEST(etcd_status, of_an_interrupted_request_may_have_been_carried_out) {
  EXPECT_TRUE(read_of(StatusCode::DEADLINE_EXCEEDED, "Deadline Exceeded").sent);
  EXPECT_FALSE(read_of(StatusCode::UNAVAILABLE, "failed to connect to all addresses").sent);
  EXPECT_EQ(read_of(StatusCode::UNAVAILABLE, {}).text, "h1:2379: no answer");
}

}  // namespace
}  // namespace holdfast::etcd
