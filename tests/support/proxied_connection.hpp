/// One connection through a faulty network.
#pragma once

#include "fate.hpp"

#include <chrono>
#include <functional>
#include <list>
#include <string>
#include <vector>

namespace holdfast::test {

/// What a proxy does to all its connections, and what it has seen of them.
struct traffic {
  std::function<fate(request const&)> decide{};
  bool swallow_messages = false;
  bool refuse_pubsub = false;
  bool hold_requests = false;
  bool hold_replies = false;
  std::vector<request> requests{};
  std::size_t messages = 0;
};

/// The sockets to the client and to the server, and the bytes between them. Nothing blocks.
class proxied_connection {
 public:
  using clock = std::chrono::steady_clock;

  /// Takes the sockets. `id` counts the connections.
  proxied_connection(traffic& shared, int id, int client, int server)
      : traffic_{shared}, id_{id}, client_{client}, server_{server} {}
  ~proxied_connection();
  proxied_connection(proxied_connection const&) = delete;
  proxied_connection& operator=(proxied_connection const&) = delete;

  /// What poll() should wait for; a socket of -1 is left out.
  struct interest {
    int socket = -1;
    short events = 0;
  };
  [[nodiscard]] interest in_client(clock::time_point now) const;
  [[nodiscard]] interest in_server() const;
  /// When it has something to do without an event.
  [[nodiscard]] clock::time_point due(clock::time_point now) const;

  /// Moves all bytes that can move now.
  void step();

  void end() { ended_ = true; }
  [[nodiscard]] bool ended() const { return ended_; }

  /// Ends the connection for the client. The server's side stays open, and the requests that it hasn't got
  /// are kept, for good or until `delay` is over.
  void hold_back(std::chrono::milliseconds delay);
  [[nodiscard]] bool is_held_back() const { return held_back_; }
  /// Held back, with requests that the server hasn't got or not finished.
  [[nodiscard]] bool has_kept() const { return held_back_ && !ended_ && (ending_ || !kept_bytes_.empty()); }
  /// The kept requests go to the server with the next step.
  void deliver() {
    if (held_back_) deliver_at_ = clock::now();
  }

 private:
  struct awaited_reply {  ///< one outstanding reply to the client, in order
    fate decision{};
    int replies = 1;
  };
  struct outgoing {
    std::string bytes{};
    clock::time_point due{};
  };

  [[nodiscard]] bool blocked(clock::time_point now) const;
  void read_client();
  void read_server();
  void take_requests();
  void take_replies();
  [[nodiscard]] fate decision_on(request const& received) const;
  void answer_injected();
  void deliver_kept();
  void emit(std::string bytes, std::chrono::milliseconds delay);
  void write_to_server();
  void write_to_client();

  traffic& traffic_;
  int const id_;
  int client_;
  int server_;
  std::string from_client_{};
  std::string from_server_{};
  std::string to_server_{};
  std::list<awaited_reply> awaited_replies_{};
  std::list<outgoing> to_client_{};
  bool silent_ = false;
  bool keeping_ = false;
  bool held_back_ = false;
  bool ending_ = false;  ///< for the server, after the bytes that are to be written
  bool ended_ = false;
  std::string kept_bytes_{};
  clock::time_point deliver_at_ = clock::time_point::max();
};

}  // namespace holdfast::test
