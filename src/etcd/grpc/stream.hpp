/// One stream of requests and answers.
#pragma once

#include <grpcpp/grpcpp.h>

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

namespace holdfast::etcd {

/// Keeps itself alive until it has ended. Thread-safe. Handlers are called from gRPC's threads, without a
/// lock.
template <class Request, class Response>
class stream final : public ::grpc::ClientBidiReactor<Request, Response>,
                     public std::enable_shared_from_this<stream<Request, Response>> {
 public:
  struct events {
    std::function<void(Response const&)> answer;
    std::function<void(::grpc::Status const&)> ended;  ///< the last call
  };

  /// To be set before begin().
  void call(events handlers) { events_ = std::move(handlers); }
  [[nodiscard]] ::grpc::ClientContext& context() noexcept { return context_; }

  /// `start` hands it to the stub.
  template <class Start>
  void begin(Start start) {
    self_ = this->shared_from_this();
    start(&context_, this);
    this->AddHold();
    this->StartRead(&incoming_);
    this->StartCall();
    Request const* next = nullptr;
    bool over = false;
    {
      std::lock_guard const hold{guard_};
      begun_ = true;
      over = ended_;
      if (!over && !outgoing_.empty()) {
        writing_ = true;
        next = &outgoing_.front();
        this->AddHold();
      }
    }
    if (over) {
      context_.TryCancel();
      this->RemoveHold();
    }
    if (next == nullptr) return;
    this->StartWrite(next);
    this->RemoveHold();
  }

  void send(Request request) {
    queue(std::move(request));
    send_queued();
  }

  /// The same in two steps, of which the first calls nothing: it may be made under a lock that says in what
  /// order requests go.
  void queue(Request request) {
    std::lock_guard const hold{guard_};
    if (!ended_) outgoing_.push_back(std::move(request));
  }
  void send_queued() {
    Request const* next = nullptr;
    {
      std::lock_guard const hold{guard_};
      if (ended_ || !begun_ || outgoing_.empty() || std::exchange(writing_, true)) return;
      next = &outgoing_.front();
      this->AddHold();
    }
    this->StartWrite(next);
    this->RemoveHold();
  }

  void end() {
    {
      std::lock_guard const hold{guard_};
      if (std::exchange(ended_, true) || !begun_) return;
    }
    context_.TryCancel();
    this->RemoveHold();
  }

  void OnReadDone(bool fine) override {
    if (!fine) {
      end();
      return;
    }
    events_.answer(incoming_);
    this->StartRead(&incoming_);
  }

  void OnWriteDone(bool fine) override {
    Request const* next = nullptr;
    {
      std::lock_guard const hold{guard_};
      outgoing_.pop_front();
      if (!fine || ended_ || outgoing_.empty()) {
        writing_ = false;
        return;
      }
      next = &outgoing_.front();
    }
    this->StartWrite(next);
  }

  void OnDone(::grpc::Status const& status) override {
    auto const self = std::exchange(self_, nullptr);
    events_.ended(status);
  }

 private:
  events events_;
  ::grpc::ClientContext context_;
  Response incoming_;
  std::mutex guard_;
  std::deque<Request> outgoing_;  ///< the first one is being written; its address stays
  bool begun_ = false;
  bool writing_ = false;
  bool ended_ = false;
  std::shared_ptr<stream> self_;
};

}  // namespace holdfast::etcd
