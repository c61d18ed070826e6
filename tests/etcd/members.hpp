/// Members of a cluster of etcd as objects: started in a folder of their own, stopped by pid.
#pragma once

#include "support/process.hpp"
#include "support/redis_server.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::test {

struct etcd_options {
  int members = 1;
  bool tls = false;                  ///< clients speak TLS
  bool client_certificates = false;  ///< they need certificates of the authority
  std::vector<std::string> args{};   ///< more arguments of each member
};

/// Starts in the constructor, which throws unless the cluster responds. It dies with the thread that started
/// it.
class etcd_cluster {
 public:
  explicit etcd_cluster(etcd_options options = {});
  etcd_cluster(etcd_cluster const&) = delete;
  etcd_cluster& operator=(etcd_cluster const&) = delete;

  /// etcd://h1,h2,h3, with that path.
  [[nodiscard]] std::string url(std::string const& path = {}) const;
  /// "127.0.0.1:port"
  [[nodiscard]] std::string endpoint(std::size_t member = 0) const;
  [[nodiscard]] std::string ca_file() const { return folder_ / "ca.crt"; }
  /// An authority that the members' certificates aren't of.
  [[nodiscard]] std::string other_ca_file() const { return folder_ / "other.crt"; }

  /// A client's certificate and key, as parameters of a URL: of ca_file(), or of other_ca_file().
  [[nodiscard]] std::string client_certificate() const { return certificate("client"); }
  [[nodiscard]] std::string other_client_certificate() const { return certificate("stranger"); }

  void kill9(std::size_t member);
  /// It is killed, and removed from the cluster; a new one with its endpoint takes its place, and responds.
  void replace(std::size_t member);
  void start_again(std::size_t member);
  void freeze(std::size_t member) const;
  void thaw(std::size_t member) const;

  /// The first member: its quota is exceeded, and all know it.
  void use_up_space() const;
  void make_space() const;

  /// `etcdctl` with these words: what it prints. Throws if it fails.
  std::string ctl(words const& command, std::string const& user = {}) const;
  /// The words of such a command, for a process that goes on.
  [[nodiscard]] words ctl_words(words const& command, std::string const& user = {}) const;
  /// The keys that begin so, in the order in which they were made.
  [[nodiscard]] std::vector<std::string> keys(std::string const& prefix) const;
  [[nodiscard]] std::size_t leader() const;

 private:
  [[nodiscard]] words arguments(std::size_t member) const;
  [[nodiscard]] bool responds() const;
  void make_certificates() const;
  [[nodiscard]] std::string certificate(std::string const& name) const;

  etcd_options options_;
  temporary_folder folder_;
  std::vector<std::uint16_t> client_ports_;
  std::vector<std::uint16_t> peer_ports_;
  std::vector<std::optional<process>> members_;
};

/// One member that all tests of this program share, and that each test leaves without locks.
[[nodiscard]] etcd_cluster& shared_etcd();
/// The same of three members.
[[nodiscard]] etcd_cluster& three_etcds();

}  // namespace holdfast::test
