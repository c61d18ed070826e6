/// All faults at once: processes compete over a bad network while scripts, connections, processes and the
/// server come and go. The test judges the recorded history.
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
  proxy.decide([&one_in, proxy_random = std::mt19937{seed + 1}](request const&) mutable {
    if (one_in(proxy_random, 150)) return fate::cut_before();
    if (one_in(proxy_random, 150)) return fate::cut_after();
    if (one_in(proxy_random, 50)) return fate::delay_reply(milliseconds{proxy_random() % 100});
    if (one_in(proxy_random, 800)) return fate::swallow_reply();
    if (one_in(proxy_random, 200)) return fate::hold_back(milliseconds{proxy_random() % 1000});
    return fate::pass();
  });

  auto const file = (server_.folder() / "history").string();
  auto const new_worker = [&] {
    auto const* subject = one_in(random, 3) ? "mutex_poll" : "mutex_inbox";
    return worker::loop(proxy.url(), subject, "orders", 700ms, 10min, 500us, file);
  };
  std::vector<std::unique_ptr<worker>> workers;
  for (auto i = 0; i < 5; ++i) workers.push_back(std::make_unique<worker>(new_worker()));
  auto const history_size = [&] { return read_history(file).size(); };
  ASSERT_TRUE(eventually([&] { return history_size() > 10; }));

  for (auto round = 0; round < 14; ++round) {
    auto& victim = workers[random() % workers.size()];
    auto frozen = false;
    switch (random() % 7) {
      case 0:
        victim->kill9();
        victim = std::make_unique<worker>(new_worker());
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
    auto const before = history_size();
    EXPECT_TRUE(eventually([&] { return history_size() > before + 2; }))
        << "nobody gets the lock any more, round " << round;
    if (frozen) victim->thaw();
  }
  for (auto const& each : workers) EXPECT_TRUE(is_alive(each->pid())) << "a worker has ended by itself";
  workers.clear();
  EXPECT_EQ(judge(read_history(file)), "");
  EXPECT_TRUE(eventually([&] { return !raw_.exists("orders"); }));
}

}  // namespace
}  // namespace holdfast::test
