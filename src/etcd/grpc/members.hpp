/// The members of the cluster, which of them is asked, and what is known of the cluster as a whole.
#pragma once

#include <etcd.grpc.pb.h>
#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "etcd/messages.hpp"

namespace holdfast::etcd {

struct member {
  std::string endpoint;
  std::unique_ptr<etcdserverpb::KV::Stub> keys;
  std::unique_ptr<etcdserverpb::Lease::Stub> leases;
  std::unique_ptr<etcdserverpb::Watch::Stub> watches;
  std::unique_ptr<etcdserverpb::Auth::Stub> auth;
  std::unique_ptr<etcdserverpb::Maintenance::Stub> maintenance;
  std::unique_ptr<etcdserverpb::Cluster::Stub> cluster;
};

[[nodiscard]] std::vector<std::unique_ptr<member>> connect(settings const& to);

/// Which cluster each endpoint belongs to, as its answers say. Under the channel's lock. No I/O.
class cluster_check {
 public:
  /// `version`: as its status says; empty: it isn't known.
  void note(std::string const& endpoint, std::uint64_t cluster, std::string const& version = {});
  /// Empty: nothing is wrong.
  [[nodiscard]] status const& verdict() const noexcept { return verdict_; }

 private:
  std::string first_;
  std::uint64_t cluster_ = 0;
  status verdict_{};
};

}  // namespace holdfast::etcd
