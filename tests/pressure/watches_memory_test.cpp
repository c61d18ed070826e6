/// Any one allocation of a watch fails: its watcher is asked again, and tells its news, a moment later.
#include "engine/watches.hpp"

#include "allocations.hpp"

#include <memory>
#include <new>
#include <string>
#include <utility>

#include "resp/command.hpp"
#include "resp/make_reply.hpp"
#include "unit/engine_parts.hpp"

namespace holdfast::engine {
namespace {

using namespace std::chrono_literals;

/// Looks once an hour, and has news after its first look.
class seldom_watcher final : public watcher {
 public:
  void ask(lock_backend& backend, callback<void()> answered) override {
    net::request request{.done = [answered = std::move(answered)](net::response&&) mutable { answered(); }};
    resp::append_command(request.bytes, {"PING"});
    backend.send(std::move(request));
  }
  time_point on_answer(time_point now) override {
    looked_ = true;
    return now + 1h;
  }
  [[nodiscard]] time_point counts_until() const noexcept override { return time_point::max(); }
  void on_outdated(time_point /*now*/) override {}
  [[nodiscard]] bool has_news() const noexcept override { return looked_ && !told; }
  void deliver() override { told = true; }

  bool told = false;

 private:
  bool looked_ = false;
};

/// The parts of a client, new for each allocation that fails: they keep memory for reuse.
class a_watch final : public engine_parts {
 public:
  a_watch() {
    loop_.simulate([] {});  // no thread but that of the test
  }
  ~a_watch() override {
    reactor::lock const hold{loop_.mutex()};
    watches_.end_all();
  }
  void TestBody() override {}

  /// False: there was no memory to begin.
  [[nodiscard]] bool begin() {
    try {
      watches_.begin(watcher_, "orders");
      return true;
    } catch (std::bad_alloc const&) {
      return false;
    }
  }
  void answer() {
    reactor::lock hold{loop_.mutex()};
    if (!backend_.idle()) backend_.reply(resp::make_integer(1));
    loop_.leave(hold);
  }
  void let_pass(std::chrono::nanoseconds time) { pass(time); }
  [[nodiscard]] bool told() const noexcept { return watcher_->told; }

 private:
  std::shared_ptr<seldom_watcher> const watcher_ = std::make_shared<seldom_watcher>();
  call_gate gate_{loop_, client_};
  watches watches_{loop_, backend_, client_, gate_};
};

TEST(memory_of_a_watch, may_be_wanting_and_news_come_all_the_same) {
  auto reached = true;
  for (auto n = 0; reached && !testing::Test::HasFailure(); ++n) {
    a_watch tested;
    auto begun = false;
    {
      test::nth_allocation const failing_allocation{n, [] { throw std::bad_alloc{}; }};
      begun = tested.begin();
      tested.answer();
      reached = failing_allocation.reached();
    }
    for (auto i = 0; i != 10 && begun; ++i) {
      tested.let_pass(100ms);
      tested.answer();
    }
    EXPECT_EQ(tested.told(), begun) << "allocation " << n;
  }
}

}  // namespace
}  // namespace holdfast::engine
