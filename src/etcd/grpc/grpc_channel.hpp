/// A client of etcd, over gRPC.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "etcd/channel.hpp"
#include "etcd/grpc/members.hpp"
#include "etcd/grpc/stream.hpp"

namespace holdfast::etcd {

/// The first request asks all members for their cluster, and waits for those that are there; with a user it
/// gets a token. Calls to gRPC are made without the lock, but for TryCancel.
class grpc_channel final : public channel {
 public:
  grpc_channel(settings to, channel_events events);
  ~grpc_channel() override;

  void transact(transaction const& request, milliseconds timeout, handler<outcome> done) override;
  void grant(std::chrono::seconds ttl, milliseconds timeout, handler<lease_grant> done) override;
  void revoke(std::int64_t lease, milliseconds timeout, std::function<void(status)> done) override;
  void time_to_live(std::int64_t lease, milliseconds timeout, handler<lease_time> done) override;
  void examine(milliseconds timeout, std::function<void(cluster_view)> done) override;
  void keep_alive(std::int64_t lease, std::uint64_t number) override;
  void watch(std::uint64_t number, std::string const& key, std::string const& end, std::int64_t from_revision,
             interest wanted) override;
  void unwatch(std::uint64_t number) override;
  void go_on_to_next() override;

 private:
  using keep_alive_stream = stream<etcdserverpb::LeaseKeepAliveRequest, etcdserverpb::LeaseKeepAliveResponse>;
  using watch_stream = stream<etcdserverpb::WatchRequest, etcdserverpb::WatchResponse>;
  using guard = std::unique_lock<std::mutex>;
  /// Called when requests can be made, or with the reason why not.
  using ready_handler = std::function<void(status const&)>;

  template <class Request, class Response>
  struct call;
  struct introduction;
  struct examination;

  template <class Request, class Response, class Start>
  void ask(Request request, milliseconds timeout, Start start,
           std::function<void(::grpc::Status const&, Response const&, std::string const& endpoint)> done);
  template <class Request, class Response, class Start, class Done>
  void ask_when_ready(Request request, milliseconds timeout, Start start, Done done);
  template <class Request, class Response, class Start, class Done>
  void ask_with_token(Request request, milliseconds timeout, Start start, Done done, bool again);
  template <class Request, class Response, class Start, class Note>
  void look(std::shared_ptr<examination> const& whole, milliseconds timeout, Start start, Note note);
  void when_ready(ready_handler f);
  void introduce();
  void authenticate(std::shared_ptr<introduction> const& all, std::size_t next);
  void conclude(status found);
  void leave(std::size_t at);
  void prepare(::grpc::ClientContext& context);
  [[nodiscard]] std::shared_ptr<keep_alive_stream> open_keep_alive();
  void on_alive(keep_alive_stream const& from, etcdserverpb::LeaseKeepAliveResponse const& answer);
  [[nodiscard]] std::shared_ptr<watch_stream> open_watch();
  void begin_watch(std::uint64_t number, etcdserverpb::WatchRequest const& request, status const& found);
  void on_watch(watch_stream& from, etcdserverpb::WatchResponse const& answer);
  void on_watches_over(watch_stream const& ended, std::size_t at);
  void on_stream_over();
  [[nodiscard]] status note(::grpc::Status const& ended, std::string const& endpoint, std::uint64_t cluster);

  settings const settings_;
  channel_events const events_;
  std::vector<std::unique_ptr<member>> const members_;

  std::mutex mutex_;
  std::condition_variable idle_;
  std::size_t current_ = 0;
  cluster_check cluster_;
  std::string token_;
  enum class state : std::uint8_t { unknown, introducing, ready } state_ = state::unknown;
  std::vector<ready_handler> until_ready_;
  std::set<::grpc::ClientContext*> under_way_;
  int streams_ = 0;
  bool closing_ = false;
  std::shared_ptr<keep_alive_stream> keep_alives_;
  struct asked_lease {
    std::int64_t lease = 0;
    std::uint64_t number = 0;
  };
  /// Of each stream that hasn't ended, those without an answer; etcd answers those of one lease in order.
  std::map<keep_alive_stream const*, std::list<asked_lease>> unanswered_;
  std::shared_ptr<watch_stream> watches_;
  std::map<std::uint64_t, watch_stream const*> watched_;  ///< null: it isn't sent yet
};

}  // namespace holdfast::etcd
