#include "engine/quorum/quorum.hpp"

#include <array>
#include <functional>
#include <new>
#include <optional>

#include "script/call.hpp"
#include "scripts/quorum.hpp"
#include "unit/engine_parts.hpp"
#include "wire/plain/quorum.hpp"

namespace holdfast::engine {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

/// Records the requests, by the names of their scripts, and answers when the test says so.
class scripted_master final : public topology::deployment {
 public:
  void send(net::request&& request) override {
    if (request.script == nullptr) {
      on_probe();
      probe_ = std::move(request);
      return;
    }
    if (shut_reason_) {
      request.done({.failure = shut_reason_, .sent_at = boot_clock::now()});
      return;
    }
    sent_.emplace_back(static_cast<script const*>(request.script)->name);
    unanswered_.push_back(std::move(request));
  }
  [[nodiscard]] bool idle() const noexcept override { return unanswered_.empty(); }
  [[nodiscard]] bool up() const noexcept override { return true; }
  [[nodiscard]] std::shared_ptr<error const> down_because() const noexcept override { return nullptr; }
  void shut(std::shared_ptr<error const> const& reason) noexcept override { shut_reason_ = reason; }
  void listen(std::string const&, topology::channel_of, net::subscriber::listener&) override {}
  void forget(std::string_view) noexcept override {}

  /// Answers the oldest request that has no answer yet.
  void answer(resp::reply reply, bool resent = false) {
    auto asked = std::move(unanswered_.at(0));
    unanswered_.pop_front();
    if (asked.done)
      asked.done(
          {.reply = std::move(reply), .sent_at = boot_clock::now() - takes, .sent = true, .resent = resent});
  }
  void answer(std::int64_t number) { answer(resp::make_integer(number)); }
  void refuse(std::string words, bool resent = false) { answer(resp::make_error(std::move(words)), resent); }
  void grant(std::int64_t token = 100) {
    answer(resp::make_array({resp::make_integer(token), resp::make_integer(65)}));
  }
  void deny(std::string holder) {
    std::vector<resp::reply> busy(6, resp::make_integer(1000));
    busy[4] = resp::make_text(std::move(holder));
    answer(resp::make_array(std::move(busy)));
  }

  void break_connection() {
    auto asked = std::move(unanswered_.at(0));
    unanswered_.pop_front();
    asked.done({.failure = std::make_shared<error const>(errc::unreachable, "it broke"),
                .sent_at = boot_clock::now(),
                .sent = true});
  }

  /// Says who it is, when it was asked.
  void introduce() {
    probe_.done({.reply = resp::make_text("run_id:1"), .sent_at = boot_clock::now(), .sent = true});
  }
  std::function<void()> on_probe = [] {};  ///< it is asked that
  std::chrono::nanoseconds takes{};        ///< for an answer

  /// What was sent since the last call.
  [[nodiscard]] std::vector<std::string> take_sent() { return std::exchange(sent_, {}); }

 private:
  std::vector<std::string> sent_;
  std::deque<net::request> unanswered_;
  net::request probe_;
  std::shared_ptr<error const> shut_reason_;
};

class a_quorum : public engine_parts {
 protected:
  a_quorum() : engine_parts{"redis+quorum://a,b,c"} {}

  void ask() {
    quorum_.acquire(recipes::plain::quorum, lease_.name, {.owner = lease_.owner, .ttl = 30s},
                    [this](answer<verdict>&& result) { acquired_.push_back(std::move(result)); }, {});
    for (auto* const master : masters_) EXPECT_THAT(master->take_sent(), ElementsAre("quorum.acquire"));
  }
  /// All masters have voted for the lease.
  void lock() {
    ask();
    for (auto* const master : masters_) master->grant();
    ASSERT_EQ(acquired_.size(), 1u);
    ASSERT_NE(acquired_.front().outcome(), nullptr);
  }
  void release() {
    quorum_.release(recipes::plain::quorum, lease_, {},
                    [this](answer<ownership>&& result) { released_.push_back(std::move(result)); },
                    {.while_down = net::retry_policy::endless, .give_up = boot_clock::now() + 30s});
    for (auto* const master : masters_) EXPECT_THAT(master->take_sent(), ElementsAre("quorum.release"));
  }
  [[nodiscard]] bool is_released() const {
    return released_.size() == 1 && released_.front().outcome() != nullptr &&
           *released_.front().outcome() == ownership::held;
  }

