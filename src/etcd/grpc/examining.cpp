// What doctor wants to know: each endpoint is asked by itself, and one of them about the cluster.

#include <utility>

#include "base/quiet_thread.hpp"
#include "etcd/grpc/grpc_channel.hpp"
#include "etcd/grpc/status.hpp"

namespace holdfast::etcd {
namespace {

/// One request of an examination. The last one to end hands everything over.
template <class Request, class Response>
struct question {
  ::grpc::ClientContext context{};
  Request request{};
  Response response{};
};

alarm_view::kind kind_of(etcdserverpb::AlarmMember const& alarm) {
  if (alarm.alarm() == etcdserverpb::AlarmMember::NOSPACE) return alarm_view::kind::no_space;
  if (alarm.alarm() == etcdserverpb::AlarmMember::CORRUPT) return alarm_view::kind::corrupt;
  return alarm_view::kind::other;
}

void read_status(member_view& to, ::grpc::Status const& ended, etcdserverpb::StatusResponse const& answer) {
  if (!ended.ok()) {
    auto const found = read(ended, to.endpoint);
    to.failure = found.text;
    to.unauthorized = found.type == status::kind::unauthorized;
    to.not_etcd = found.type == status::kind::not_etcd;
    return;
  }
  to.cluster = answer.header().cluster_id();
  to.id = answer.header().member_id();
  to.leader = answer.leader();
  to.term = answer.raftterm();
  to.learner = answer.islearner();
  to.version = answer.version();
  to.size = answer.dbsize();
  to.size_in_use = answer.dbsizeinuse();
}

}  // namespace

struct grpc_channel::examination {
  std::mutex guard{};
  std::size_t left = 0;
  cluster_view view{};
  std::function<void(cluster_view)> done{};
};

/// `start` makes the call to gRPC, and `note` reads its answer under the examination's lock.
template <class Request, class Response, class Start, class Note>
void grpc_channel::look(std::shared_ptr<examination> const& whole, milliseconds timeout, Start start,
                        Note note) {
  auto asked = std::make_shared<question<Request, Response>>();
  asked->context.set_deadline(std::chrono::system_clock::now() + timeout);
  guard hold{mutex_};
  if (!token_.empty()) asked->context.AddMetadata("token", token_);
  auto const closed = closing_;
  if (!closed) under_way_.insert(&asked->context);
  hold.unlock();
  auto const conclude = [whole, note](::grpc::Status const& ended, Response const& answer) {
    std::unique_lock locked{whole->guard};
    note(whole->view, ended, answer);
    auto const complete = --whole->left == 0;
    locked.unlock();
    if (complete) whole->done(std::move(whole->view));
  };
  if (closed) {
    conclude({::grpc::StatusCode::CANCELLED, "the client is closed"}, asked->response);
    return;
  }
  auto& kept = *asked;
  start(&kept.context, &kept.request, &kept.response,
        [this, asked = std::move(asked), conclude](::grpc::Status const& ended) {
          conclude(ended, asked->response);
          guard const last{mutex_};
          under_way_.erase(&asked->context);
          idle_.notify_all();
        });
}

void grpc_channel::examine(milliseconds timeout, std::function<void(cluster_view)> done) {
  // Behind the first requests of all: a user has a token then. What went wrong there shows here, too.
  when_ready([this, timeout, done = std::move(done)](status const& /*found*/) {
    signals_blocked const for_new_threads;
    auto const whole = std::make_shared<examination>();
    whole->done = done;
    whole->view.endpoints.resize(members_.size());
    whole->left = members_.size() + 2;
    for (std::size_t i = 0; i != members_.size(); ++i) {
      whole->view.endpoints[i].endpoint = members_[i]->endpoint;
      look<etcdserverpb::StatusRequest, etcdserverpb::StatusResponse>(
          whole, timeout, [&](auto... all) { members_[i]->maintenance->async()->Status(all...); },
          [i](cluster_view& to, ::grpc::Status const& ended, etcdserverpb::StatusResponse const& answer) {
            read_status(to.endpoints[i], ended, answer);
          });
    }
    std::size_t at = 0;
    {
      guard const hold{mutex_};
      at = current_;
    }
    look<etcdserverpb::AlarmRequest, etcdserverpb::AlarmResponse>(
        whole, timeout, [&](auto... all) { members_[at]->maintenance->async()->Alarm(all...); },
        [](cluster_view& to, ::grpc::Status const& ended, etcdserverpb::AlarmResponse const& answer) {
          if (!ended.ok()) to.alarms_unknown = ended.error_message();
          for (auto const& each : answer.alarms())
            to.alarms.push_back({.type = kind_of(each), .member = each.memberid()});
        });
    look<etcdserverpb::MemberListRequest, etcdserverpb::MemberListResponse>(
        whole, timeout, [&](auto... all) { members_[at]->cluster->async()->MemberList(all...); },
        [](cluster_view& to, ::grpc::Status const& ended, etcdserverpb::MemberListResponse const& answer) {
          if (!ended.ok()) to.members_unknown = ended.error_message();
          for (auto const& each : answer.members()) {
            to.members.push_back({.id = each.id(),
                                  .name = each.name(),
                                  .urls = {each.clienturls().begin(), each.clienturls().end()},
                                  .learner = each.islearner()});
          }
        });
  });
}

}  // namespace holdfast::etcd
