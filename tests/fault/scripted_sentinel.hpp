/// A sentinel whose answers the test sets: a server with pub/sub behind a proxy that answers SENTINEL.
#pragma once

#include "support/eventually.hpp"
#include "support/flaky_proxy.hpp"
#include "support/redis_server.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::test {

/// Watches a master named "mymaster". Each of several sentinels has to be given its peers.
class scripted_sentinel {
 public:
  /// The master that a sentinel names.
  struct report {
    std::string host = "127.0.0.1";
    std::uint16_t port = 0;
    int epoch = 0;  ///< of the failover that made it the master
  };

  explicit scripted_sentinel(report first, std::string id = "1")
      : id_{std::move(id)}, report_{std::move(first)} {
    proxy_.decide([this](request const& r) {
      if (refuses_switches_ && r.has("+switch-master")) return fate::answer("-NOPERM no such channel\r\n");
      if (r.name != "SENTINEL") return fate::pass();
      ++asked_;
      return silent_ ? fate::swallow() : fate::answer(answer(r.words.at(1)));
    });
  }

  [[nodiscard]] std::string address() const { return proxy_.address(); }
  /// How often a client has queried all that it knows.
  [[nodiscard]] std::size_t queries() const {
    std::scoped_lock const hold{guard_};
    return queries_;
  }

  /// How often it was asked for anything, answered or not.
  [[nodiscard]] int asked() const { return asked_; }
  /// It goes on announcing, and answers nothing.
  void be_silent(bool on) { silent_ = on; }

  /// Clients may listen to promotions alone.
  void refuse_switches() { refuses_switches_ = true; }
  /// Its clients are without news for a moment.
  void drop_listeners() { server_.raw().kill_clients("pubsub"); }

  void set_report(report next) {
    std::scoped_lock const hold{guard_};
    report_ = std::move(next);
  }
  /// A majority is then one of this sentinel and its peers together.
  void set_peers(std::vector<std::string> peers) {
    std::scoped_lock const hold{guard_};
    peers_ = std::move(peers);
  }
  /// Announces a new master to all subscribers, whatever the report says. Throws when there is no subscriber.
  void announce(std::string const& old_address, std::string const& new_address) {
    tell("+switch-master", "mymaster " + spaced(old_address) + " " + spaced(new_address));
  }
  /// Announces that it has promoted a replica.
  void announce_promotion(std::string const& old_address, std::string const& new_address) {
    tell("+promoted-slave",
         "slave " + new_address + " " + spaced(new_address) + " @ mymaster " + spaced(old_address));
  }
  [[nodiscard]] bool has_subscriber(std::string const& channel = "+switch-master") {
    auto raw = server_.raw();
    return eventually([&] { return raw.command({"PUBSUB", "NUMSUB", channel}).elements.at(1).integer > 0; });
  }

 private:
  static std::string spaced(std::string address) {
    std::ranges::replace(address, ':', ' ');
    return address;
  }
  void tell(std::string const& channel, std::string const& message) {
    auto raw = server_.raw();
    if (!eventually([&] { return raw.command({"PUBLISH", channel, message}).integer > 0; }))
      throw std::runtime_error{"nobody listens to the sentinel"};
  }
  static std::string text(std::string const& value) {
    return "$" + std::to_string(value.size()) + "\r\n" + value + "\r\n";
  }
  static std::string list(std::vector<std::string> const& all) {
    auto bytes = "*" + std::to_string(all.size()) + "\r\n";
    for (auto const& element : all) bytes += text(element);
    return bytes;
  }

  std::string answer(std::string const& query) {
    std::scoped_lock const hold{guard_};
    if (query == "MYID") return text(id_);
    if (query == "GET-MASTER-ADDR-BY-NAME") return list({report_.host, std::to_string(report_.port)});
    if (query == "MASTER") return list({"name", "mymaster", "config-epoch", std::to_string(report_.epoch)});
    if (query != "SENTINELS") return "*0\r\n";
    ++queries_;  // a client sends this query last
    auto bytes = "*" + std::to_string(peers_.size()) + "\r\n";
    for (auto const& peer : peers_) {
      auto const colon = peer.find(':');
      bytes += list({"ip", peer.substr(0, colon), "port", peer.substr(colon + 1), "runid", "id of " + peer});
    }
    return bytes;
  }

  mutable std::mutex guard_;
  std::string const id_;
  report report_;
  std::vector<std::string> peers_;
  std::size_t queries_ = 0;
  std::atomic<int> asked_ = 0;
  std::atomic<bool> silent_ = false;
  std::atomic<bool> refuses_switches_ = false;
  redis_server server_;
  flaky_proxy proxy_{server_.socket_path()};  // last: its thread uses all members above
};

}  // namespace holdfast::test
