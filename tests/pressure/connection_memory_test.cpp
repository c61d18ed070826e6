/// Any one allocation fails: every accepted request is answered once, and the next requests work.
#include "memory.hpp"

#include "net/broken_connections.hpp"
#include "net/connection.hpp"
#include "net/subscriber.hpp"
#include "script/runner.hpp"
#include "support/raw_redis.hpp"
#include "support/redis_server.hpp"

#include <holdfast/client.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace holdfast::test {
namespace {

/// Both kinds of connection to one server.
class connections final : public rig {
 public:
  explicit connections(std::string const& url)
      : settings_{.server = net::parse_url(url),
                  .client_name = "rig",
                  .connect_timeout = 5s,
                  .reply_timeout = 5s,
                  .limits = {},
                  .known_broken = &loose_ends_},
        requests{loop, settings_, stats_},
        messages{loop, settings_, stats_} {}
  ~connections() override { stop(); }

 private:
  void pass(net::request request) override { requests.send(std::move(request)); }

  net::broken_connections loose_ends_{{}};
  net::settings settings_;
  client_stats stats_;

 public:
  net::connection requests;
  net::subscriber messages;
};

class memory : public testing::Test {
 protected:
  explicit memory(server_options options = {}) : server_{redis_server::with(std::move(options))} {
    raw_.command({"PING"});  // connects
  }

  [[nodiscard]] std::unique_ptr<connections> fresh() const {
    return std::make_unique<connections>(server_.url());
  }
  [[nodiscard]] std::unique_ptr<connections> connected() const {
    auto opened = fresh();
    EXPECT_TRUE(opened->works());
    return opened;
  }

