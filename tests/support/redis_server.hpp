/// A private redis-server as an object: started in a folder of its own, stopped by pid.
/// HOLDFAST_REDIS_SERVER in the environment names the program to run; without it that is the first
/// redis-server or valkey-server in PATH.
#pragma once

#include "raw_redis.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

namespace holdfast::test {

struct server_options {
  enum class listen { unix_socket, tcp, tls };
  listen on = listen::unix_socket;  ///< what url() names; the unix socket is always there too, for raw()
  bool persistent = false;          ///< appendonly, each write synced: start() after a stop finds the data
  std::string user{};               ///< put into url()
  std::string password{};           ///< put into url()
  std::string requirepass{};        ///< the server asks for it; url(), if nothing else, and raw() have it
  std::vector<std::string> args{};  ///< more arguments of redis-server: {"--maxmemory", "1mb"}
  bool cluster = false;             ///< a node of a cluster, its bus on bus_port()
  /// Lines of a file that the server reads before its arguments and writes what it learns into: a sentinel.
  std::string config{};
  /// Of a server whose certificates this one shows, too, so that the two trust each other; empty: its own.
  std::filesystem::path certificates{};
};

/// What is run as a server.
[[nodiscard]] std::string server_program();

/// One that nobody else is given meanwhile, and that refuses connections.
class taken_port {
 public:
  explicit taken_port(std::uint16_t number);
  ~taken_port();
  taken_port(taken_port&& other) noexcept : socket_{std::exchange(other.socket_, -1)} {}
  taken_port(taken_port const&) = delete;
  taken_port& operator=(taken_port const&) = delete;

 private:
  int socket_;
};

/// Starts in the constructor and answers when that returns (else it throws). The child dies with the thread
/// that started it, even if that is killed.
class redis_server {
 public:
  explicit redis_server(std::vector<std::string> extra_args = {});
  [[nodiscard]] static redis_server with(server_options options) {
    return redis_server{tag{}, std::move(options)};
  }
  [[nodiscard]] static std::unique_ptr<redis_server> make(server_options options) {
    return std::unique_ptr<redis_server>{new redis_server{tag{}, std::move(options)}};
  }
  ~redis_server();
  redis_server(redis_server const&) = delete;
  redis_server& operator=(redis_server const&) = delete;

  [[nodiscard]] std::string url() const;
  /// redis+KIND://login@hosts/path, or rediss+KIND://…?ca=… : of several that are as this one.
  [[nodiscard]] std::string url_of_several(std::string const& kind, std::string const& hosts,
                                           std::string const& path = {}) const;
  [[nodiscard]] std::string socket_path() const { return (folder_ / "redis.sock").string(); }
  [[nodiscard]] std::filesystem::path const& folder() const { return folder_; }
  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] std::uint16_t bus_port() const { return bus_port_; }
  /// "127.0.0.1:port": as one of several in a URL.
  [[nodiscard]] std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  [[nodiscard]] pid_t pid() const { return pid_; }

  /// An independent client of this server, over its unix socket.
  [[nodiscard]] raw_redis raw() const { return raw_redis{socket_path(), options_.requirepass}; }

  /// One command on a connection of its own; nil from a server that is frozen, gone or about to be another's
  /// replica, which ends its connections.
  [[nodiscard]] raw_reply ask(std::vector<std::string> const& words) const;
  /// "master" or "slave"; empty when it doesn't say.
  [[nodiscard]] std::string role() const;

  // Its ports stay its own while it is gone.
  void stop();    ///< SIGTERM, and SIGKILL after a grace; returns when it is gone
  void kill9();   ///< SIGKILL; returns when it is gone
  void start();   ///< again, on the same socket and ports; empty unless `persistent`
  void freeze();  ///< SIGSTOP
  void thaw();    ///< SIGCONT
  /// Neither ended nor frozen: somebody who asks it gets an answer.
  [[nodiscard]] bool runs() const { return pid_ != 0 && !frozen_; }

  /// For TLS: files made at the first use, with `openssl`, in the server's folder, or that server's.
  [[nodiscard]] std::string ca_file() const { return (certificates() / "ca.crt").string(); }
  [[nodiscard]] std::string cert_file() const { return (certificates() / "peer.crt").string(); }
  [[nodiscard]] std::string key_file() const { return (certificates() / "peer.key").string(); }

 private:
  struct tag {};
  redis_server(tag, server_options options);

  void make_certificates() const;
  [[nodiscard]] std::filesystem::path const& certificates() const {
    return options_.certificates.empty() ? folder_ : options_.certificates;
  }
  [[nodiscard]] std::string login() const;
  [[nodiscard]] std::vector<std::string> arguments() const;
  [[nodiscard]] bool spawn_and_wait();
  void end(int signal);
  void keep_ports();

  server_options options_;
  std::filesystem::path folder_;
  std::uint16_t port_ = 0;
  std::uint16_t bus_port_ = 0;
  std::vector<taken_port> kept_;  ///< while it is gone, to be started again
  pid_t pid_ = 0;
  bool frozen_ = false;
};

/// A port of 127.0.0.1 that nobody listens on at this moment, and that no outgoing connection is given.
[[nodiscard]] std::uint16_t free_port();

/// A port that refuses connections, and that nobody else is given meanwhile.
class closed_port {
 public:
  closed_port();
  ~closed_port();
  closed_port(closed_port const&) = delete;
  closed_port& operator=(closed_port const&) = delete;
  [[nodiscard]] std::uint16_t number() const { return number_; }

 private:
  int socket_ = -1;
  std::uint16_t number_ = 0;
};

}  // namespace holdfast::test
