/// A faulty network: a proxy between clients and a Redis server, with faults scripted by the test.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace holdfast::test {

/// One request as the proxy received it.
struct request {
  std::string name{};                ///< upper case: "EVALSHA"
  std::vector<std::string> words{};  ///< with the name
  int connection = 0;                ///< counts from 1

  /// Whether `text` is one of the words, such as a script's SHA-1.
  [[nodiscard]] bool has(std::string_view text) const;
};

/// What the proxy does with one request.
struct fate {
  enum class kind {
    pass,
    answer,         ///< the server never gets it; the client gets `text`
    cut_before,     ///< the connection ends; the server never gets the request
    cut_after,      ///< the server gets and runs it; the connection ends before the reply
    swallow,        ///< the server never gets it, and the connection stays silent from now on
    swallow_reply,  ///< the server gets and runs it, and the connection stays silent from now on
    delay_reply,    ///< this reply and the later ones are delayed by `delay`
    keep,           ///< this and all later requests of the connection are kept: see deliver()
    hold_back,      ///< the same, and the connection ends for the client; delivered after `delay`, if set
  };
  kind type = kind::pass;
  std::string text{};
  std::chrono::milliseconds delay{};

  static fate pass() { return {}; }
  static fate answer(std::string line) { return {kind::answer, std::move(line), {}}; }
  static fate error(std::string refusal) { return answer("-" + std::move(refusal) + "\r\n"); }
  static fate cut_before() { return {kind::cut_before, {}, {}}; }
  static fate cut_after() { return {kind::cut_after, {}, {}}; }
  static fate swallow() { return {kind::swallow, {}, {}}; }
  static fate swallow_reply() { return {kind::swallow_reply, {}, {}}; }
  static fate keep() { return {kind::keep, {}, {}}; }
  static fate hold_back() { return {kind::hold_back, {}, std::chrono::milliseconds::max()}; }
  static fate hold_back(std::chrono::milliseconds delay) { return {kind::hold_back, {}, delay}; }
  static fate delay_reply(std::chrono::milliseconds delay) { return {kind::delay_reply, {}, delay}; }
};

/// Listens on a unix socket of its own and on a port of 127.0.0.1; each connection gets one to the server.
/// All functions may be called from the test at any time. The decider runs in the proxy's thread.
class flaky_proxy {
 public:
  using decider = std::function<fate(request const&)>;

  explicit flaky_proxy(std::string server_socket);
  ~flaky_proxy();
  flaky_proxy(flaky_proxy const&) = delete;
  flaky_proxy& operator=(flaky_proxy const&) = delete;

  [[nodiscard]] std::string url() const { return "redis+unix://" + path_; }
  /// "127.0.0.1:port", for a URL of several servers or its parameter `nat`.
  [[nodiscard]] std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

  /// Called for each request from now on; an empty decider passes all.
  void decide(decider d);
  /// Applies `f` to the next request for which `picks` is true; all others pass.
  void once(std::function<bool(request const&)> picks, fate f);

  void swallow_messages(bool on);    ///< pub/sub messages are lost; replies pass
  void refuse_pubsub();              ///< every (P|S)SUBSCRIBE: unknown command, as from twemproxy
  void refuse_connections(bool on);  ///< new connections are closed at once
  void freeze();                     ///< nothing passes either way
  void freeze_requests();            ///< one way: replies still pass, no request reaches the server
  void freeze_replies();             ///< the other way: requests pass, no reply comes back
  void thaw();
  void cut_all();  ///< ends all present connections
  /// Ends all connections for the clients. The server's sides stay open, and the kept requests stay for
  /// deliver().
  void hold_back_all();
  void deliver();  ///< sends the kept requests of ended connections to the server, if its side is still open
  /// Connections with an open server's side alone, and with requests that it hasn't got or not finished.
  [[nodiscard]] int held_back() const;

  [[nodiscard]] std::vector<request> requests() const;  ///< all since the start or forget()
  [[nodiscard]] std::size_t count(std::string_view name) const;
  [[nodiscard]] std::size_t messages() const;  ///< pub/sub messages that arrived, swallowed or not
  [[nodiscard]] int connections() const;       ///< open now
  void forget();

 private:
  using clock = std::chrono::steady_clock;

  struct awaited_reply {  ///< one outstanding reply to the client, in order
    fate decision{};
    int replies = 1;
  };
  struct outgoing {
    std::string bytes{};
    clock::time_point due{};
  };
  struct link {
    int id = 0;
    int client = -1;
    int server = -1;
    std::string from_client{};
    std::string from_server{};
    std::string to_server{};
    std::list<awaited_reply> awaited_replies{};
    std::list<outgoing> to_client{};
    bool silent = false;
    bool keeping = false;
    bool held_back = false;
    bool ending = false;  ///< for the server, after the bytes that are to be written
    std::string kept_bytes{};
    clock::time_point deliver_at = clock::time_point::max();
    bool dead = false;
  };

  void run();
  void wake() const;
  void listen_on_port();
  void accept_one(int listener);
  void read_client(link& l);
  void read_server(link& l);
  void take_requests(link& l);
  void take_replies(link& l);
  void answer_injected(link& l);
  void write_out(link& l);
  void hold_back(link& l, std::chrono::milliseconds delay);
  void deliver_kept(link& l);
  void emit(link& l, std::string bytes, std::chrono::milliseconds delay);
  static void drop(link& l);

  std::string server_socket_;
  std::string folder_;
  std::string path_;
  int listener_ = -1;
  int tcp_listener_ = -1;
  std::uint16_t port_ = 0;
  int wake_fd_ = -1;

  mutable std::mutex mutex_;  // guards all members below; not held in poll()
  std::list<link> links_;
  decider decider_;
  std::vector<request> requests_;
  std::size_t messages_ = 0;
  int last_id_ = 0;
  bool swallow_messages_ = false;
  bool refuse_pubsub_ = false;
  bool refuse_connections_ = false;
  bool hold_requests_ = false;
  bool hold_replies_ = false;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace holdfast::test
