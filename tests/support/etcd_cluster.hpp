/// Members of a cluster of etcd as objects: started in a folder of their own, stopped by pid.
#pragma once

#include "process.hpp"

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
  bool own_groups = false;           ///< each runs as a group of its own, see group(); only root may
  int ctl_seconds = 20;              ///< a command of etcdctl takes no longer
  std::vector<std::string> args{};   ///< more arguments of each member
};

/// etcd's issue 15247, FOUND 484: in the installed version, before 3.4.31 and 3.5.13, a leader that stood
/// still while another one was elected revokes the leases that seem over to it when it goes on, and the new
/// leader does so, though it keeps them alive. True also where the version can't be read.
[[nodiscard]] bool etcd_ends_leases_wrongly();

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
  [[nodiscard]] std::uint16_t port(std::size_t member) const { return client_ports_[member]; }
  [[nodiscard]] std::uint16_t peer_port(std::size_t member) const { return peer_ports_[member]; }
  /// By which the packets of a member are known.
  [[nodiscard]] static unsigned group(std::size_t member) { return 61'000 + static_cast<unsigned>(member); }
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
  void freeze(std::size_t member);
  void thaw(std::size_t member);
  /// It was started, and is neither frozen nor dead.
  [[nodiscard]] bool runs(std::size_t member);
  /// What it has written when it has ended by itself.
  [[nodiscard]] std::optional<std::string> end_of(std::size_t member);

  /// The first member: its quota is exceeded, and all know it.
  void use_up_space() const;
  void make_space() const;

  /// `etcdctl` with these words, on the members that aren't killed or frozen: what it prints. Throws if it
  /// fails.
  std::string ctl(words const& command, std::string const& user = {}) const;
  /// The words of such a command, for a process that goes on.
  [[nodiscard]] words ctl_words(words const& command, std::string const& user = {}) const;
  /// The keys that begin so, in the order in which they were made.
  [[nodiscard]] std::vector<std::string> keys(std::string const& prefix) const;
  [[nodiscard]] std::size_t leader() const;
  void move_leader(std::size_t to) const;
  /// Drops all revisions before the present one.
  void compact() const;
  [[nodiscard]] bool responds() const;

 private:
  [[nodiscard]] words arguments(std::size_t member) const;
  [[nodiscard]] std::string revision() const;
  [[nodiscard]] std::string time_of_ctl() const {
    return "--command-timeout=" + std::to_string(options_.ctl_seconds) + "s";
  }
  [[nodiscard]] bool is_still(std::size_t member) const { return !members_[member] || frozen_[member]; }
  void make_certificates() const;
  [[nodiscard]] std::string certificate(std::string const& name) const;

  etcd_options options_;
  temporary_folder folder_;
  std::vector<std::uint16_t> client_ports_;
  std::vector<std::uint16_t> peer_ports_;
  std::vector<std::optional<process>> members_;  ///< none: it was killed
  std::vector<bool> frozen_;
};

}  // namespace holdfast::test
