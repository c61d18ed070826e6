/// Everything at once: processes compete through a bad network while scripts, connections, processes and the
/// server come and go; the recorded history is judged.
#include "fault.hpp"
#include "support/process.hpp"

#include <iostream>
#include <random>

namespace holdfast::test {
namespace {

class traffic : public fault {
 protected:
  traffic() : fault{{.persistent = true}} {}
};

TEST_F(traffic, never_overlaps_under_random_faults) {
  auto const seed = std::random_device{}();
  std::cout << "seed " << seed << '\n';
  RecordProperty("seed", std::to_string(seed));
  std::mt19937 random{seed};
  auto const one_in = [](std::mt19937& r, int n) { return std::uniform_int_distribution{1, n}(r) == 1; };

  flaky_proxy proxy{server_.socket_path()};
  proxy.decide([&one_in, own = std::mt19937{seed + 1}](request const&) mutable {
    if (one_in(own, 150)) return fate::cut_before();
    if (one_in(own, 150)) return fate::cut_after();
    if (one_in(own, 50)) return fate::delay_reply(milliseconds{own() % 100});
    if (one_in(own, 800)) return fate::swallow_reply();
    if (one_in(own, 200)) return fate::hold_back(milliseconds{own() % 1000});
    return fate::pass();
  });

  auto const file = (server_.folder() / "history").string();
  auto const one_more = [&] {
    auto const* how = one_in(random, 3) ? "mutex_poll" : "mutex_inbox";
    return worker::loop(proxy.url(), how, "orders", 700ms, 10min, 500us, file);
  };
  std::vector<std::unique_ptr<worker>> workers;
  for (auto i = 0; i < 5; ++i) workers.push_back(std::make_unique<worker>(one_more()));
  auto const turns = [&] { return read_history(file).size(); };
  ASSERT_TRUE(eventually([&] { return turns() > 10; }));

  for (auto round = 0; round < 14; ++round) {
    auto& victim = workers[random() % workers.size()];
    auto frozen = false;
    switch (random() % 7) {
      case 0:
        victim->kill9();
        victim = std::make_unique<worker>(one_more());
        break;
      case 1:
        victim->freeze();
        frozen = true;
        break;
      case 2:
        raw_.command({"SCRIPT", "FLUSH"});
        break;
      case 3:
        raw_.kill_clients(one_in(random, 2) ? "normal" : "pubsub");
        break;
      case 4:
        server_.kill9();
        server_.start();
        break;
      case 5:
        proxy.swallow_messages(round % 2 == 0);
        break;
      default:
        proxy.cut_all();
    }
    auto const before = turns();
    EXPECT_TRUE(eventually([&] { return turns() > before + 2; }))
        << "nobody gets the lock any more, round " << round;
    if (frozen) victim->thaw();
  }
  for (auto const& one : workers) EXPECT_TRUE(is_alive(one->pid())) << "a worker has ended by itself";
  workers.clear();
  EXPECT_EQ(judge(read_history(file)), "");
  EXPECT_TRUE(eventually([&] { return !raw_.exists("orders"); }));
}

}  // namespace
}  // namespace holdfast::test
