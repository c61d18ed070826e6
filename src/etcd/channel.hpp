/// What the library asks of its optional part, which speaks gRPC, and is loaded when an etcd:// URL is used.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "etcd/messages.hpp"

namespace holdfast::etcd {

/// The calls come from threads of the channel's own, without any lock, and not behind its destructor.
struct channel_events {
  /// The answer to keep_alive() with that number, in that term. Zero: there is no such lease any more.
  std::function<void(std::int64_t lease, std::uint64_t number, std::chrono::seconds ttl, std::uint64_t term)>
      alive;
  /// The stream is gone: those keep-alives without an answer won't get one.
  std::function<void(status)> keep_alive_broken;
  /// The key of that watch was deleted. It is called once for each watch(): this, or watch_over.
  std::function<void(std::uint64_t watch)> deleted;
  /// A key was made, or has another value. The watch goes on.
  std::function<void(std::uint64_t watch)> changed;
  /// The watch has ended, and may have missed that.
  std::function<void(std::uint64_t watch)> watch_over;
};

/// One client of a cluster. It asks one member at a time, and goes on to the next when that can't answer.
/// Thread-safe. Throws nothing but std::bad_alloc.
class channel {
 public:
  channel() = default;
  channel(channel const&) = delete;
  channel& operator=(channel const&) = delete;
  virtual ~channel() = default;

  template <class Answer>
  using handler = std::function<void(status, Answer)>;

  /// Each `done` is called once, from a thread of the channel's, after `timeout` at the latest.
  virtual void transact(transaction const& request, milliseconds timeout, handler<outcome> done) = 0;
  virtual void grant(std::chrono::seconds ttl, milliseconds timeout, handler<lease_grant> done) = 0;
  virtual void revoke(std::int64_t lease, milliseconds timeout, std::function<void(status)> done) = 0;
  virtual void time_to_live(std::int64_t lease, milliseconds timeout, handler<lease_time> done) = 0;
  /// What all endpoints say, also where no other request can be made.
  virtual void examine(milliseconds timeout, std::function<void(cluster_view)> done) = 0;

  /// All over one stream. The caller chooses the numbers.
  virtual void keep_alive(std::int64_t lease, std::uint64_t number) = 0;

  enum class interest : std::uint8_t { deletion, addition, all_changes };
  /// All over one stream. Watches one key, or the keys up to `end`, from that revision of the store on. The
  /// caller chooses the number, above 0, and none twice.
  virtual void watch(std::uint64_t number, std::string const& key, std::string const& end,
                     std::int64_t from_revision, interest wanted) = 0;
  virtual void unwatch(std::uint64_t number) = 0;

  /// The member that is asked doesn't answer: the streams are ended, and the next member is asked.
  virtual void go_on_to_next() = 0;
};

/// What the shared object exports, under the name `channel_entry`. It is changed with each change of this
/// file or of messages.hpp.
using open_channel = channel* (*)(settings const&, channel_events const&);
inline constexpr auto channel_entry = "holdfast_etcd_channel_5";

/// Loads the shared object, once. Throws errc::bad_url that says which package is missing; `url` is for the
/// message.
[[nodiscard]] std::unique_ptr<channel> open(settings const& to, channel_events const& events,
                                            std::string const& url);

}  // namespace holdfast::etcd
