/// The requests of a semaphore on the plain wire, each disturbed in every way: permits without a lease count
/// once, and none is taken for nobody, as no lease of theirs would end.
#include "harmed.hpp"

#include <holdfast/error.hpp>
#include <holdfast/semaphore.hpp>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "script/names.hpp"
#include "scripts/permits.hpp"

namespace holdfast::test {
namespace {

namespace lua = scripts::permits;

class lasting_permits_fault : public harmed {
 protected:
  lasting_permits_fault() {
    for (auto const* const used : {&lua::acquire::source, &lua::give_back::source, &lua::drain::source,
                                   &lua::resize::source, &lua::abandon::source})
      raw_.command({"SCRIPT", "LOAD", std::string{used->text}});
  }
  /// But the notes of requests.
  [[nodiscard]] bool has_left_nothing() override {
    return test::nothing_left_behind([this] {
      auto keys = leftover_keys(raw_);
      std::erase_if(keys, [](auto const& key) { return key.find(":holdfast_done:") != std::string::npos; });
      return keys;
    });
  }
  [[nodiscard]] bool are_all_back() {
    return eventually(
        [this] { return !raw_.exists("uploads") && !raw_.exists(names::permit_queue("uploads")); });
  }

  client other_client_{server_.url(), with_long_timeouts()};
  semaphore uploads_{redis_, "uploads", 5};
  semaphore other_{other_client_, "uploads", 5};
};

TEST_F(lasting_permits_fault, takes_them_once) {
  at_every_harm(lua::acquire::source, [this] {
    uploads_.acquire(2);
    EXPECT_EQ(other_.available(), 3);
    uploads_.release(2);
    EXPECT_TRUE(are_all_back());
  });
}

/// By force, before it has heard that it has them. A copy of that request must not take them again, but its
/// caller waits on.
TEST_F(lasting_permits_fault, asks_anew_where_they_were_taken_away_before_it_heard) {
  std::atomic<int> forced = 0;
  auto const decision = proxy_.decide_by([this, &forced](request const& r) {
    if (kind_of(r) == lua::acquire::source.sha1 && forced == 0) {
      auto const owner = std::ranges::find_if(r.words, [](auto const& word) { return word.ends_with(":l"); });
      if (owner != r.words.end() && ++forced == 1)
        raw_.command({"SET", "{uploads}:holdfast_done:" + *owner, "forced 1", "PX", "600000"});
    }
    return fate::pass();
  });
  pending_wait granted;
  uploads_.async_acquire(granted.handler());
  EXPECT_TRUE(eventually([&] { return granted.succeeded(); }));
  EXPECT_EQ(forced, 1);
  EXPECT_EQ(other_.available(), 4);
  uploads_.release();
  EXPECT_TRUE(are_all_back());
}

TEST_F(lasting_permits_fault, gives_them_back_once) {
  at_every_harm(lua::give_back::source, [this] {
    uploads_.acquire(4);
    uploads_.release(2);
    EXPECT_EQ(other_.available(), 3);
    uploads_.release(2);
    EXPECT_EQ(other_.available(), 5);
  });
}

TEST_F(lasting_permits_fault, takes_them_away_once) {
  at_every_harm(lua::drain::source, [this] {
    EXPECT_EQ(uploads_.drain(), 5);
    EXPECT_EQ(other_.available(), 0);
    raw_.command({"DEL", names::permits("uploads")});
  });
}

TEST_F(lasting_permits_fault, adds_them_once) {
  at_every_harm(lua::resize::source, [this] {
    uploads_.add_permits(2);
    EXPECT_EQ(other_.available(), 7);
    raw_.command({"DEL", names::permits("uploads")});
  });
}

TEST_F(lasting_permits_fault, leaves_none_behind_when_a_caller_goes) {
  at_every_harm(lua::abandon::source, [this] {
    other_.acquire(5);
    EXPECT_FALSE(uploads_.try_acquire_for(2s, 2));
    EXPECT_TRUE(eventually([this] { return !raw_.exists(names::permit_queue("uploads")); }));
    other_.release(5);
    EXPECT_TRUE(are_all_back());
  });
}

TEST_F(lasting_permits_fault, gives_back_what_came_for_a_caller_that_had_gone) {
  for (auto const& effect : {fate::delay_reply(250ms), fate::cut_after(), fate::swallow_reply()}) {
    std::atomic<bool> met = false;
    auto const decision = proxy_.decide_by([&](request const& r) {
      if (met || !r.has(lua::acquire::source.sha1)) return fate::pass();
      met = true;
      return effect;
    });
    std::stop_source stop;
    std::atomic<bool> done = false;
    std::atomic<bool> taken = false;
    uploads_.async_acquire(
        [&](bool has_them, std::exception_ptr const&) {
          taken = has_them;
          done = true;
        },
        3, stop.get_token());
    ASSERT_TRUE(eventually([&] { return met.load(); }));
    stop.request_stop();
    ASSERT_TRUE(eventually([&] { return done.load(); }));
    if (taken) uploads_.release(3);
    EXPECT_TRUE(are_all_back());
    proxy_.decide({});
  }
}

TEST_F(lasting_permits_fault, comes_by_them_although_no_message_reaches_it) {
  other_.acquire(5);
  proxy_.swallow_messages(true);
  std::atomic<bool> taken = false;
  uploads_.async_acquire([&](bool has_them, std::exception_ptr const&) { taken = has_them; }, 4);
  ASSERT_TRUE(eventually([&] { return raw_.exists(names::permit_queue("uploads")); }));
  other_.release(5);
  ASSERT_TRUE(eventually([&] { return taken.load(); }));
  EXPECT_EQ(other_.available(), 1);
  uploads_.release(4);
  EXPECT_TRUE(are_all_back());
}

TEST_F(lasting_permits_fault, come_out_even_while_connections_break) {
  redis_.connect();  // a first connection that breaks at once is an error
  std::atomic<bool> stop = false;
  std::atomic<int> inside = 0;
  std::atomic<int> most = 0;
  std::atomic<int> rounds = 0;
  {
    std::vector<std::jthread> workers;
    workers.reserve(6);
    for (auto i = 0; i < 6; ++i) {
      workers.emplace_back([&, &mine = i % 2 == 0 ? uploads_ : other_, wanted = 1 + i % 3] {
        try {
          while (!stop) {
            mine.acquire(wanted);
            auto const current = inside += wanted;
            for (auto old = most.load(); current > old && !most.compare_exchange_weak(old, current);) {
            }
            inside -= wanted;
            mine.release(wanted);
            ++rounds;
          }
        } catch (error const& failure) {
          ADD_FAILURE() << failure.what();
        }
      });
    }
    for (auto cut = 0; cut < 20; ++cut) {
      auto const before = rounds.load();
      EXPECT_TRUE(eventually([&] { return rounds > before + 5; }));
      proxy_.cut_all();
    }
    stop = true;
  }
  EXPECT_LE(most.load(), 5);
  EXPECT_TRUE(are_all_back());
  EXPECT_EQ(other_.available(), 5);
}

}  // namespace
}  // namespace holdfast::test
