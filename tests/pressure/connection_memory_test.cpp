/// One allocation fails, whichever it is: every request that was accepted is answered once, and what comes
/// next works.
#include "memory.hpp"

#include "net/connection.hpp"
#include "net/loose_ends.hpp"
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

/// The two kinds of connections to one server.
class lines final : public rig {
 public:
  explicit lines(std::string const& url)
      : how_{.server = net::parse_url(url),
             .client_name = "rig",
             .connect_timeout = 5s,
             .reply_timeout = 5s,
             .limits = {},
             .unended = &ends_},
        requests{loop, how_, counts_},
        messages{loop, how_, counts_} {}
  ~lines() override { stop(); }

 private:
  void pass(net::request what) override { requests.send(std::move(what)); }

  net::loose_ends ends_{{}};
  net::settings how_;
  client_stats counts_;

 public:
  net::connection requests;
  net::subscriber messages;
};

class memory : public testing::Test {
 protected:
  explicit memory(server_options how = {}) : server_{redis_server::with(std::move(how))} {
    raw_.command({"PING"});  // it is connected from here on
  }

  [[nodiscard]] std::unique_ptr<lines> fresh() const { return std::make_unique<lines>(server_.url()); }
  [[nodiscard]] std::unique_ptr<lines> connected() const {
    auto made = fresh();
    EXPECT_TRUE(made->works());
    return made;
  }

  redis_server server_;
  raw_redis raw_ = server_.raw();
};

void ask_some(lines& fresh) {
  std::array<asked, 3> all;
  reactor::lock hold{fresh.loop.mutex()};
  for (auto& one : all) fresh.send(one, {"SET", "key", "a value that needs memory of its own"});
  EXPECT_TRUE(fresh.await(hold));
  expect_one_answer_each(all);
}

TEST_F(memory, wanting_for_a_connection_and_its_requests) {
  at_each_allocation([this] { return fresh(); }, ask_some);
}

class memory_with_tls : public memory {
 protected:
  memory_with_tls() : memory{{.on = server_options::listen::tls}} {}
};

TEST_F(memory_with_tls, wanting_for_a_connection_and_its_requests) {
  at_each_allocation([this] { return fresh(); }, ask_some);
}

class memory_with_a_name : public memory {
 protected:
  memory_with_a_name() : memory{{.on = server_options::listen::tcp}} {}
};

/// In capitals it is a name like any other, and a thread asks for it.
TEST_F(memory_with_a_name, wanting_when_it_is_resolved) {
  auto const url = "redis://LOCALHOST:" + std::to_string(server_.port());
  at_each_allocation([&] { return std::make_unique<lines>(url); }, ask_some);
}

