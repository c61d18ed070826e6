#include "etcd/grpc/status.hpp"

#include <string_view>

namespace holdfast::etcd {
namespace {

using kind = status::kind;

bool has(std::string const& text, std::string_view part) { return text.find(part) != std::string::npos; }

kind kind_of(::grpc::Status const& ended) {
  auto const& text = ended.error_message();
  if (has(text, "user name is empty") || has(text, "authentication failed") || has(text, "auth token"))
    return kind::unauthorized;
  if (has(text, "lease not found")) return kind::no_such_lease;
  if (has(text, "database space exceeded")) return kind::full;
  // The member has more to carry out than it can, and another one may have less.
  if (has(text, "too many requests")) return kind::unreachable;
  if (has(text, "http1.x") || has(text, "Unexpected HTTP/1.x")) return kind::not_etcd;
  switch (ended.error_code()) {
    case ::grpc::StatusCode::OK:
      return kind::ok;
    case ::grpc::StatusCode::UNAUTHENTICATED:
    case ::grpc::StatusCode::PERMISSION_DENIED:
      return kind::unauthorized;
    case ::grpc::StatusCode::UNIMPLEMENTED:
      return kind::not_etcd;
    case ::grpc::StatusCode::UNAVAILABLE:
    case ::grpc::StatusCode::DEADLINE_EXCEEDED:
    case ::grpc::StatusCode::CANCELLED:
    case ::grpc::StatusCode::ABORTED:
    case ::grpc::StatusCode::INTERNAL:
    case ::grpc::StatusCode::UNKNOWN:  // "context deadline exceeded", "raft: stopped"
      return kind::unreachable;
    default:
      return kind::refused;
  }
}

/// The connection was never made, or etcd refuses before it proposes anything.
bool never_carried_out(std::string const& text) {
  return has(text, "failed to connect") || has(text, "DNS resolution failed") || has(text, "no leader") ||
         has(text, "too many requests");
}

}  // namespace

status read(::grpc::Status const& ended, std::string const& endpoint) {
  if (ended.ok()) return {.type = kind::ok, .sent = true};
  auto const& text = ended.error_message();
  return {.type = kind_of(ended),
          .sent = !never_carried_out(text),
          .text = endpoint + ": " + (text.empty() ? std::string{"no answer"} : text)};
}

bool needs_new_token(::grpc::Status const& ended) {
  if (ended.ok()) return false;
  auto const& text = ended.error_message();
  return has(text, "invalid auth token") || has(text, "revision of auth store is old") ||
         has(text, "revision in header is old") || has(text, "user name is empty");
}

}  // namespace holdfast::etcd
