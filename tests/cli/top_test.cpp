#include "holdfast_command.hpp"
#include "support/eventually.hpp"
#include "support/redis_server.hpp"
#include "support/rounds.hpp"
#include "support/terminal_window.hpp"

#include <holdfast/client.hpp>
#include <holdfast/mutex.hpp>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <signal.h>

#include <initializer_list>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

namespace {

using namespace holdfast::test;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr auto leave_screen = "\x1b[?1049l";

class top : public testing::Test {
 protected:
  /// Makes a lock as another process would.
  void hold(std::string const& name, int const waiting = 0) {
    redis.command({"SET", name, "11111111-2222-4333-8444-555555555555:1", "PX", "60000"});
    auto const time = redis.command({"TIME"}).elements;
    redis.command({"SET", "{" + name + "}:holdfast_token",
                   std::to_string(std::stoll(time[0].text) * 1'000'000 + std::stoll(time[1].text))});
    for (int i = 0; i < waiting; ++i) {
      redis.command({"ZADD", "{" + name + "}:holdfast_queue", std::to_string(i + 1),
                     "66666666-2222-4333-8444-555555555555:" + std::to_string(i)});
    }
  }

  void open(words const& more = {}, terminal_window::size const first = {}, environment extra = {}) {
    words command{HOLDFAST_CLI, "top", "--interval", "100ms"};
    command.insert(command.end(), more.begin(), more.end());
    extra.emplace("HOLDFAST_URL", server.url());
    // `top` ends if it doesn't reach the server within a second of its start.
    for (auto left = 5; left > 0; --left) {
      window.emplace(command, extra, first);
      modes = window->first_modes();
      EXPECT_TRUE(eventually([&] { return !window->seen().empty(); }));
      if (!window->seen().starts_with("holdfast: cannot reach")) return;
    }
  }

  /// `top` writes only changes, so a text may never come in one piece unless the screen is drawn anew. Output
  /// for an earlier `\f` may still come, hence `absent` is part of the awaited condition.
  bool redrawn_shows(std::string const& text, std::string const& absent = "nothing like it") {
    return eventually(40s, [&] {
      window->forget();
      window->type("\f");
      return window->shows(text, 2s) && window->seen().find(absent) == std::string::npos;
    });
  }

  /// The terminal has its former modes, and the program has written the sequences that restore it.
  void expect_terminal_left() {
    EXPECT_EQ(window->modes(), modes);
    EXPECT_THAT(window->seen(), HasSubstr(leave_screen));
    EXPECT_THAT(window->seen(), HasSubstr("\x1b[?25h"));  // the cursor is back
  }

