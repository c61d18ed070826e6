// While a slot is on its way from one node of a cluster to another each of its keys is at one of the two. The
// set of readers isn't among the keys that requests about the exclusive lock name, so the server doesn't look
// where it is. By the module's commands and by the scripts.

#include "module/module_test.hpp"
#include "scripts/all.hpp"
#include "support/cluster_servers.hpp"

#include <array>
#include <stdexcept>

namespace holdfast::module_test {
namespace {

std::string const reader = std::string{rival} + ":r";
std::string const next_reader = std::string{waiter} + ":r";
std::string const upgrade_lease = "11111111-1111-4111-8111-111111111111:5:u";

enum class way { command, script };
enum class place { readers_moved, others_moved };

/// One lock in a slot that is on its way.
class torn_lock {
 public:
  torn_lock(test::cluster_servers& nodes, std::uint16_t slot, std::string name)
      : name_{std::move(name)}, to_{nodes.another_master(slot)}, raw_{nodes.master_of(slot).raw()} {}

  /// Before the slot begins to move.
  void prepare(words const& lock, words const& members, words const& queued) {
    auto filled = [this](words start, words const& more) {
      start.insert(start.end(), more.begin(), more.end());
      EXPECT_FALSE(raw_.command(start).is_error());
    };
    filled({"SET", name_}, lock);
    filled({"SET", side_key("token")}, {"1700000000000000"});
    filled({"ZADD", side_key("readers")}, members);
    filled({"ZADD", side_key("queue")}, queued);
  }
  void move(place where) {
    words migrate{"MIGRATE", "127.0.0.1", std::to_string(to_.port()), "", "0", "5000", "KEYS"};
    auto const keys = where == place::readers_moved ? words{side_key("readers")} : named();
    migrate.insert(migrate.end(), keys.begin(), keys.end());
    ASSERT_EQ(raw_.command(migrate).text, "OK");
    if (where == place::readers_moved) return;
    raw_ = to_.raw();
    asks_ = true;
  }
  raw_reply abandon(way how, std::string const& owner) {
    words const begin{"HOLDFAST.EXCLUSIVE.ABANDON"};
    return run(how == way::command ? begin : by_script("exclusive.abandon"),
               {owner, "0", "2000", "UNCOUNTED"});
  }
  raw_reply release_readers_by_force() {
    return run(by_script("inspect.force"), {"holdfast_readers", "2000", "UNCOUNTED"});
  }
  raw_reply command(words const& call) {
    if (asks_) raw_.command({"ASKING"});
    return raw_.command(call);
  }
  [[nodiscard]] std::string const& name() const { return name_; }

 private:
  static words by_script(std::string_view name) {
    for (auto const* const script : holdfast::scripts::all) {
      if (script->name == name) return {"EVAL", std::string{script->text}};
    }
    throw std::runtime_error{"no script " + std::string{name}};
  }
  raw_reply run(words call, words const& arguments) {
    call.emplace_back("3");
    for (auto const& key : named()) call.push_back(key);
    call.insert(call.end(), arguments.begin(), arguments.end());
    return command(call);
  }
  [[nodiscard]] std::string side_key(std::string const& of) const { return name_ + "::holdfast_" + of; }
  [[nodiscard]] words named() const { return {name_, side_key("token"), side_key("queue")}; }

  std::string name_;
  test::redis_server& to_;
  raw_redis raw_;
  bool asks_ = false;
};

struct torn {
  way how;
  place where;
};
constexpr std::array ways_to_tear{
    torn{way::command, place::readers_moved}, torn{way::command, place::others_moved},
    torn{way::script, place::readers_moved}, torn{way::script, place::others_moved}};

class cluster_with_module : public testing::Test {
 protected:
  /// One for each way to tear it, all in one slot.
  std::vector<torn_lock> torn_locks(std::string const& name, words const& lock, words const& members,
                                    words const& queued) {
    std::vector<torn_lock> all;
    all.reserve(ways_to_tear.size());
    for (std::size_t i = 0; i != ways_to_tear.size(); ++i) {
      all.emplace_back(nodes_, slot_, "{orders}" + name + std::to_string(i));
      all.back().prepare(lock, members, queued);
    }
    return all;
  }

  std::uint16_t const slot_ = test::cluster_servers::slot_of("orders");
  test::cluster_servers nodes_{{.masters = 3, .replicas_each = 0, .args = arguments()}};
};

/// In one test, since a cluster takes seconds to start.
TEST_F(cluster_with_module, does_not_take_readers_for_gone_that_may_be_at_another_node) {
  words const by_readers{"holdfast_readers", "PX", "60000"};
  words const a_reader{"4102444800000", reader};
  auto with_waiters = torn_locks("waiters", by_readers, a_reader, {"1", caller, "2", next_reader});
  auto forced = torn_locks("forced", by_readers, a_reader, {"1", caller});
  auto upgraded = torn_locks("upgraded", {caller, "PX", "60000"},
                             {"4102444800000", upgrade_lease, "4102444800000", std::string{caller} + ":w"},
                             {"1", waiter});
  nodes_.begin_migration(slot_, nodes_.master_of(slot_), nodes_.another_master(slot_));
  for (std::size_t i = 0; i != ways_to_tear.size(); ++i) {
    SCOPED_TRACE(i);
    auto const [how, where] = ways_to_tear[i];
    for (auto* const lock : {&with_waiters[i], &forced[i], &upgraded[i]}) lock->move(where);
    (void)with_waiters[i].abandon(how, caller);
    EXPECT_THAT(with_waiters[i].command({"PTTL", with_waiters[i].name()}).integer, testing::Gt(30'000))
        << "no shorter for a reader that was let in, while others have it for longer";
    EXPECT_TRUE(forced[i].release_readers_by_force().is_error());
    EXPECT_EQ(forced[i].command({"GET", forced[i].name()}).text, by_readers[0]);
    EXPECT_TRUE(upgraded[i].abandon(how, caller).is_error());
    EXPECT_EQ(upgraded[i].command({"GET", upgraded[i].name()}).text, caller)
        << "not free while its client may have the upgrade lease that it was";
  }
}

}  // namespace
}  // namespace holdfast::module_test
