// What a member hears of watches that were cancelled.

#include "support/eventually.hpp"

#include <etcd.grpc.pb.h>
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "etcd/channel.hpp"

/// Of the shared object.
extern "C" holdfast::etcd::channel* holdfast_etcd_channel_5(holdfast::etcd::settings const& to,
                                                            holdfast::etcd::channel_events const& events);

namespace holdfast::test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Not;

/// Says who it is when it is told to, and notes what it is asked to watch.
class member {
 public:
  member() {
    ::grpc::ServerBuilder wanted;
    wanted.AddListeningPort("127.0.0.1:0", ::grpc::InsecureServerCredentials(), &port_);
    wanted.RegisterService(&introduces_);
    wanted.RegisterService(&watches_);
    server_ = wanted.BuildAndStart();
  }
  ~member() {
    introduces_.answers = true;
    server_->Shutdown();
  }
  member(member const&) = delete;
  member& operator=(member const&) = delete;

  [[nodiscard]] std::string endpoint() const { return "127.0.0.1:" + std::to_string(port_); }
  void introduce() { introduces_.answers = true; }
  /// The numbers of those that it was to begin, and, negative, to end.
  [[nodiscard]] std::vector<std::int64_t> watches() const {
    std::lock_guard const hold{watches_.guard};
    return watches_.all;
  }

 private:
  struct introductions final : etcdserverpb::Maintenance::Service {
    ::grpc::Status Status(::grpc::ServerContext* /*context*/, etcdserverpb::StatusRequest const* /*request*/,
                          etcdserverpb::StatusResponse* answer) override {
      if (!eventually([this] { return answers.load(); })) return {::grpc::StatusCode::UNAVAILABLE, {}};
      answer->mutable_header()->set_cluster_id(1);
      answer->set_version("3.5.0");
      return {};
    }
    std::atomic<bool> answers = false;
  };
  struct watching final : etcdserverpb::Watch::Service {
    using stream_of_watches =
        ::grpc::ServerReaderWriter<etcdserverpb::WatchResponse, etcdserverpb::WatchRequest>;
    ::grpc::Status Watch(::grpc::ServerContext* /*context*/, stream_of_watches* stream) override {
      etcdserverpb::WatchRequest next;
      while (stream->Read(&next)) {
        std::lock_guard const hold{guard};
        all.push_back(next.has_create_request() ? next.create_request().watch_id()
                                                : -next.cancel_request().watch_id());
      }
      return {};
    }
    mutable std::mutex guard;
    std::vector<std::int64_t> all;
  };

  introductions introduces_;
  watching watches_;
  int port_ = 0;
  std::unique_ptr<::grpc::Server> server_;
};

class etcd_watches : public testing::Test {
 protected:
  void watch(std::uint64_t number) const {
    channel_->watch(number, "key", {}, 1, etcd::channel::interest::deletion);
  }
  [[nodiscard]] std::vector<std::int64_t> seen() const { return member_.watches(); }
  /// One that the member hears of. On a busy machine it may introduce itself too late for earlier ones.
  [[nodiscard]] std::uint64_t watch_something() {
    for (std::uint64_t number = 2;; ++number) {
      watch(number);
      EXPECT_TRUE(eventually([&] { return !seen().empty() || last_over_ == number; }));
      if (last_over_ != number) return number;
    }
  }

  member member_;
  std::atomic<std::uint64_t> last_over_ = 0;
  std::unique_ptr<etcd::channel> channel_{
      holdfast_etcd_channel_5({.endpoints = {member_.endpoint()}},
                              {.alive = [](auto...) {},
                               .keep_alive_broken = [](auto const&) {},
                               .deleted = [](std::uint64_t) {},
                               .changed = [](std::uint64_t) {},
                               .watch_over = [this](std::uint64_t number) { last_over_ = number; }})};
};

/// FOUND 478.
TEST_F(etcd_watches, that_are_cancelled_before_they_are_sent_stay_away) {
  watch(1);
  channel_->unwatch(1);
  member_.introduce();
  (void)watch_something();
  EXPECT_THAT(seen(), Not(Contains(1)));
}

TEST_F(etcd_watches, that_are_cancelled_later_are_ended) {
  member_.introduce();
  auto const number = static_cast<std::int64_t>(watch_something());
  channel_->unwatch(static_cast<std::uint64_t>(number));
  ASSERT_TRUE(eventually([&] { return seen().size() == 2; }));
  EXPECT_THAT(seen(), ElementsAre(number, -number));
}

}  // namespace
}  // namespace holdfast::test
