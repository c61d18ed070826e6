#include "engine/watches.hpp"

#include <memory>
#include <utility>

#include "resp/command.hpp"
#include "resp/make_reply.hpp"
#include "unit/engine_parts.hpp"

namespace holdfast::engine {
namespace {

using namespace std::chrono_literals;

/// Its answers count for a second, and it looks twice in that time.
class frequent_watcher final : public watcher {
 public:
  void ask(lock_backend& backend, callback<void()> answered) override {
    net::request request{.done = [answered = std::move(answered)](net::response&&) mutable { answered(); }};
    resp::append_command(request.bytes, {"PING"});
    backend.send(std::move(request));
  }
  time_point on_answer(time_point now) override {
    until_ = now + 1s;
    return now + 500ms;
  }
  [[nodiscard]] time_point counts_until() const noexcept override { return until_; }
  void on_outdated(time_point /*now*/) override { outdated = true; }
  [[nodiscard]] bool has_news() const noexcept override { return false; }
  void deliver() override {}

  bool outdated = false;

 private:
  time_point until_{};
};

class a_watch : public engine_parts {
 protected:
  a_watch() {
    loop_.simulate([] {});  // no thread but that of the test
    watches_.begin(watcher_, "orders");
    answer();
    pass(500ms);
  }
  void answer() {
    reactor::lock hold{loop_.mutex()};
    backend_.reply(resp::make_integer(1));
    loop_.leave(hold);
  }

  std::shared_ptr<frequent_watcher> const watcher_ = std::make_shared<frequent_watcher>();
  call_gate gate_{loop_, client_};
  watches watches_{loop_, backend_, client_, gate_};
};

TEST_F(a_watch, says_that_an_answer_is_out_of_date_when_no_other_comes) {
  pass(499ms);
  EXPECT_FALSE(watcher_->outdated);
  pass(1ms);
  EXPECT_TRUE(watcher_->outdated);
  watches_.end(*watcher_);
}

TEST_F(a_watch, says_nothing_more_when_it_has_ended_while_it_asks) {
  watches_.end(*watcher_);
  pass(500ms);
  EXPECT_FALSE(watcher_->outdated);
  answer();
  EXPECT_TRUE(backend_.idle()) << "it doesn't ask again";
}

}  // namespace
}  // namespace holdfast::engine
