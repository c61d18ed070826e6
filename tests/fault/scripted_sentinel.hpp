/// A sentinel that says what the test tells it to: a server with pub/sub behind a proxy that answers
/// SENTINEL.
#pragma once

#include "support/eventually.hpp"
#include "support/flaky_proxy.hpp"
#include "support/redis_server.hpp"

#include <cstdint>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::test {

/// Watches a master named "mymaster". Of several, each has to be told of the others.
class scripted_sentinel {
 public:
  struct word {
    std::string host = "127.0.0.1";
    std::uint16_t port = 0;
    int epoch = 0;  ///< of the failover that this is from
  };

  explicit scripted_sentinel(word first, std::string id = "1") : id_{std::move(id)}, says_{std::move(first)} {
    proxy_.decide([this](request const& r) {
      return r.name == "SENTINEL" ? fate::answer(answer(r.words.at(1))) : fate::pass();
    });
  }

  [[nodiscard]] std::string address() const { return proxy_.address(); }
  /// How often it was asked for all that it knows.
  [[nodiscard]] std::size_t asked() const {
    std::scoped_lock const hold{guard_};
    return asked_;
  }

  void say(word what) {
    std::scoped_lock const hold{guard_};
    says_ = std::move(what);
  }
  /// So that a majority is one of them all.
  void meet(std::vector<std::string> others) {
    std::scoped_lock const hold{guard_};
    others_ = std::move(others);
  }
  /// To all who listen, of whom there must be one; whatever it says when asked.
  void announce(std::string const& old_address, std::string const& new_address) {
    auto raw = server_.raw();
    auto message = "mymaster " + old_address + " " + new_address;
    for (auto& c : message) c = c == ':' ? ' ' : c;
    if (!eventually([&] { return raw.command({"PUBLISH", "+switch-master", message}).integer > 0; }))
      throw std::runtime_error{"nobody listens to the sentinel"};
  }
  [[nodiscard]] bool is_heard() {
    auto raw = server_.raw();
    return eventually(
        [&] { return raw.command({"PUBSUB", "NUMSUB", "+switch-master"}).elements.at(1).integer > 0; });
  }

 private:
  static std::string text(std::string const& what) {
    return "$" + std::to_string(what.size()) + "\r\n" + what + "\r\n";
  }
  static std::string list(std::vector<std::string> const& all) {
    auto bytes = "*" + std::to_string(all.size()) + "\r\n";
    for (auto const& one : all) bytes += text(one);
    return bytes;
  }

  std::string answer(std::string const& about) {
    std::scoped_lock const hold{guard_};
    if (about == "MYID") return text(id_);
    if (about == "GET-MASTER-ADDR-BY-NAME") return list({says_.host, std::to_string(says_.port)});
    if (about == "MASTER") return list({"name", "mymaster", "config-epoch", std::to_string(says_.epoch)});
    if (about != "SENTINELS") return "*0\r\n";
    ++asked_;  // the last of its questions
    auto bytes = "*" + std::to_string(others_.size()) + "\r\n";
    for (auto const& one : others_) {
      auto const colon = one.find(':');
      bytes += list({"ip", one.substr(0, colon), "port", one.substr(colon + 1), "runid", "id of " + one});
    }
    return bytes;
  }

  mutable std::mutex guard_;
  std::string const id_;
  word says_;
  std::vector<std::string> others_;
  std::size_t asked_ = 0;
  redis_server server_;
  flaky_proxy proxy_{server_.socket_path()};  // last: its thread uses all the others
};

}  // namespace holdfast::test
