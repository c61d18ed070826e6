#include "engine/wake/notifications.hpp"

#include "script/names.hpp"
#include "unit/engine_parts.hpp"
#include "wire/plain/multi.hpp"

namespace holdfast::engine {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class heard_notifications : public engine_parts {
 public:
  ~heard_notifications() override { queue_->waiters.clear(); }

 protected:
  explicit heard_notifications(client_options options = {})
      : engine_parts{"redis://h:1", std::move(options)}, queue_{pin()} {
    queue_->waiters.push_back(caller_);
  }

  [[nodiscard]] std::string inbox() const { return names::inbox(client_.uuid, "orders"); }
  void refuse() {
    auto* const listener = backend_.channels.at(inbox());
    backend_.channels.clear();
    listener->on_refused("NOPERM");
    reactor::lock hold{loop_.mutex()};
    loop_.leave(hold);  // writes the log
  }

  std::vector<std::string> heard_;
  notifications notifications_{
      loop_,
      backend_,
      client_,
      log_,
      {.message = [this](std::string const&, turn_message const& read,
                         time_point) { heard_.push_back("turn " + std::to_string(read.number)); },
       .woken = {},
       .open = [this](std::uint64_t number,
                      time_point) { heard_.push_back("open " + std::to_string(number)); },
       .polling = [this] { heard_.emplace_back("polling"); },
       .asked = [this](std::uint64_t number) { heard_.push_back("asked " + std::to_string(number)); }}};
  lock_queue_ptr queue_;
  recorded_waiter caller_{queue_};
};

TEST_F(heard_notifications, tell_a_contender_once_its_channel_is_open) {
  EXPECT_FALSE(notifications_.listen(*queue_, 1, client_.owner_id(1), boot_clock::now()));
  backend_.channels.at(inbox())->on_subscribed();
  EXPECT_THAT(heard_, ElementsAre("open 1"));
  EXPECT_TRUE(notifications_.listen_if_open(*queue_, 2, client_.owner_id(2), boot_clock::now()))
      << "another contender finds it open";
}

TEST_F(heard_notifications, know_that_a_channel_is_closed_until_it_is_subscribed_again) {
  (void)notifications_.listen(*queue_, 1, client_.owner_id(1), boot_clock::now());
  auto* const listener = backend_.channels.at(inbox());
  listener->on_subscribed();
  listener->on_closed();
  EXPECT_FALSE(notifications_.listen_if_open(*queue_, 2, client_.owner_id(2), boot_clock::now()));
  EXPECT_FALSE(notifications_.hears(*queue_, 1));
  listener->on_subscribed();
  EXPECT_TRUE(notifications_.hears(*queue_, 1));
  EXPECT_TRUE(notifications_.listen_if_open(*queue_, 2, client_.owner_id(2), boot_clock::now()));
}

TEST_F(heard_notifications, read_what_is_said_in_the_inbox_of_a_lock) {
  (void)notifications_.listen(*queue_, 1, client_.owner_id(1), boot_clock::now());
  backend_.channels.at(inbox())->on_message("woken 1 orders");
  backend_.channels.at(inbox())->on_message("something else");
  EXPECT_THAT(heard_, ElementsAre("turn 1"));
}

TEST_F(heard_notifications, read_requests_for_locks_that_are_held) {
  notifications_.open_hint_channel();
  backend_.channels.at(names::hints(client_.uuid))->on_message("asked 5");
  EXPECT_THAT(heard_, ElementsAre("asked 5"));
}

TEST_F(heard_notifications, give_way_to_polling_where_the_server_refuses_the_channel) {
  EXPECT_TRUE(notifications_.by_message(*queue_));
  (void)notifications_.listen(*queue_, 1, client_.owner_id(1), boot_clock::now());
  refuse();
  EXPECT_THAT(heard_, ElementsAre("polling"));
  EXPECT_FALSE(notifications_.by_message(*queue_));
  EXPECT_FALSE(notifications_.can_only_fail(*queue_));
  EXPECT_THAT(logged_, ElementsAre(HasSubstr("waiting is by polling")));
}

TEST_F(heard_notifications, open_no_channel_that_only_a_join_would_need) {
  EXPECT_FALSE(notifications_.listen_if_open(*queue_, 1, client_.owner_id(1), boot_clock::now()));
  EXPECT_TRUE(backend_.channels.empty());
}

TEST_F(heard_notifications, name_a_channel_for_each_name_of_a_lock) {
  auto const queue = pin(recipes::plain::multi, "1:a1:b");
  EXPECT_EQ(notifications_.channels_of(*queue, {}).size(), 2u);
}

class insisting_callers : public heard_notifications {
 protected:
  insisting_callers() : heard_notifications{client_options{.wake = wake::inbox}} {}
};

TEST_F(insisting_callers, can_only_fail_where_the_server_refuses_the_channel) {
  (void)notifications_.listen(*queue_, 1, client_.owner_id(1), boot_clock::now());
  refuse();
  EXPECT_TRUE(notifications_.can_only_fail(*queue_));
  EXPECT_THAT(notifications_.refusal(*queue_)->what(), HasSubstr("wake::automatic"));
  EXPECT_TRUE(logged_.empty()) << "the caller is told";
}

class messages_of_releases : public engine_parts {
 protected:
  explicit messages_of_releases(std::string const& url = "redis://h:1") : engine_parts{url} {}
  notifications notifications_{loop_, backend_, client_, log_, {}};
};

TEST_F(messages_of_releases, are_none_where_the_caller_polls) {
  EXPECT_FALSE(notifications_.policy_of({}).quiet);
  EXPECT_TRUE(notifications_.policy_of({.wake = wake::poll}).quiet);
}

TEST_F(messages_of_releases, are_counted_on_a_single_server) {
  EXPECT_EQ(notifications_.publish_method(), publishing::counted);
}

class messages_in_a_cluster : public messages_of_releases {
 protected:
  messages_in_a_cluster() : messages_of_releases{"redis+cluster://h:1"} {}
};

TEST_F(messages_in_a_cluster, are_uncounted_until_it_is_known_to_have_sharded_channels) {
  EXPECT_EQ(notifications_.publish_method(), publishing::uncounted);
}

}  // namespace
}  // namespace holdfast::engine
