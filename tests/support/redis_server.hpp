/// A private redis-server as an object: started in a folder of its own, stopped by pid.
/// HOLDFAST_REDIS_SERVER in the environment names the program to run; the default is the first redis-server
/// or valkey-server in PATH.
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

enum class server_transport { unix_socket, tcp, tls };

struct server_options {
  /// What url() names; the unix socket always exists too, for raw().
  server_transport transport = server_transport::unix_socket;
  bool persistent = false;          ///< appendonly, each write synced: start() after a stop finds the data
  std::string user{};               ///< put into url()
  std::string password{};           ///< put into url()
  std::string requirepass{};        ///< required by the server; in raw(), and in url() if nothing else is
  std::vector<std::string> args{};  ///< more arguments of redis-server: {"--maxmemory", "1mb"}
  bool cluster = false;             ///< a node of a cluster, with its bus on bus_port()
  /// Lines of a file that the server reads before its arguments, and that a sentinel writes its state into.
  std::string config{};
  /// Folder of a server whose certificates this one uses too, so that they trust each other; empty: its own.
  std::filesystem::path certificates{};
  std::string preload{};  ///< a library in LD_PRELOAD
  unsigned group = 0;     ///< runs as this group, see private_network; only root may. 0: as ours
};

/// The program that is run as a server.
[[nodiscard]] std::string server_program();

/// A port that no other process can take meanwhile, and that refuses connections.
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

/// Starts in the constructor, which throws unless the server responds. The child dies with the thread that
/// started it, even if that thread is killed.
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
  /// redis+KIND://login@hosts/path, or rediss+KIND://…?ca=… : the URL of several servers with these options.
  [[nodiscard]] std::string url_of_several(std::string const& kind, std::string const& hosts,
                                           std::string const& path = {}) const;
  [[nodiscard]] std::string socket_path() const { return (folder_ / "redis.sock").string(); }
  [[nodiscard]] std::filesystem::path const& folder() const { return folder_; }
  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] std::uint16_t bus_port() const { return bus_port_; }
  /// "127.0.0.1:port", for a URL of several servers.
  [[nodiscard]] std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] unsigned group() const { return options_.group; }

  /// An independent client of this server, over its unix socket.
  [[nodiscard]] raw_redis raw() const { return raw_redis{socket_path(), options_.requirepass}; }

  /// One command on a connection of its own; nil if the server is frozen, has ended, or closes its
  /// connections because it becomes a replica.
  [[nodiscard]] raw_reply try_command(std::vector<std::string> const& words) const;
  /// "master" or "slave"; empty if unknown.
  [[nodiscard]] std::string role() const;

  // Its ports stay reserved until it starts again.
  void stop();    ///< SIGTERM, and SIGKILL after a grace period; returns when the process has ended
  void kill9();   ///< SIGKILL; returns when the process has ended
  void start();   ///< starts again, on the same socket and ports; without data unless `persistent`
  void freeze();  ///< SIGSTOP
  void thaw();    ///< SIGCONT
  /// Neither ended nor frozen: it replies to requests.
  [[nodiscard]] bool runs() const { return pid_ != 0 && !frozen_; }
  /// How it has ended though nobody asked for that, with the end of its log; empty: it hasn't.
  [[nodiscard]] std::string unasked_end();

  /// For TLS: files in the folder of the certificates, made with `openssl` at the first use.
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
  std::vector<taken_port> kept_ports_;  ///< between the end and the next start
  pid_t pid_ = 0;
  bool frozen_ = false;
};

/// A port of 127.0.0.1 without a listener at present, and outside the range of outgoing connections.
[[nodiscard]] std::uint16_t free_port();

/// A port that refuses connections, and that no other process can take meanwhile.
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