  redis_server server = redis_server::with({.persistent = true});
  raw_redis redis = server.raw();
  std::optional<terminal_window> window{};
  std::string modes{};
};

TEST_F(top, shows_locks_and_leaves_with_q) {
  hold("nightly", 3);
  open();
  EXPECT_TRUE(window->shows("nightly"));
  EXPECT_TRUE(redrawn_shows("locks: 1, waited for: 1"));
  EXPECT_NE(window->modes(), modes);
  window->type("q");
  EXPECT_EQ(window->wait(), 0);
  expect_terminal_left();
}

TEST_F(top, shows_what_comes_and_goes) {
  open();
  EXPECT_TRUE(redrawn_shows("no lock is held")) << window->seen();
  hold("nightly");
  EXPECT_TRUE(redrawn_shows("nightly", "no lock is held")) << window->seen();
  redis.del("nightly");
  EXPECT_TRUE(redrawn_shows("no lock is held", "nightly")) << window->seen();
}

TEST_F(top, puts_the_terminal_right_when_a_signal_ends_it) {
  for (int const number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    open();
    ASSERT_TRUE(window->shows("q quit"));
    window->signal(number);
    EXPECT_EQ(window->wait(), 128 + number);
    expect_terminal_left();
  }
}

TEST_F(top, is_ended_by_control_c_like_any_other) {
  open();
  ASSERT_TRUE(window->shows("q quit"));
  window->type("\x03");
  EXPECT_EQ(window->wait(), 128 + SIGINT);
  expect_terminal_left();
}

TEST_F(top, stops_with_control_z_and_comes_back) {
  hold("nightly");
  temporary_folder const folder;
  auto const state = [&](char const* const name) { return content_of(folder / name); };
  // Job control as in a shell. A shell that isn't interactive doesn't restore the terminal by itself.
  auto const script = std::string{"set -m; stty -g >"} + (folder / "before") + "; " + HOLDFAST_CLI +
                      " top --interval 100ms; stty -g >" + (folder / "stopped") + "; fg; stty -g >" +
                      (folder / "after");
  window.emplace(words{"bash", "-c", script}, environment{{"HOLDFAST_URL", server.url()}},
                 terminal_window::size{});
  ASSERT_TRUE(window->shows("nightly"));
  window->forget();
  window->type("\x1a");
  ASSERT_TRUE(window->shows("nightly"));  // again, after fg
  EXPECT_EQ(state("stopped"), state("before"));
  window->type("q");
  EXPECT_EQ(window->wait(), 0);
  EXPECT_EQ(state("after"), state("before"));
}

TEST_F(top, goes_along_with_the_size_of_the_window) {
  hold("nightly");
  open({}, {.columns = 100, .lines = 24});
  ASSERT_TRUE(window->shows("HOLDER"));
  window->forget();
  window->resize({.columns = 30, .lines = 4});
  EXPECT_TRUE(window->shows("too small: 42x5 at"));
  window->forget();
  window->resize({.columns = 120, .lines = 30});
  EXPECT_TRUE(window->shows("nightly"));
  EXPECT_TRUE(window->shows("LABEL"));
}

TEST_F(top, lives_in_windows_of_any_size) {
  hold("nightly");
  open({}, {.columns = 1, .lines = 1});
  for (std::uint16_t const columns : std::initializer_list<std::uint16_t>{1, 2, 39, 40, 41, 63, 64, 300}) {
    for (std::uint16_t const lines : std::initializer_list<std::uint16_t>{1, 2, 4, 5, 6, 60}) {
      window->resize({.columns = columns, .lines = lines});
      static_cast<void>(window->seen());
    }
  }
  window->forget();
  window->resize({.columns = 80, .lines = 24});
  EXPECT_TRUE(window->shows("nightly"));
  window->type("q");
  EXPECT_EQ(window->wait(), 0);
}

TEST_F(top, scrolls) {
  for (int i = 10; i < 40; ++i) hold("job-" + std::to_string(i), i);  // job-39 comes first
  open({}, {.columns = 80, .lines = 13});
  ASSERT_TRUE(redrawn_shows("locks: 30,")) << "the search is through";
  ASSERT_TRUE(redrawn_shows("job-30", "job-29"));
  window->type("\x1bOB");  // down
  EXPECT_TRUE(redrawn_shows("job-29", "job-39"));
  window->type("\x1bOF");  // end
  EXPECT_TRUE(redrawn_shows("job-10"));
  window->type("\x1b[5~");  // page up
  EXPECT_TRUE(redrawn_shows("job-20"));
  window->type("\x1bOH");  // home
  EXPECT_TRUE(redrawn_shows("job-39"));
}

TEST_F(top, explains_its_keys) {
  open();
  window->type("?");
  EXPECT_TRUE(window->shows("scroll by a line"));
  window->type("?q");
  EXPECT_EQ(window->wait(), 0);
}

TEST_F(top, shows_nothing_new_while_it_is_paused) {
  open();
  ASSERT_TRUE(window->shows("q quit"));
  window->type("p");
  ASSERT_TRUE(redrawn_shows("PAUSED")) << window->seen();
  hold("nightly");
  EXPECT_TRUE(
      holdfast::test::always(500ms, [&] { return window->seen().find("nightly") == std::string::npos; }));
  window->type("p");
  EXPECT_TRUE(redrawn_shows("nightly")) << window->seen();
}

TEST_F(top, says_that_the_server_is_gone_and_goes_on_when_it_is_back) {
  hold("nightly");
  open();
  ASSERT_TRUE(window->shows("nightly"));
  server.stop();
  EXPECT_TRUE(redrawn_shows("cannot reach")) << window->seen();
  server.start();
  EXPECT_TRUE(redrawn_shows("q quit", "cannot reach")) << window->seen();
  window->type("q");
  EXPECT_EQ(window->wait(), 0);
}

TEST_F(top, says_what_the_user_has_no_right_to_and_shows_the_rest) {
  hold("nightly");
  server.raw().command({"ACL", "SETUSER", "default", "-pubsub"});
  open();
  ASSERT_TRUE(window->shows("nightly"));
  EXPECT_TRUE(redrawn_shows("not all of Redisson's wire was searched")) << window->seen();
  window->type("q");
  EXPECT_EQ(window->wait(), 0);
}

TEST_F(top, leaves_at_once_when_the_server_is_silent) {
  passes_in_one_round_of(5, [&] {
    open();
    ASSERT_TRUE(window->shows("q quit"));
    server.freeze();
    window->type("q");
    EXPECT_TRUE(window->shows(leave_screen, 1s)) << "long before the server is taken for dead";
    EXPECT_EQ(window->wait(), 0);
    server.thaw();
  });
}

TEST_F(top, ends_with_its_terminal) {
  open();
  ASSERT_TRUE(window->shows("q quit"));
  window->hang_up();
  EXPECT_EQ(window->wait(), 128 + SIGHUP);
}

TEST_F(top, shows_names_that_are_no_text_without_harm) {
  hold("evil\x1b[2J\x07\xff\xc3\xa4");
  open();
  EXPECT_TRUE(window->shows("evil\\x1b[2J\\x07\\xff\xc3\xa4"));
  EXPECT_THAT(window->seen(), Not(HasSubstr("\x07")));
}

TEST_F(top, wants_a_terminal) {
  auto command = holdfast_command({"top"}, {{"HOLDFAST_URL", server.url()}});
  EXPECT_EQ(command.wait(), 64);
  EXPECT_THAT(command.err(), AllOf(HasSubstr("holdfast top --once"), HasSubstr("ls --json")));
}

TEST_F(top, wants_a_terminal_that_can_be_drawn_on) {
  for (std::string const type : {"no-such-terminal", "dumb"}) {
    open({}, {}, {{"TERM", type}});
    EXPECT_EQ(window->wait(), 64);
    EXPECT_THAT(window->seen(), HasSubstr(type));
    EXPECT_EQ(window->modes(), modes);
  }
}

TEST_F(top, prints_one_table_with_once) {
  hold("nightly", 2);
  hold("weekly");
  hold("other:1");
  auto command =
      holdfast_command({"top", "--once", "--interval", "100ms", "*ly"}, {{"HOLDFAST_URL", server.url()}});
  EXPECT_EQ(command.wait(), 0);
  EXPECT_THAT(command.out(),
              testing::MatchesRegex("NAME +KIND +HOLDER +LABEL +HELD +TTL +WAITING +ACQ/s +WIRE\n"
                                    "nightly +exclusive +unknown +- .* 2 +0  plain\n"
                                    "weekly +exclusive +unknown +- .* 0 +0  plain\n"));
}

TEST_F(top, prints_json_with_rates) {
  // Two clients take turns: the lock is held nearly all the time.
  auto const take_turns = [this](std::stop_token const& stop) {
    holdfast::client client{server.url(), {.label = "nightly import"}};
    holdfast::mutex job{client, "job"};
    while (!stop.stop_requested()) {
      auto const lease = job.acquire();
      std::this_thread::sleep_for(20ms);  // the time of a hold
    }
  };
  std::jthread const first_client{take_turns};
  std::jthread const second_client{take_turns};
  nlohmann::json report;
  EXPECT_TRUE(eventually([&] {
    auto command = holdfast_command({"top", "--once", "--json", "--interval", "200ms"},
                                    {{"HOLDFAST_URL", server.url()}});
    EXPECT_EQ(command.wait(), 0);
    report = nlohmann::json::parse(command.out());
    return report["locks"].size() == 1 && report["locks"][0]["acquired_per_s"] > 0.1;
  })) << report.dump();
  EXPECT_EQ(report["server"], server.url());
  EXPECT_EQ(report["locks"][0]["name"], "job");
}

TEST_F(top, goes_on_with_json_when_the_server_comes_back) {
  hold("nightly");
  auto command = holdfast_command({"top", "--json", "--interval", "100ms"}, {{"HOLDFAST_URL", server.url()}});
  ASSERT_TRUE(eventually([&] { return command.out().find("nightly") != std::string::npos; }))
      << command.err();
  server.stop();
  ASSERT_TRUE(eventually([&] { return command.out().find("\"error\":\"cannot reach") != std::string::npos; }))
      << command.err();
  auto const before = command.out().size();
  server.start();
  ASSERT_TRUE(eventually([&] { return command.out().find("nightly", before) != std::string::npos; }))
      << command.err();
  auto const all = command.out();
  EXPECT_EQ(all.find("\"error\""), all.rfind("\"error\"")) << "once";
  command.signal(SIGTERM);
  EXPECT_EQ(command.wait(), 128 + SIGTERM);
}

TEST_F(top, with_json_says_69_when_the_server_is_not_there_at_the_start) {
  server.stop();
  auto command = holdfast_command({"top", "--json"}, {{"HOLDFAST_URL", server.url()}});
  EXPECT_EQ(command.wait(), 69);
}

TEST_F(top, refuses_bad_options) {
  for (auto const& [arguments, message] :
       {std::pair<words, std::string>{{"top", "--interval", "99ms"}, "at least 100ms"},
        {{"top", ""}, "PATTERN is empty"},
        {{"top", "--interval", "soon"}, "--interval: \"soon\" is not a duration"}}) {
    auto command = holdfast_command(arguments, {{"HOLDFAST_URL", server.url()}});
    EXPECT_EQ(command.wait(), 64);
    EXPECT_THAT(command.err(), HasSubstr(message));
  }
}

}  // namespace