TEST_F(memory, wanting_when_a_connection_breaks_with_requests_in_flight) {
  at_each_allocation([this] { return connected(); },
                     [this](lines& fresh) {
                       std::array<asked, 3> all;
                       {
                         reactor::lock hold{fresh.loop.mutex()};
                         fresh.send(all[0], {"BLPOP", "a list that nobody fills", "0.1"});
                         fresh.send(all[1], {"GET", "key"});
                         fresh.send(all[2], {"GET", "key"});
                         fresh.loop.leave(hold);
                       }
                       {
                         left_alone const meanwhile;
                         (void)came_within(50ms,
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
  script const what{.name = "done", .sha1 = sha1, .text = text};
  auto const forgotten = [this] {
    auto made = connected();
    raw_.command({"SCRIPT", "FLUSH"});
    return made;
  };
  at_each_allocation(forgotten, [&](lines& fresh) {
    std::array<asked, 3> all;
    reactor::lock hold{fresh.loop.mutex()};
    for (auto& one : all) {
      try {
        fresh.send(one, scripting::to_run({what, {key{"orders"}}, {}}, {}));
      } catch (std::bad_alloc const&) {
        EXPECT_FALSE(one.accepted);
      }
    }
    EXPECT_TRUE(fresh.await(hold));
    expect_one_answer_each(all);
    for (auto const& one : all) EXPECT_TRUE(!one.accepted || one.failed || one.reply.is_text("done"));
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
  auto const hears = [&](counting_listener const& who) {
    left_alone const meanwhile;
    return eventually([&] {
      raw_.command({"PUBLISH", channel, "news"});
      return who.messages > 0;
    });
  };
  std::vector<std::unique_ptr<counting_listener>> all;
  at_each_allocation([this] { return fresh(); },
                     [&](lines& fresh) {
                       counting_listener* who = nullptr;
                       {
                         left_alone const meanwhile;
                         who = all.emplace_back(std::make_unique<counting_listener>()).get();
                       }
                       auto listens = false;
                       {
                         reactor::lock hold{fresh.loop.mutex()};
                         try {
                           fresh.messages.listen(channel, *who);
                           listens = true;
                         } catch (std::bad_alloc const&) {
                           EXPECT_EQ(who->subscribed, 0);
                         }
                         fresh.loop.leave(hold);
                       }
                       EXPECT_TRUE(!listens || hears(*who));
                       {
                         reactor::lock hold{fresh.loop.mutex()};
                         fresh.messages.forget(channel);
                         fresh.loop.leave(hold);
                       }
                       left_alone const meanwhile;
                       auto again = std::make_unique<counting_listener>();
                       {
                         reactor::lock hold{fresh.loop.mutex()};
                         fresh.messages.listen(channel, *again);
                         fresh.loop.leave(hold);
                       }
                       EXPECT_TRUE(hears(*again));
                       all.push_back(std::move(again));
                     });
}

TEST_F(memory, wanting_while_several_threads_wait) {
  at_each_allocation([this] { return connected(); },
                     [](lines& fresh) {
                       std::array<asked, 6> all;
                       std::vector<std::jthread> threads;
                       {
                         left_alone const meanwhile;
                         threads.reserve(all.size());
                       }
                       for (auto& one : all) {
                         left_alone const meanwhile;
                         threads.emplace_back([&fresh, &one] {
                           reactor::blocked_thread caller;
                           reactor::timer bell{[&] { fresh.loop.wake(caller); }};
                           reactor::lock hold{fresh.loop.mutex()};
                           try {
                             net::request what;
                             resp::append_command(what.bytes, {"GET", "key"});
                             what.done = [&](net::response&&) {
                               ++one.answers;
                               fresh.loop.wake(caller);
                             };
                             fresh.requests.send(std::move(what));
                             one.accepted = true;
                           } catch (std::bad_alloc const&) {
                             return;
                           }
                           fresh.loop.arm(bell, boot_clock::now() + bound_of_waits);
                           fresh.loop.wait(hold, caller);
                           hold.lock();
                           bell.disarm();
                         });
                       }
                       threads.clear();
                       expect_one_answer_each(all);
                     });
}

TEST_F(memory, wanting_in_one_timer_or_answer_is_noted_and_keeps_nobody_else_from_its_turn) {
  lines fresh{server_.url()};
  auto fired = 0;
  reactor::timer first{[] { throw std::bad_alloc{}; }};
  reactor::timer second{[&fired] { ++fired; }};
  {
    reactor::lock hold{fresh.loop.mutex()};
    auto const now = boot_clock::now();
    fresh.loop.arm(first, now);
    fresh.loop.arm(second, now);
    net::request what;
    resp::append_command(what.bytes, {"PING"});
    what.done = [](net::response&&) { throw std::bad_alloc{}; };
    fresh.requests.send(std::move(what));
    asked behind;
    fresh.send(behind, {"PING"});
    EXPECT_TRUE(fresh.await(hold));
    EXPECT_EQ(behind.answers, 1);
    EXPECT_EQ(fired, 1);
  }
  EXPECT_EQ(fresh.torn, 2);
  EXPECT_TRUE(fresh.works());
}

TEST_F(memory, wanting_for_calls_that_are_deferred) {
  at_each_allocation([this] { return fresh(); },
                     [](lines& fresh) {
                       auto accepted = 0;
                       std::atomic<int> called = 0;
                       reactor::loop::calls ready;
                       {
                         left_alone const meanwhile;
                         ready.emplace_back([&called] { ++called; });
                       }
                       reactor::lock hold{fresh.loop.mutex()};
                       for (auto i = 0; i != 3; ++i) {
                         try {
                           fresh.loop.defer([&called] { ++called; });
                           ++accepted;
                         } catch (std::bad_alloc const&) {
                           continue;
                         }
                       }
                       fresh.loop.defer(std::move(ready));
                       fresh.loop.leave(hold);
                       EXPECT_EQ(called, accepted + 1);
                     });
}

}  // namespace
}  // namespace holdfast::test
