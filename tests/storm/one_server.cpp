/// One server: with its data on disk or without, behind a faulty network, with the module, in a network
/// namespace that drops packets.
#include "arena.hpp"
#include "network_faults.hpp"

#include "support/flaky_proxy.hpp"
#include "support/redis_server.hpp"

#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

namespace holdfast::storm {
namespace {

using namespace std::chrono_literals;
using test::fate;
using test::redis_server;
using test::server_options;

server_options with_commands_for_tests(server_options options) {
  for (auto const* const name : {"--enable-debug-command", "--enable-module-command"}) {
    options.args.emplace_back(name);
    options.args.emplace_back("local");
  }
  return options;
}

void must_be_fine(test::raw_reply const& reply) {
  if (reply.is_error() || reply.is_nil()) throw std::runtime_error{reply.text};
}

/// Not one that is frozen: a command to it would wait.
void must_answer(redis_server const& server) {
  if (!server.runs()) throw std::runtime_error{"the server doesn't answer now"};
}

/// A user that may do nothing with the names of locks writes what it likes into the channels of clients.
fault forgery_at(redis_server& server) {
  return {"forged messages", "commands", [&server](dice& by) {
            must_answer(server);
            auto raw = server.raw();
            must_be_fine(raw.command({"ACL", "SETUSER", "forger", "on", "nopass", "resetkeys",
                                      "resetchannels", "&holdfast_inbox:*", "-@all", "+publish", "+auth"}));
            auto const records = raw.keys("holdfast_client:*");
            must_be_fine(raw.command({"AUTH", "forger", "any"}));
            static std::vector<std::string> const texts{
                "woken", "", "granted", "storm:mutex:0", "0", "hint", "granted storm:fair:0 1 2 3 4 5"};
            for (auto const& record : records) {
              auto const uuid = record.substr(record.find(':') + 1);
              (void)raw.command({"PUBLISH", "holdfast_inbox:" + uuid, by.of(texts)});
              auto const refused =
                  raw.command({"PUBLISH", "{storm:fair:0}:holdfast_inbox:" + uuid, by.of(texts)});
              if (!refused.is_error()) throw std::runtime_error{"the forger has rights"};
            }
            return ending{};
          }};
}

/// What can happen to any server that has its data alone, and loses none of it.
std::vector<fault> faults_without_loss(redis_server& server) {
  auto const at_once = [&server](std::vector<std::string> const& words) {
    return [&server, words](dice&) {
      must_answer(server);
      must_be_fine(server.try_command(words));
      return ending{};
    };
  };
  return {
      {"server frozen", "server",
       [&server](dice& by) {
         server.freeze();
         return ending{by.one_in(2) ? by.between(100ms, 1'500ms) : by.between(2'000ms, 6'000ms),
                       [&server] { server.thaw(); }};
       }},
      {"DEBUG SLEEP", "server",
       [&server](dice& by) {
         must_be_fine(server.try_command({"DEBUG", "SLEEP", by.one_in(2) ? "0.4" : "1.7"}));
         return ending{};
       }},
      {"maxmemory reached", "server",
       [&server](dice& by) {
         must_be_fine(server.try_command({"CONFIG", "SET", "maxmemory", "1"}));
         return ending{by.between(200ms, 3'000ms),
                       [&server] { (void)server.try_command({"CONFIG", "SET", "maxmemory", "0"}); }};
       }},
      {"SCRIPT FLUSH", "commands", at_once({"SCRIPT", "FLUSH"})},
      forgery_at(server),
      {"CLIENT KILL", "commands",
       [&server](dice&) {
         must_answer(server);
         // Both: the end of a connection for messages alone, of a client that is frozen, isn't told by
         // anybody.
         server.raw().kill_clients("normal");
         server.raw().kill_clients("pubsub");
         return ending{};
       }},
  };
}

/// The server goes, and comes back with what is on its disk.
fault restart_of(redis_server& server, std::string name) {
  return {std::move(name), "server", [&server](dice& by) {
            if (by.one_in(3))
              server.stop();
            else
              server.kill9();
            return ending{by.between(100ms, 4'000ms), [&server] { server.start(); }};
          }};
}

/// It comes back with what it had some seconds ago.
fault older_snapshot_of(redis_server& server) {
  return {"back with an older snapshot", "server", [&server](dice& by) {
            must_answer(server);
            must_be_fine(server.try_command({"SAVE"}));
            return ending{by.between(200ms, 4'000ms), [&server] {
                            server.kill9();
                            server.start();
                            std::filesystem::remove(server.folder() / "dump.rdb");
                          }};
          }};
}

class one_server : public deployment {
 public:
  explicit one_server(server_options options)
      : server_{redis_server::make(with_commands_for_tests(std::move(options)))} {}

  [[nodiscard]] std::string url(int /*worker*/) const override { return server_->url(); }
  std::vector<redis_server*> servers() override { return {server_.get()}; }
  void heal() override {
    if (!server_->runs()) server_->start();
    (void)server_->try_command({"CONFIG", "SET", "maxmemory", "0"});
  }

 protected:
  std::unique_ptr<redis_server> server_;
};

class behind_a_proxy final : public one_server {
 public:
  explicit behind_a_proxy(bool persistent)
      : one_server{{.persistent = persistent}}, persistent_{persistent} {}

  [[nodiscard]] std::string url(int worker) const override {
    return worker % 2 == 1 ? proxy_.url() : server_->url();
  }

  std::vector<fault> faults() override {
    auto all = faults_without_loss(*server_);
    all.push_back(
        restart_of(*server_, persistent_ ? "server restarted with its data" : "server restarted empty"));
    if (!persistent_) all.push_back(older_snapshot_of(*server_));
    add_network_to(all);
    return all;
  }

  void look() override { proxy_.forget(); }

 private:
  void add_network_to(std::vector<fault>& all) {
    auto const for_a_while = [](char const* name, std::function<void()> begin, std::function<void()> end) {
      return fault{name, "network", [begin = std::move(begin), end = std::move(end)](dice& by) {
                     begin();
                     return ending{by.between(1'000ms, 6'000ms), end};
                   }};
    };
    auto const thaw = [this] { proxy_.thaw(); };
    all.push_back(for_a_while("partition", [this] { proxy_.freeze(); }, thaw));
    all.push_back(for_a_while("partition, requests lost", [this] { proxy_.freeze_requests(); }, thaw));
    all.push_back(for_a_while("partition, replies lost", [this] { proxy_.freeze_replies(); }, thaw));
    all.push_back(for_a_while(
        "connections cut, bytes delivered late", [this] { proxy_.hold_back_all(); },
        [this] { proxy_.deliver(); }));
    all.push_back(for_a_while(
        "messages lost", [this] { proxy_.swallow_messages(true); },
        [this] { proxy_.swallow_messages(false); }));
    all.push_back(for_a_while(
        "connections refused",
        [this] {
          proxy_.refuse_connections(true);
          proxy_.cut_all();
        },
        [this] { proxy_.refuse_connections(false); }));
    all.push_back({"connections cut", "network", [this](dice&) {
                     proxy_.cut_all();
                     return ending{};
                   }});
    all.push_back({"delays, losses and late bytes", "network", [this](dice& by) {
                     proxy_.decide([random = dice{by.seed()}](test::request const&) mutable {
                       return random_fate(random);
                     });
                     return ending{by.between(2'000ms, 6'000ms), [this] { proxy_.decide({}); }};
                   }});
  }

  static fate random_fate(dice& by) {
    switch (by.between(1, 60)) {
      case 1:
        return fate::cut_before();
      case 2:
        return fate::cut_after();
      case 3:
        return fate::swallow();
      case 4:
        return fate::swallow_reply();
      case 5:
        return fate::hold_back(by.between(1'000ms, 6'000ms));
      case 6:
      case 7:
      case 8:
        return fate::delay_reply(by.between(1ms, 900ms));
      default:
        return fate::pass();
    }
  }

  bool persistent_;
  test::flaky_proxy proxy_{server_->socket_path()};
};

/// Half of the clients speak to the module; it goes, and comes back.
class with_module final : public one_server {
 public:
  with_module() : one_server{{.persistent = true, .args = {"--loadmodule", HOLDFAST_MODULE_FILE}}} {}

  [[nodiscard]] std::string url(int worker) const override {
    return server_->url() + (worker % 2 == 1 ? "?cas=lua" : "");
  }
  std::vector<fault> faults() override {
    auto all = faults_without_loss(*server_);
    all.push_back(restart_of(*server_, "server restarted with its data"));
    all.push_back({"module unloaded", "module", [this](dice& by) {
                     must_answer(*server_);
                     must_be_fine(server_->try_command({"MODULE", "UNLOAD", "holdfast"}));
                     return ending{by.between(500ms, 5'000ms), [this] { load(); }};
                   }});
    return all;
  }

 private:
  void load() {
    must_answer(*server_);
    (void)server_->try_command({"MODULE", "LOAD", HOLDFAST_MODULE_FILE});
  }
};

/// Its clock runs faster than those of its clients, and is set back by what it has gained when it starts
/// again.
class with_a_fast_clock final : public one_server {
 public:
  with_a_fast_clock() : one_server{{.persistent = true, .preload = HOLDFAST_FAST_CLOCK}} {}

  std::vector<fault> faults() override {
    auto all = faults_without_loss(*server_);
    all.push_back(restart_of(*server_, "server restarted with its data"));
    return all;
  }
};

/// Made before the server, which runs in it.
struct in_front {
  test::private_network network_;
};

/// Packets are dropped, and what TCP sends again comes late.
class in_a_namespace final : private in_front, public one_server {
 public:
  in_a_namespace() : one_server{{.transport = test::server_transport::tcp, .persistent = true}} {}

  std::vector<fault> faults() override {
    auto all = faults_without_loss(*server_);
    add_packet_faults(all, network_, "the server", 6'000ms, [this](dice&) { return server_->port(); });
    return all;
  }
};

}  // namespace

std::vector<terrain> terrains_of_one_server() {
  return {{.name = "one server that keeps its data",
           .keeps = true,
           .make = [] { return std::make_unique<behind_a_proxy>(true); }},
          {.name = "one server that forgets", .make = [] { return std::make_unique<behind_a_proxy>(false); }},
          {.name = "the module",
           .keeps = true,
           .lacking = std::string_view{HOLDFAST_MODULE_FILE}.empty() ? "it isn't built" : "",
           .make = [] { return std::make_unique<with_module>(); }},
          {.name = "a server whose clock runs fast",
           .keeps = true,
           .make = [] { return std::make_unique<with_a_fast_clock>(); }},
          {.name = "a network that drops packets",
           .keeps = true,
           .lacking = test::private_network::lacking(),
           .make = [] { return std::make_unique<in_a_namespace>(); }}};
}

}  // namespace holdfast::storm
