#include "etcd/grpc/members.hpp"

#include <charconv>
#include <chrono>

namespace holdfast::etcd {
namespace {

/// A silent connection is asked for a sign of life after so long; etcd allows that every five seconds.
constexpr int silence_ms = 10'000;
constexpr int answer_ms = 3'000;
constexpr int shortest_pause_ms = 100;
constexpr int longest_pause_ms = 1'000;
/// A page of keys, whose values others have written.
constexpr int most_bytes = 64 << 20;

/// The oldest one with what is used here: conditions on ranges, numbers of watches.
constexpr int oldest_major = 3;
constexpr int oldest_minor = 4;

::grpc::ChannelArguments arguments(settings const& to) {
  ::grpc::ChannelArguments all;
  all.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, silence_ms);
  all.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, answer_ms);
  all.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 0);
  all.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, shortest_pause_ms);
  all.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, static_cast<int>(to.connect_timeout.count()));
  all.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, longest_pause_ms);
  all.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  all.SetMaxReceiveMessageSize(most_bytes);
  all.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // connections of this client alone
  all.SetString(GRPC_ARG_SERVICE_CONFIG, "{}");
  all.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  return all;
}

std::shared_ptr<::grpc::ChannelCredentials> credentials(settings const& to) {
  if (!to.tls) return ::grpc::InsecureChannelCredentials();
  return ::grpc::SslCredentials(
      {.pem_root_certs = to.ca, .pem_private_key = to.key, .pem_cert_chain = to.cert});
}

bool too_old(std::string const& version) {
  int major = 0;
  int minor = 0;
  auto const* const end = version.data() + version.size();
  auto const [dot, failure] = std::from_chars(version.data(), end, major);
  if (failure != std::errc{} || dot == end) return false;
  if (std::from_chars(dot + 1, end, minor).ec != std::errc{}) return false;
  return major < oldest_major || (major == oldest_major && minor < oldest_minor);
}

}  // namespace

namespace {

/// gRPC ends the threads that call back when the last channel goes that has used them, and that isn't safe
/// beside a last call (1.51: grpc_cq_internal_unref aborts). So one channel stays, which leads nowhere.
void keep_threads() {
  struct nowhere {
    nowhere()
        : stub{etcdserverpb::Maintenance::NewStub(
              ::grpc::CreateChannel("unix:/nonexistent/holdfast", ::grpc::InsecureChannelCredentials()))} {
      context.set_deadline(std::chrono::system_clock::now());
      stub->async()->Status(&context, &request, &response, [](::grpc::Status const& /*ended*/) {});
    }

    std::unique_ptr<etcdserverpb::Maintenance::Stub> stub;
    ::grpc::ClientContext context{};
    etcdserverpb::StatusRequest request{};
    etcdserverpb::StatusResponse response{};
  };
  [[maybe_unused]] static auto const* const kept = std::make_unique<nowhere>().release();
}

}  // namespace

std::vector<std::unique_ptr<member>> connect(settings const& to) {
  keep_threads();
  auto const all_arguments = arguments(to);
  auto const shown = credentials(to);
  std::vector<std::unique_ptr<member>> all;
  all.reserve(to.endpoints.size());
  for (auto const& endpoint : to.endpoints) {
    auto const channel = ::grpc::CreateCustomChannel("dns:///" + endpoint, shown, all_arguments);
    all.push_back(std::make_unique<member>(member{.endpoint = endpoint,
                                                  .keys = etcdserverpb::KV::NewStub(channel),
                                                  .leases = etcdserverpb::Lease::NewStub(channel),
                                                  .watches = etcdserverpb::Watch::NewStub(channel),
                                                  .auth = etcdserverpb::Auth::NewStub(channel),
                                                  .maintenance = etcdserverpb::Maintenance::NewStub(channel),
                                                  .cluster = etcdserverpb::Cluster::NewStub(channel)}));
  }
  return all;
}

void cluster_check::note(std::string const& endpoint, std::uint64_t cluster, std::string const& version) {
  if (!verdict_.ok() || cluster == 0) return;
  if (too_old(version)) {
    verdict_ = {.type = status::kind::not_etcd,
                .text = endpoint + " is etcd " + version + "; Holdfast needs 3.4 or later: update it"};
    return;
  }
  if (cluster_ == 0) {
    cluster_ = cluster;
    first_ = endpoint;
  } else if (cluster != cluster_) {
    verdict_ = {
        .type = status::kind::two_clusters,
        .text = endpoint + " and " + first_ +
                " are members of two clusters, which don't know each other's locks: the URL has to name "
                "members of one cluster"};
  }
}

}  // namespace holdfast::etcd
