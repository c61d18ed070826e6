#include "etcd/grpc/grpc_channel.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <utility>

#include "base/quiet_thread.hpp"
#include "etcd/grpc/status.hpp"
#include "etcd/grpc/translate.hpp"

namespace holdfast::etcd {
namespace {

/// How long a member has to say which cluster it belongs to. What doesn't answer then is checked by its first
/// answer.
constexpr milliseconds introduction_time{500};
constexpr milliseconds shortest_try{50};
constexpr milliseconds parting_time{300};

std::chrono::system_clock::time_point after(milliseconds timeout) {
  return std::chrono::system_clock::now() + timeout;
}

template <class Response>
std::uint64_t cluster_in(Response const& answer) {
  return answer.header().cluster_id();
}

}  // namespace

template <class Request, class Response>
struct grpc_channel::call {
  ::grpc::ClientContext context{};
  Request request{};
  Response response{};
};

struct grpc_channel::introduction {
  std::chrono::steady_clock::time_point end{};  ///< for all of it: requests wait meanwhile
  std::size_t left = 0;
  std::ptrdiff_t answered = 0;
  std::vector<std::size_t> order{};  ///< of the members: as they have answered, then those that haven't
  status last{};                     ///< why one hasn't
};

grpc_channel::grpc_channel(settings to, channel_events events)
    : settings_{std::move(to)}, events_{std::move(events)}, members_{connect(settings_)} {}

grpc_channel::~grpc_channel() {
  guard hold{mutex_};
  closing_ = true;
  // What was sent last gives leases back.
  idle_.wait_for(hold, parting_time, [this] { return under_way_.empty(); });
  for (auto* const context : under_way_) context->TryCancel();
  auto const keep_alives = std::exchange(keep_alives_, nullptr);
  auto const watches = std::exchange(watches_, nullptr);
  hold.unlock();
  if (keep_alives) keep_alives->end();
  if (watches) watches->end();
  hold.lock();
  idle_.wait(hold, [this] { return under_way_.empty() && streams_ == 0; });
}

/// Asks the current member once.
template <class Request, class Response, class Start>
void grpc_channel::ask(Request request, milliseconds timeout, Start start,
                       std::function<void(::grpc::Status const&, Response const&, std::string const&)> done) {
  signals_blocked const for_new_threads;
  auto asked = std::make_shared<call<Request, Response>>();
  asked->request = std::move(request);
  asked->context.set_deadline(after(timeout));
  guard hold{mutex_};
  auto const at = current_;
  auto const closed = closing_;
  if (!token_.empty()) asked->context.AddMetadata("token", token_);
  if (!closed) under_way_.insert(&asked->context);
  hold.unlock();
  auto const& member = *members_[at];
  if (closed) {
    done({::grpc::StatusCode::CANCELLED, "the client is closed"}, asked->response, member.endpoint);
    return;
  }
  auto& kept = *asked;
  start(member, &kept.context, &kept.request, &kept.response,
        [this, at, asked = std::move(asked), done = std::move(done)](::grpc::Status const& ended) {
          if (read(ended, {}).type == status::kind::unreachable) leave(at);
          done(ended, asked->response, members_[at]->endpoint);
          guard const last{mutex_};
          under_way_.erase(&asked->context);
          idle_.notify_all();
        });
}

template <class Request, class Response, class Start, class Done>
void grpc_channel::ask_when_ready(Request request, milliseconds timeout, Start start, Done done) {
  when_ready(
      [this, request = std::move(request), timeout, start, done = std::move(done)](status const& found) {
        if (!found.ok()) {
          done(found, Response{});
          return;
        }
        ask_with_token<Request, Response>(request, timeout, start, done, true);
      });
}

/// A token that has expired is replaced, once for each request.
template <class Request, class Response, class Start, class Done>
void grpc_channel::ask_with_token(Request request, milliseconds timeout, Start start, Done done, bool again) {
  auto kept = request;
  ask<Request, Response>(
      std::move(request), timeout, start,
      [this, kept = std::move(kept), timeout, start, done, again](
          ::grpc::Status const& ended, Response const& answer, std::string const& endpoint) {
        if (again && !settings_.user.empty() && needs_new_token(ended)) {
          {
            guard const locked{mutex_};
            if (state_ == state::ready) state_ = state::unknown;
          }
          when_ready([this, kept, timeout, start, done](status const& found) {
            if (!found.ok()) {
              done(found, Response{});
            } else {
              ask_with_token<Request, Response>(kept, timeout, start, done, false);
            }
          });
          return;
        }
        done(note(ended, endpoint, cluster_in(answer)), answer);
      });
}

void grpc_channel::when_ready(ready_handler f) {
  guard hold{mutex_};
  if (state_ == state::ready) {
    auto const found = cluster_.verdict();
    hold.unlock();
    f(found);
    return;
  }
  until_ready_.push_back(std::move(f));
  if (std::exchange(state_, state::introducing) == state::introducing) return;
  hold.unlock();
  introduce();
}

/// All members say which cluster they belong to; those that aren't there are left out.
void grpc_channel::introduce() {
  signals_blocked const for_new_threads;
  auto const all = std::make_shared<introduction>();
  all->end = std::chrono::steady_clock::now() + settings_.connect_timeout;
  all->left = members_.size();
  for (std::size_t i = 0; i != members_.size(); ++i) {
    using probe = call<etcdserverpb::StatusRequest, etcdserverpb::StatusResponse>;
    auto asked = std::make_shared<probe>();
    asked->context.set_deadline(after(introduction_time));
    guard hold{mutex_};
    if (closing_) {
      hold.unlock();
      conclude({.type = status::kind::unreachable, .text = "the client is closed"});
      return;
    }
    under_way_.insert(&asked->context);
    hold.unlock();
    auto& kept = *asked;
    members_[i]->maintenance->async()->Status(
        &kept.context, &kept.request, &kept.response,
        [this, all, i, asked = std::move(asked)](::grpc::Status const& ended) {
          auto const& endpoint = members_[i]->endpoint;
          guard locked{mutex_};
          if (ended.ok()) {
            cluster_.note(endpoint, cluster_in(asked->response), asked->response.version());
          } else {
            all->last = read(ended, endpoint);
          }
          auto const has_answered = ended.ok() || all->last.type == status::kind::unauthorized;
          all->order.insert(has_answered ? all->order.begin() + all->answered++ : all->order.end(), i);
          auto const complete = --all->left == 0;
          locked.unlock();
          if (complete) authenticate(all, 0);
          locked.lock();
          under_way_.erase(&asked->context);
          idle_.notify_all();
        });
  }
}

/// A member that is cut off from the others answers introduce(), and can't authenticate: others are asked
/// then. Each has half of the time that is left, the last one all of it.
void grpc_channel::authenticate(std::shared_ptr<introduction> const& all, std::size_t next) {
  if (all->answered == 0 || next == all->order.size()) {
    conclude(all->last);
    return;
  }
  {
    guard const hold{mutex_};
    current_ = all->order[next];
    if (!settings_.user.empty()) token_.clear();
  }
  if (settings_.user.empty()) {
    conclude({});
    return;
  }
  auto const left = std::chrono::duration_cast<milliseconds>(all->end - std::chrono::steady_clock::now());
  auto const is_last = next + 1 == all->order.size();
  etcdserverpb::AuthenticateRequest request;
  request.set_name(settings_.user);
  request.set_password(settings_.password);
  ask<etcdserverpb::AuthenticateRequest, etcdserverpb::AuthenticateResponse>(
      std::move(request), std::max(shortest_try, is_last ? left : left / 2),
      [](member const& to, auto... all_arguments) { to.auth->async()->Authenticate(all_arguments...); },
      [this, all, next](::grpc::Status const& ended, etcdserverpb::AuthenticateResponse const& answer,
                        std::string const& endpoint) {
        auto const found = read(ended, endpoint);
        if (found.type == status::kind::unreachable) {
          all->last = found;
          authenticate(all, next + 1);
          return;
        }
        // A cluster without users has no tokens, and lets anybody in.
        if (ended.error_message().find("authentication is not enabled") != std::string::npos) {
          conclude({});
          return;
        }
        // A stream of watches has its token from its beginning: all later ones would be refused.
        std::shared_ptr<watch_stream> outdated;
        if (ended.ok()) {
          guard const locked{mutex_};
          token_ = answer.token();
          outdated = std::exchange(watches_, nullptr);
        }
        conclude(found);
        if (outdated) outdated->end();
      });
}

/// No request of those that wait was sent.
void grpc_channel::conclude(status found) {
  found.sent = false;
  guard hold{mutex_};
  state_ = found.ok() ? state::ready : state::unknown;
  auto const waiting = std::exchange(until_ready_, {});
  auto const result = found.ok() ? cluster_.verdict() : found;
  hold.unlock();
  for (auto const& each : waiting) each(result);
}

status grpc_channel::note(::grpc::Status const& ended, std::string const& endpoint, std::uint64_t cluster) {
  guard const hold{mutex_};
  cluster_.note(endpoint, cluster);
  if (!cluster_.verdict().ok()) return cluster_.verdict();
  return read(ended, endpoint);
}

/// That member doesn't answer: the next one is asked, unless that is so already.
void grpc_channel::leave(std::size_t at) {
  guard hold{mutex_};
  if (closing_ || current_ != at || members_.size() == 1) return;
  current_ = (current_ + 1) % members_.size();
  auto const keep_alives = std::exchange(keep_alives_, nullptr);
  auto const watches = std::exchange(watches_, nullptr);
  hold.unlock();
  if (keep_alives) keep_alives->end();
  if (watches) watches->end();
}

void grpc_channel::go_on_to_next() {
  guard hold{mutex_};
  if (!closing_) current_ = (current_ + 1) % members_.size();
  auto const keep_alives = std::exchange(keep_alives_, nullptr);
  auto const watches = std::exchange(watches_, nullptr);
  hold.unlock();
  if (keep_alives) keep_alives->end();
  if (watches) watches->end();
}

void grpc_channel::transact(transaction const& request, milliseconds timeout, handler<outcome> done) {
  ask_when_ready<etcdserverpb::TxnRequest, etcdserverpb::TxnResponse>(
      to_message(request), timeout, [](member const& to, auto... all) { to.keys->async()->Txn(all...); },
      [done = std::move(done)](status ended, etcdserverpb::TxnResponse const& answer) {
        auto value = ended.ok() ? to_value(answer) : outcome{};
        done(std::move(ended), std::move(value));
      });
}

void grpc_channel::grant(std::chrono::seconds ttl, milliseconds timeout, handler<lease_grant> done) {
  etcdserverpb::LeaseGrantRequest request;
  request.set_ttl(ttl.count());
  ask_when_ready<etcdserverpb::LeaseGrantRequest, etcdserverpb::LeaseGrantResponse>(
      std::move(request), timeout,
      [](member const& to, auto... all) { to.leases->async()->LeaseGrant(all...); },
      [done = std::move(done)](status ended, etcdserverpb::LeaseGrantResponse const& answer) {
        done(std::move(ended), {.id = answer.id(), .ttl = std::chrono::seconds{answer.ttl()}});
      });
}

void grpc_channel::revoke(std::int64_t lease, milliseconds timeout, std::function<void(status)> done) {
  etcdserverpb::LeaseRevokeRequest request;
  request.set_id(lease);
  ask_when_ready<etcdserverpb::LeaseRevokeRequest, etcdserverpb::LeaseRevokeResponse>(
      std::move(request), timeout,
      [](member const& to, auto... all) { to.leases->async()->LeaseRevoke(all...); },
      [done = std::move(done)](status ended, etcdserverpb::LeaseRevokeResponse const& /*answer*/) {
        done(std::move(ended));
      });
}

void grpc_channel::time_to_live(std::int64_t lease, milliseconds timeout, handler<lease_time> done) {
  etcdserverpb::LeaseTimeToLiveRequest request;
  request.set_id(lease);
  ask_when_ready<etcdserverpb::LeaseTimeToLiveRequest, etcdserverpb::LeaseTimeToLiveResponse>(
      std::move(request), timeout,
      [](member const& to, auto... all) { to.leases->async()->LeaseTimeToLive(all...); },
      [done = std::move(done)](status ended, etcdserverpb::LeaseTimeToLiveResponse const& answer) {
        done(std::move(ended), {.left = std::chrono::seconds{answer.ttl()}});
      });
}

}  // namespace holdfast::etcd

extern "C" __attribute__((visibility("default"))) holdfast::etcd::channel* holdfast_etcd_channel_5(
    holdfast::etcd::settings const& to, holdfast::etcd::channel_events const& events) {
  return std::make_unique<holdfast::etcd::grpc_channel>(to, events).release();
}