  owned const lease_{.name = "orders", .owner = "u:1"};
  std::array<scripted_master*, 3> masters_{};
  std::size_t made_ = 0;
  net::settings const settings_{
      .server = {}, .client_name = {}, .connect_timeout = 1s, .reply_timeout = 1s, .limits = {}};
  std::vector<net::endpoint> const endpoints_{3};
  quorum quorum_{loop_, endpoints_, settings_, stats_, {}, backend_.no_memory, [this](auto&&...) {
                   auto master = std::make_unique<scripted_master>();
                   masters_.at(made_++) = master.get();
                   return master;
                 }};
  std::vector<answer<verdict>> acquired_;
  std::vector<answer<ownership>> released_;
};

TEST_F(a_quorum, waits_out_that_a_majority_refuses_a_release_for_a_time) {
  lock();
  release();
  masters_[0]->answer(1);
  masters_[1]->refuse("BUSY a script");
  masters_[2]->refuse("LOADING the dataset");
  EXPECT_THAT(released_, IsEmpty());
  pass(25ms);
  EXPECT_THAT(masters_[0]->take_sent(), IsEmpty());
  EXPECT_THAT(masters_[1]->take_sent(), ElementsAre("quorum.release"));
  EXPECT_THAT(masters_[2]->take_sent(), ElementsAre("quorum.release"));
  masters_[2]->answer(1);
  EXPECT_TRUE(is_released());
}

TEST_F(a_quorum, tells_that_a_release_is_refused_and_sends_it_again) {
  lock();
  release();
  masters_[0]->answer(1);
  masters_[1]->refuse("NOREPLICAS no");
  masters_[2]->refuse("NOREPLICAS no");
  ASSERT_EQ(released_.size(), 1u);
  EXPECT_NE(released_.front().failure(), nullptr);
  pass(500ms);
  EXPECT_THAT(masters_[1]->take_sent(), ElementsAre("quorum.release"));
  EXPECT_THAT(masters_[2]->take_sent(), ElementsAre("quorum.release"));
}

TEST_F(a_quorum, sends_a_release_again_to_a_minority_that_refuses) {
  lock();
  release();
  masters_[0]->answer(1);
  masters_[1]->answer(1);
  EXPECT_TRUE(is_released());
  masters_[2]->refuse("BUSY a script");
  pass(25ms);
  EXPECT_THAT(masters_[2]->take_sent(), ElementsAre("quorum.release"));
}

TEST_F(a_quorum, sends_no_release_again_that_can_release_nothing_any_more) {
  lock();
  release();
  clock_.advance(30s);
  for (auto* const master : masters_) master->refuse("BUSY a script");
  pass(25ms);
  EXPECT_THAT(masters_[1]->take_sent(), IsEmpty());
}

TEST_F(a_quorum, was_released_by_copies_before_the_masters_were_busy) {
  lock();
  release();
  masters_[0]->answer(1);
  masters_[1]->refuse("BUSY a script", true);
  masters_[2]->refuse("BUSY a script", true);
  pass(25ms);
  masters_[1]->answer(0);
  EXPECT_TRUE(is_released());
}

TEST_F(a_quorum, answers_a_refused_release_when_it_is_shut) {
  lock();
  release();
  for (auto* const master : masters_) master->refuse("BUSY a script");
  EXPECT_THAT(released_, IsEmpty());
  quorum_.shut(backend_.no_memory);
  ASSERT_EQ(released_.size(), 1u);
  EXPECT_NE(released_.front().failure(), nullptr);
}

TEST_F(a_quorum, sends_again_what_takes_an_abandoned_request_back) {
  ask();
  quorum_.abandon(recipes::plain::quorum, lease_, {}, {},
                  {.while_down = net::retry_policy::endless, .give_up = boot_clock::now() + 30s});
  EXPECT_THAT(masters_[1]->take_sent(), ElementsAre("quorum.abandon"));
  masters_[1]->deny("v:1");
  masters_[1]->refuse("NOREPLICAS no");
  pass(500ms);
  EXPECT_THAT(masters_[1]->take_sent(), ElementsAre("quorum.abandon"));
}

TEST_F(a_quorum, gives_back_a_vote_that_a_copy_of_a_refused_request_may_have_got) {
  ask();
  masters_[0]->refuse("BUSY a script", true);
  masters_[1]->deny("v:1");
  masters_[2]->deny("v:1");
  EXPECT_THAT(masters_[0]->take_sent(), ElementsAre("quorum.yield"));
  masters_[0]->refuse("BUSY a script");
  pass(25ms);
  EXPECT_THAT(masters_[0]->take_sent(), ElementsAre("quorum.yield"));
}

TEST_F(a_quorum, gives_back_no_vote_that_was_refused) {
  ask();
  masters_[0]->refuse("BUSY a script");
  masters_[1]->deny("v:1");
  masters_[2]->deny("v:1");
  EXPECT_THAT(masters_[0]->take_sent(), IsEmpty());
}

/// What a master that knows nothing says, or one that refuses, is no reason to forget what another one knows.
TEST_F(a_quorum, takes_of_the_answers_to_a_command_the_one_that_tells_most) {
  resp::reply const by_weight[]{resp::make_error("NOPERM no"), resp::reply{}, resp::make_array({}),
                                resp::make_integer(7)};
  auto const kind_of_answer = [this](std::array<resp::reply, 3> replies) {
    std::optional<resp::kind> result;
    quorum_.run(scripts::quorum::leave{.queue = {"queue"}, .owner = "u:1"}(),
                [&result](net::response&& response) { result = response.reply.type; }, {});
    for (std::size_t i = 0; i != replies.size(); ++i) masters_.at(i)->answer(std::move(replies.at(i)));
    return result;
  };
  for (std::size_t more = 1; more != std::size(by_weight); ++more) {
    for (std::size_t less = 0; less != more; ++less) {
      auto const& telling = by_weight[more];
      auto const& other = by_weight[less];
      EXPECT_EQ(kind_of_answer({telling, other, other}), telling.type) << more << " before " << less;
      EXPECT_EQ(kind_of_answer({other, other, telling}), telling.type) << more << " behind " << less;
    }
  }
}

TEST_F(a_quorum, waits_for_a_silent_master_no_longer_than_the_usual_answers_take) {
  lock();
  auto answered = false;
  quorum_.run(scripts::quorum::leave{.queue = {"queue"}, .owner = "u:1"}(),
              [&answered](net::response&& response) { answered = !response.failure; }, {});
  masters_[0]->answer(1);
  masters_[1]->answer(1);
  EXPECT_FALSE(answered);
  pass(50ms);
  pass(5ms);
  EXPECT_TRUE(answered);
}

TEST_F(a_quorum, says_how_many_masters_are_missing) {
  std::string words;
  quorum_.run(
      scripts::quorum::leave{.queue = {"queue"}, .owner = "u:1"}(),
      [&words](net::response&& response) { words = response.failure ? response.failure->what() : ""; }, {});
  masters_[0]->answer(1);
  pass(500ms);
  pass(5ms);
  EXPECT_THAT(words, testing::HasSubstr("1 of 3 servers can be asked, and 2 are needed"));
  EXPECT_THAT(words, testing::HasSubstr("does not answer")) << "and why";
}

TEST_F(a_quorum, gives_no_vote_back_that_its_owner_has_asked_for_again) {
  ask();
  masters_[0]->refuse("BUSY a script", true);
  masters_[1]->deny("v:1");
  masters_[2]->deny("v:1");
  EXPECT_THAT(masters_[0]->take_sent(), ElementsAre("quorum.yield"));
  masters_[0]->refuse("BUSY a script");
  ask();
  pass(25ms);
  EXPECT_THAT(masters_[0]->take_sent(), IsEmpty()) << "it would give back the vote that counts now";
}

TEST_F(a_quorum, gives_its_votes_back_when_the_one_that_it_waited_for_is_another_ones) {
  ask();
  masters_[0]->grant(100);
  masters_[1]->grant(1000);
  EXPECT_THAT(masters_[0]->take_sent(), ElementsAre("quorum.raise"));
  masters_[0]->answer(0);
  EXPECT_THAT(masters_[1]->take_sent(), IsEmpty()) << "the third master may vote for it, too";
  masters_[2]->deny("v:1");
  EXPECT_THAT(masters_[1]->take_sent(), ElementsAre("quorum.yield"));
}

TEST_F(a_quorum, raises_the_counter_of_a_master_whose_vote_comes_late) {
  ask();
  masters_[0]->grant(1000);
  masters_[1]->grant(1000);
  ASSERT_EQ(acquired_.size(), 1u);
  EXPECT_THAT(masters_[2]->take_sent(), IsEmpty());
  masters_[2]->grant(100);
  EXPECT_THAT(masters_[2]->take_sent(), ElementsAre("quorum.raise"))
      << "so that the next lease finds one level";
}

TEST_F(a_quorum, is_idle_while_it_waits_for_masters_that_are_away) {
  ask();
  masters_[0]->deny("v:1");
  EXPECT_TRUE(acquired_.empty());
  pass(500ms);
  pass(5ms);
  EXPECT_TRUE(quorum_.idle());
}

TEST_F(a_quorum, asks_a_silent_master_whether_it_is_there_also_after_there_was_no_memory_for_that) {
  ask();
  masters_[2]->introduce();
  auto asked = 0;
  masters_[2]->on_probe = [&asked] {
    if (++asked == 1) throw std::bad_alloc{};
  };
  masters_[0]->grant();
  masters_[1]->grant();
  pass(500ms);
  pass(5ms);
  EXPECT_EQ(asked, 1);
  pass(20ms);
  EXPECT_EQ(asked, 2);
}

TEST_F(a_quorum, waits_for_no_answer_of_a_master_whose_connection_broke_when_it_was_overdue) {
  ask();
  masters_[1]->introduce();
  masters_[0]->grant();
  masters_[1]->grant();
  masters_[2]->takes = 40ms;  // so it is given more time from here on
  masters_[2]->grant();
  for (auto* const master : masters_) (void)master->take_sent();
  release();
  masters_[0]->answer(1);
  masters_[1]->on_probe = [this] { masters_[1]->break_connection(); };
  pass(50ms);
  pass(5ms);
  EXPECT_THAT(released_, IsEmpty());
  masters_[2]->answer(0);
  EXPECT_EQ(released_.size(), 1u) << "nothing is left to wait for";
}

TEST_F(a_quorum, keeps_a_released_vote_for_a_waiter_however_long_that_one_has_waited) {
  auto const& recipe = recipes::plain::quorum;
  EXPECT_EQ(recipe.release(lease_, {.starvation = 500ms}).bytes,
            recipe.release(lease_, {.starvation = {}}).bytes);
  EXPECT_EQ(recipe.abandon(lease_, {.starvation = 500ms}).bytes,
            recipe.abandon(lease_, {.starvation = {}}).bytes);
}

}  // namespace
}  // namespace holdfast::engine
