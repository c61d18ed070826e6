// The two streams of a client: keep-alives, and watches.

#include <algorithm>
#include <utility>

#include "base/quiet_thread.hpp"
#include "etcd/grpc/grpc_channel.hpp"
#include "etcd/grpc/status.hpp"

namespace holdfast::etcd {

/// With mutex_ locked.
void grpc_channel::prepare(::grpc::ClientContext& context) {
  if (!token_.empty()) context.AddMetadata("token", token_);
  // A member that has no leader ends the stream: it would hear of nothing.
  context.AddMetadata("hasleader", "true");
}

void grpc_channel::on_stream_over() {
  guard const hold{mutex_};
  --streams_;
  idle_.notify_all();
}

std::shared_ptr<grpc_channel::keep_alive_stream> grpc_channel::open_keep_alive() {
  guard hold{mutex_};
  if (closing_ || keep_alives_) return keep_alives_;
  auto const at = current_;
  auto const opened = std::make_shared<keep_alive_stream>();
  opened->call(
      {.answer = [this, self = opened.get()](
                     etcdserverpb::LeaseKeepAliveResponse const& answer) { on_alive(*self, answer); },
       .ended =
           [this, at, self = opened.get()](::grpc::Status const& ended) {
             {
               guard const locked{mutex_};
               if (keep_alives_.get() == self) keep_alives_ = nullptr;
               unanswered_.erase(self);
             }
             leave(at);
             events_.keep_alive_broken(read(ended, members_[at]->endpoint));
             on_stream_over();
           }});
  prepare(opened->context());
  ++streams_;
  keep_alives_ = opened;
  hold.unlock();
  opened->begin([this, at](::grpc::ClientContext* context, keep_alive_stream* reactor) {
    members_[at]->leases->async()->LeaseKeepAlive(context, reactor);
  });
  return opened;
}

void grpc_channel::keep_alive(std::int64_t lease, std::uint64_t number) {
  when_ready([this, lease, number](status const& found) {
    signals_blocked const for_new_threads;
    auto const to = found.ok() ? open_keep_alive() : nullptr;
    {
      guard hold{mutex_};
      if (!to || to != keep_alives_) {  // it has ended meanwhile
        hold.unlock();
        events_.keep_alive_broken(found);
        return;
      }
      unanswered_[to.get()].push_back({lease, number});
    }
    etcdserverpb::LeaseKeepAliveRequest request;
    request.set_id(lease);
    to->send(std::move(request));
  });
}

void grpc_channel::on_alive(keep_alive_stream const& from,
                            etcdserverpb::LeaseKeepAliveResponse const& answer) {
  asked_lease asked;
  {
    guard const hold{mutex_};
    auto& all = unanswered_[&from];
    auto const first = std::ranges::find(all, answer.id(), &asked_lease::lease);
    if (first == all.end()) return;
    asked = *first;
    all.erase(first);
  }
  events_.alive(asked.lease, asked.number, std::chrono::seconds{answer.ttl()}, answer.header().raft_term());
}

std::shared_ptr<grpc_channel::watch_stream> grpc_channel::open_watch() {
  guard hold{mutex_};
  if (closing_ || watches_) return watches_;
  auto const at = current_;
  auto const opened = std::make_shared<watch_stream>();
  auto* const self = opened.get();
  opened->call(
      {.answer = [this, self](etcdserverpb::WatchResponse const& answer) { on_watch(*self, answer); },
       .ended = [this, at, self](::grpc::Status const& /*ended*/) { on_watches_over(*self, at); }});
  prepare(opened->context());
  ++streams_;
  watches_ = opened;
  hold.unlock();
  opened->begin([this, at](::grpc::ClientContext* context, watch_stream* reactor) {
    members_[at]->watches->async()->Watch(context, reactor);
  });
  return opened;
}

void grpc_channel::on_watches_over(watch_stream const& ended, std::size_t at) {
  std::vector<std::uint64_t> over;
  {
    guard const locked{mutex_};
    if (watches_.get() == &ended) watches_ = nullptr;
    std::erase_if(watched_, [&](auto const& entry) {
      if (entry.second != &ended) return false;
      over.push_back(entry.first);
      return true;
    });
  }
  leave(at);
  for (auto const number : over) events_.watch_over(number);
  on_stream_over();
}

void grpc_channel::watch(std::uint64_t number, std::string const& key, std::string const& end,
                         std::int64_t from_revision, interest in) {
  {
    guard const hold{mutex_};
    watched_.emplace(number, nullptr);
  }
  etcdserverpb::WatchRequest request;
  auto& wanted = *request.mutable_create_request();
  wanted.set_key(key);
  wanted.set_range_end(end);
  wanted.set_start_revision(from_revision);
  if (in == interest::deletion) wanted.add_filters(etcdserverpb::WatchCreateRequest::NOPUT);
  if (in == interest::addition) wanted.add_filters(etcdserverpb::WatchCreateRequest::NODELETE);
  wanted.set_watch_id(static_cast<std::int64_t>(number));
  when_ready([this, number, request = std::move(request)](status const& found) {
    begin_watch(number, request, found);
  });
}

/// Unless it was cancelled meanwhile.
void grpc_channel::begin_watch(std::uint64_t number, etcdserverpb::WatchRequest const& request,
                               status const& found) {
  signals_blocked const for_new_threads;
  auto const over = found.ok() ? open_watch() : nullptr;
  guard hold{mutex_};
  auto const known = watched_.find(number);
  if (known == watched_.end()) return;
  if (!over || watches_ != over) {  // it has ended meanwhile
    watched_.erase(known);
    hold.unlock();
    events_.watch_over(number);
    return;
  }
  known->second = over.get();
  over->queue(request);  // a cancellation comes behind it
  hold.unlock();
  over->send_queued();
}

void grpc_channel::unwatch(std::uint64_t number) {
  guard hold{mutex_};
  auto const known = watched_.find(number);
  if (known == watched_.end()) return;
  auto const is_on_its_way = known->second != nullptr && known->second == watches_.get();
  watched_.erase(known);
  if (!is_on_its_way) return;
  auto const over = watches_;
  etcdserverpb::WatchRequest request;
  request.mutable_cancel_request()->set_watch_id(static_cast<std::int64_t>(number));
  over->queue(std::move(request));
  hold.unlock();
  signals_blocked const for_new_threads;
  over->send_queued();
}

void grpc_channel::on_watch(watch_stream& from, etcdserverpb::WatchResponse const& answer) {
  if (answer.events_size() == 0 && !answer.canceled()) return;
  // It was refused, perhaps for the token of the stream, and etcd doesn't say which one that is. All of that
  // stream begin anew.
  if (answer.watch_id() < 0) {
    {
      guard const hold{mutex_};
      if (watches_.get() == &from) watches_ = nullptr;
    }
    from.end();
    return;
  }
  auto const number = static_cast<std::uint64_t>(answer.watch_id());
  {
    guard const hold{mutex_};
    if (!watched_.contains(number)) return;
  }
  auto const deleted = std::ranges::any_of(answer.events(), [](etcdserverpb::Event const& each) {
    return each.type() == etcdserverpb::Event::DELETE;
  });
  if (!deleted && !answer.canceled()) {
    events_.changed(number);
    return;
  }
  if (!answer.canceled()) unwatch(number);
  {
    guard const hold{mutex_};
    watched_.erase(number);
  }
  if (deleted) {
    events_.deleted(number);
  } else {
    events_.watch_over(number);
  }
}

}  // namespace holdfast::etcd