  redis_server server_;
  raw_redis raw_ = server_.raw();
};

void send_three(connections& fresh) {
  std::array<request_record, 3> all;
  reactor::lock hold{fresh.loop.mutex()};
  for (auto& record : all) fresh.send(record, {"SET", "key", "a value that needs memory of its own"});
  EXPECT_TRUE(fresh.await(hold));
  expect_one_answer_each(all);
}

TEST_F(memory, wanting_for_a_connection_and_its_requests) {
  at_each_allocation([this] { return fresh(); }, send_three);
}

class memory_with_tls : public memory {
 protected:
  memory_with_tls() : memory{{.transport = server_transport::tls}} {}
};

TEST_F(memory_with_tls, wanting_for_a_connection_and_its_requests) {
  at_each_allocation([this] { return fresh(); }, send_three);
}

class memory_with_a_name : public memory {
 protected:
  memory_with_a_name() : memory{{.transport = server_transport::tcp}} {}
};

/// In capitals the name isn't a special case: a thread resolves it.
TEST_F(memory_with_a_name, wanting_when_it_is_resolved) {
  auto const url = "redis://LOCALHOST:" + std::to_string(server_.port());
  at_each_allocation([&] { return std::make_unique<connections>(url); }, send_three);
}

TEST_F(memory, wanting_when_a_connection_breaks_with_requests_in_flight) {
  at_each_allocation([this] { return connected(); },
                     [this](connections& fresh) {
                       std::array<request_record, 3> all;
                       {
                         reactor::lock hold{fresh.loop.mutex()};
                         fresh.send(all[0], {"BLPOP", "a list that nobody fills", "0.1"});
                         fresh.send(all[1], {"GET", "key"});
                         fresh.send(all[2], {"GET", "key"});
                         fresh.loop.leave(hold);
                       }
                       {
                         uncounted_thread const uncounted;
                         (void)true_within(50ms,
                                           [&] { return raw_.info("clients", "blocked_clients") == "1"; });
                         raw_.kill_clients("normal");
                       }
                       reactor::lock hold{fresh.loop.mutex()};
                       EXPECT_TRUE(fresh.await(hold));
                       expect_one_answer_each(all);
                     });
}

TEST_F(memory, wanting_when_scripts_are_to_be_sent_in_full) {
  std::string const text = "return 'done'";
  auto const sha1 = raw_.command({"SCRIPT", "LOAD", text}).text;
  script const done_script{.name = "done", .sha1 = sha1, .text = text};
  auto const forgotten = [this] {
    auto opened = connected();
    raw_.command({"SCRIPT", "FLUSH"});
    return opened;
  };
  at_each_allocation(forgotten, [&](connections& fresh) {
    std::array<request_record, 3> all;
    reactor::lock hold{fresh.loop.mutex()};
    for (auto& record : all) {
      try {
        fresh.send(record, scripting::to_run({done_script, {key{"orders"}}, {}}, {}));
      } catch (std::bad_alloc const&) {
        EXPECT_FALSE(record.accepted);
      }
    }
    EXPECT_TRUE(fresh.await(hold));
    expect_one_answer_each(all);
    for (auto const& record : all)
      EXPECT_TRUE(!record.accepted || record.failed || record.reply.is_text("done"));
  });
}

struct counting_listener final : net::subscriber::listener {
  void on_subscribed() override { ++subscribed; }
  void on_message(std::string_view) override { ++messages; }
  void on_refused(std::string const&) override {}
  std::atomic<int> subscribed = 0;
  std::atomic<int> messages = 0;
};

TEST_F(memory, wanting_for_messages) {
  std::string const channel = "a channel whose name needs memory of its own";
  auto const receives_message = [&](counting_listener const& listener) {
    uncounted_thread const uncounted;
    return eventually([&] {
      raw_.command({"PUBLISH", channel, "news"});
      return listener.messages > 0;
    });
  };
  std::vector<std::unique_ptr<counting_listener>> all;
  at_each_allocation([this] { return fresh(); },
                     [&](connections& fresh) {
                       counting_listener* listener = nullptr;
                       {
                         uncounted_thread const uncounted;
                         listener = all.emplace_back(std::make_unique<counting_listener>()).get();
                       }
                       auto is_listening = false;
                       {
                         reactor::lock hold{fresh.loop.mutex()};
                         try {
                           fresh.messages.listen(channel, *listener);
                           is_listening = true;
                         } catch (std::bad_alloc const&) {
                           EXPECT_EQ(listener->subscribed, 0);
                         }
                         fresh.loop.leave(hold);
                       }
                       EXPECT_TRUE(!is_listening || receives_message(*listener));
                       {
                         reactor::lock hold{fresh.loop.mutex()};
                         fresh.messages.forget(channel);
                         fresh.loop.leave(hold);
                       }
                       uncounted_thread const uncounted;
                       auto second_listener = std::make_unique<counting_listener>();
                       {
                         reactor::lock hold{fresh.loop.mutex()};
                         fresh.messages.listen(channel, *second_listener);
                         fresh.loop.leave(hold);
                       }
                       EXPECT_TRUE(receives_message(*second_listener));
                       all.push_back(std::move(second_listener));
                     });
}

TEST_F(memory, wanting_while_several_threads_wait) {
  at_each_allocation([this] { return connected(); },
                     [](connections& fresh) {
                       std::array<request_record, 6> all;
                       std::vector<std::jthread> threads;
                       {
                         uncounted_thread const uncounted;
                         threads.reserve(all.size());
                       }
                       for (auto& record : all) {
                         uncounted_thread const uncounted;
                         threads.emplace_back([&fresh, &record] {
                           reactor::blocked_thread caller;
                           reactor::timer timeout{[&] { fresh.loop.wake(caller); }};
                           reactor::lock hold{fresh.loop.mutex()};
                           try {
                             net::request request;
                             resp::append_command(request.bytes, {"GET", "key"});
                             request.done = [&](net::response&&) {
                               ++record.answers;
                               fresh.loop.wake(caller);
                             };
                             fresh.requests.send(std::move(request));
                             record.accepted = true;
                           } catch (std::bad_alloc const&) {
                             return;
                           }
                           fresh.loop.arm(timeout, boot_clock::now() + wait_limit);
                           fresh.loop.wait(hold, caller);
                           hold.lock();
                           timeout.disarm();
                         });
                       }
                       threads.clear();
                       expect_one_answer_each(all);
                     });
}

TEST_F(memory, wanting_in_one_timer_or_answer_is_noted_and_keeps_nobody_else_from_its_turn) {
  connections fresh{server_.url()};
  auto fired = 0;
  reactor::timer first{[] { throw std::bad_alloc{}; }};
  reactor::timer second{[&fired] { ++fired; }};
  {
    reactor::lock hold{fresh.loop.mutex()};
    auto const now = boot_clock::now();
    fresh.loop.arm(first, now);
    fresh.loop.arm(second, now);
    net::request request;
    resp::append_command(request.bytes, {"PING"});
    request.done = [](net::response&&) { throw std::bad_alloc{}; };
    fresh.requests.send(std::move(request));
    request_record next_request;
    fresh.send(next_request, {"PING"});
    EXPECT_TRUE(fresh.await(hold));
    EXPECT_EQ(next_request.answers, 1);
    EXPECT_EQ(fired, 1);
  }
  EXPECT_EQ(fresh.out_of_memory_count, 2);
  EXPECT_TRUE(fresh.works());
}

TEST_F(memory, wanting_for_calls_that_are_deferred) {
  at_each_allocation([this] { return fresh(); },
                     [](connections& fresh) {
                       auto accepted = 0;
                       std::atomic<int> called = 0;
                       reactor::loop::calls ready;
                       {
                         uncounted_thread const uncounted;
                         ready.emplace_back([&called] { ++called; });
                       }
                       reactor::lock hold{fresh.loop.mutex()};
                       for (auto i = 0; i != 3; ++i) {
                         try {
                           fresh.loop.deferred().add([&called] { ++called; });
                           ++accepted;
                         } catch (std::bad_alloc const&) {
                           continue;
                         }
                       }
                       fresh.loop.deferred().add(std::move(ready));
                       fresh.loop.leave(hold);
                       EXPECT_EQ(called, accepted + 1);
                     });
}

}  // namespace
}  // namespace holdfast::test
