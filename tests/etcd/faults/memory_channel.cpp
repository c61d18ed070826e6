// The channel to the etcd in memory.

#include "etcd/channel.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <utility>

#include "store.hpp"

namespace holdfast::test {
namespace {

using std::chrono::milliseconds;

/// Answers at once. Nobody is told of what happens to keys, but by tell_of: whoever waits asks again.
class memory_channel final : public etcd::channel {
 public:
  explicit memory_channel(etcd::channel_events events) : events_{std::move(events)} {}

  void transact(etcd::transaction const& request, milliseconds /*timeout*/,
                handler<etcd::outcome> done) override {
    if (auto answer = the_store().transact(request)) {
      done(std::move(answer->first), std::move(answer->second));
    } else {
      done({.type = etcd::status::kind::unreachable, .sent = true, .text = "no answer"}, {});
    }
  }
  void grant(std::chrono::seconds ttl, milliseconds /*timeout*/, handler<etcd::lease_grant> done) override {
    if (auto const given = the_store().grant(ttl)) {
      done({.sent = true}, *given);
    } else {
      done({.type = etcd::status::kind::unreachable, .sent = true, .text = "no answer"}, {});
    }
  }
  void revoke(std::int64_t lease, milliseconds /*timeout*/, std::function<void(etcd::status)> done) override {
    the_store().revoke(lease);
    done({.sent = true});
  }
  void time_to_live(std::int64_t lease, milliseconds /*timeout*/, handler<etcd::lease_time> done) override {
    done({.sent = true}, {.left = the_store().ttl_of(lease)});
  }
  void examine(milliseconds /*timeout*/, std::function<void(etcd::cluster_view)> done) override { done({}); }
  void keep_alive(std::int64_t lease, std::uint64_t number) override {
    auto const answer = [lease, number, alive = events_.alive] {
      alive(lease, number, the_store().ttl_of(lease), the_store().term_of_keep_alives());
    };
    if (!the_store().hold_keep_alive(answer)) answer();
  }
  void watch(std::uint64_t number, std::string const& key, std::string const& /*end*/,
             std::int64_t /*from_revision*/, interest wanted) override {
    the_store().note_watch(number, {.key = key,
                                    .wanted = wanted,
                                    .deleted = [gone = events_.deleted, number] { gone(number); },
                                    .end = [over = events_.watch_over, number] { over(number); },
                                    .of = this});
  }
  void unwatch(std::uint64_t number) override { the_store().forget_watch(this, number); }
  void go_on_to_next() override { events_.keep_alive_broken({}); }

 private:
  etcd::channel_events const events_;
};

}  // namespace
}  // namespace holdfast::test

namespace holdfast::etcd {

/// In place of the library's own, which loads the shared object.
std::unique_ptr<channel> open(settings const& /*to*/, channel_events const& events,
                              std::string const& /*url*/) {
  return std::make_unique<test::memory_channel>(events);
}

}  // namespace holdfast::etcd
