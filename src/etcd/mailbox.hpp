/// From the threads of gRPC into a client's loop.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "base/callback.hpp"
#include "reactor/reactor.hpp"

namespace holdfast::etcd {

/// What is put in is called in that order, under the client's lock, by the thread that drives the loop.
class mailbox : public std::enable_shared_from_this<mailbox> {
 public:
  using letter = callback<void()>;

  explicit mailbox(reactor::loop& loop) noexcept : loop_{&loop} {}

  /// From any thread. False: it is closed, and `f` as it was.
  bool put(letter&& f);
  /// The same under the client's lock, and at once if it is closed.
  void put_or_call(letter f);
  /// Under the client's lock: calls all that is in it. Nothing is called from then on.
  void close();

 private:
  void deliver();

  std::mutex guard_;
  reactor::loop* loop_;  ///< null: closed
  std::vector<letter> letters_;
  bool posted_ = false;
};

}  // namespace holdfast::etcd
