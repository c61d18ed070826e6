/// A deployment in memory that other processes and other clients reach, too, over a socket.
#pragma once

#include "memory/served_connection.hpp"

#include <filesystem>
#include <holdfast/testing.hpp>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::test {

/// Clients of this process take url(); a raw_redis, proxies and workers take the socket.
class memory_server {
 public:
  explicit memory_server(std::string const& name);
  ~memory_server();
  memory_server(memory_server const&) = delete;
  memory_server& operator=(memory_server const&) = delete;

  [[nodiscard]] std::string url() const { return deployment_.url(); }
  [[nodiscard]] std::filesystem::path const& folder() const { return folder_; }
  [[nodiscard]] std::string socket_path() const { return (folder_ / "redis.sock").string(); }

 private:
  /// One connection over the socket, with the thread that reads it.
  struct visitor {
    visitor(std::shared_ptr<memory::node> to, int socket);
    ~visitor();
    visitor(visitor const&) = delete;
    visitor& operator=(visitor const&) = delete;

    void serve();
    /// With the guard of the node held.
    void write();

    std::shared_ptr<memory::node> node;
    int fd;
    std::unique_ptr<memory::served_connection> served{};
    std::thread thread{};
  };

  void accept_all();

  memory::deployment deployment_;
  std::filesystem::path folder_;
  int listener_;
  std::vector<std::unique_ptr<visitor>> visitors_{};  ///< touched by thread_ alone until it has ended
  std::thread thread_{};
};

}  // namespace holdfast::test
