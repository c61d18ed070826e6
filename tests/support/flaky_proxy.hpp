/// A network that misbehaves to order: a proxy between clients and a Redis server, scripted by the test.
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

/// One request as the proxy saw it.
struct request {
  std::string name{};                ///< upper case: "EVALSHA"
  std::vector<std::string> words{};  ///< with the name
  int connection = 0;                ///< counts from 1

  /// Whether `text` is one of the words, such as a script's SHA-1.
  [[nodiscard]] bool has(std::string_view text) const;
};

/// What becomes of one request.
struct fate {
  enum class kind {
    pass,
    answer,         ///< the server never sees it; the client gets `text`
    cut_before,     ///< the connection ends, the server never sees it
    cut_after,      ///< the server gets and runs it, the connection ends before the reply
    swallow,        ///< the server never sees it, and the connection stays silent from here on
    swallow_reply,  ///< the server gets and runs it, and the connection stays silent from here on
    delay_reply,    ///< the reply, and what comes after it, is held back for `delay`
    keep,       ///< the server doesn't see it yet, nor what comes behind it on that connection: see deliver()
    hold_back,  ///< the same, and the connection ends for the client; delivered after `delay`, if there is
                ///< one
  };
  kind what = kind::pass;
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

/// Listens on a unix socket of its own, and on a port of 127.0.0.1; each connection gets one to the server.
/// All functions may be called from the test at any time. The decider runs in the proxy's thread.
class flaky_proxy {
 public:
  using decider = std::function<fate(request const&)>;

  explicit flaky_proxy(std::string server_socket);
  ~flaky_proxy();
  flaky_proxy(flaky_proxy const&) = delete;
  flaky_proxy& operator=(flaky_proxy const&) = delete;

  [[nodiscard]] std::string url() const { return "redis+unix://" + path_; }
  /// "127.0.0.1:port": as one of several in a URL, or where `nat` says that a server is reached.
  [[nodiscard]] std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

  /// Asked about each request from now on; an empty one passes all.
  void decide(decider d);
  /// The next request for which `picks` holds meets `f`; all others pass.
  void once(std::function<bool(request const&)> picks, fate f);

  void swallow_messages(bool on);    ///< pub/sub messages are lost; replies pass
  void refuse_pubsub();              ///< every (P|S)SUBSCRIBE: unknown command, as from twemproxy
  void refuse_connections(bool on);  ///< new ones are closed at once
  void freeze();                     ///< nothing passes either way
  void freeze_requests();            ///< one way: what the server says still comes, nothing reaches it
  void freeze_replies();             ///< the other way: requests pass, nothing comes back
  void thaw();
  void cut_all();  ///< ends the connections of this moment
  /// Ends them for the clients. What was kept of them stays for deliver(), and the server's side open.
  void hold_back_all();
  void deliver();  ///< what is held back of connections that ended, to the server, if its side is still there
  /// Connections of which the server's side alone is there, and something that it hasn't been given, or done.
  [[nodiscard]] int held_back() const;

  [[nodiscard]] std::vector<request> requests() const;  ///< all since the start or forget()
  [[nodiscard]] std::size_t count(std::string_view name) const;
  [[nodiscard]] std::size_t messages() const;  ///< pub/sub messages that came, swallowed or not
  [[nodiscard]] int connections() const;       ///< open at this moment
  void forget();

 private:
  using clock = std::chrono::steady_clock;

  struct awaited {  ///< one reply that the client is owed, in order
    fate what{};
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
    std::list<awaited> owed{};
    std::list<outgoing> to_client{};
    bool silent = false;
    bool keeps = false;
    bool held_back = false;
    bool ends = false;   ///< for the server, behind what is to be written
    std::string late{};  ///< what is kept
    clock::time_point late_at = clock::time_point::max();
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
  void send_late(link& l);
  void emit(link& l, std::string bytes, std::chrono::milliseconds delay);
  static void drop(link& l);

  std::string server_socket_;
  std::string folder_;
  std::string path_;
  int listener_ = -1;
  int tcp_listener_ = -1;
  std::uint16_t port_ = 0;
  int wake_fd_ = -1;

  mutable std::mutex mutex_;  // guards all below; not held in poll()
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
