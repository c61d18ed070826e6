#include "etcd_cluster.hpp"

#include "eventually.hpp"
#include "redis_server.hpp"

#include <array>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <sstream>
#include <stdexcept>

namespace holdfast::test {
namespace {

/// Another process may take a port between free_port() and the bind.
constexpr int most_tries = 5;

void run(words const& command) {
  process program{command};
  if (program.wait() != 0) throw std::runtime_error{command.front() + " fails: " + program.err()};
}

std::string address(std::uint16_t port) { return "127.0.0.1:" + std::to_string(port); }

}  // namespace

bool etcd_ends_leases_wrongly() {
  process asked{{"etcd", "--version"}};
  (void)asked.wait();
  auto const text = asked.out();
  auto major = 0;
  auto minor = 0;
  auto patch = 0;
  if (std::sscanf(text.c_str(), "etcd Version: %d.%d.%d", &major, &minor, &patch) != 3) return true;
  std::array const version{major, minor, patch};
  return version < std::array{3, 5, 13} && (minor != 4 || version < std::array{3, 4, 31});
}

etcd_cluster::etcd_cluster(etcd_options options) : options_{std::move(options)} {
  if (options_.tls) make_certificates();
  auto const count = static_cast<std::size_t>(options_.members);
  for (int tries = 0;; ++tries) {
    client_ports_.clear();
    peer_ports_.clear();
    members_.clear();
    for (std::size_t i = 0; i != count; ++i) {
      client_ports_.push_back(free_port());
      peer_ports_.push_back(free_port());
    }
    members_.resize(count);
    frozen_.assign(count, false);
    for (std::size_t i = 0; i != count; ++i) members_[i].emplace(arguments(i));
    auto const up = eventually(60s, [this] {
      for (auto& each : members_) {
        if (each->exit_code()) return true;  // its port is in use
      }
      return responds();
    });
    if (up && responds()) return;
    if (tries == most_tries) throw std::runtime_error{"etcd doesn't start: " + members_[0]->err()};
    for (std::size_t i = 0; i != count; ++i) {
      members_[i].reset();
      std::filesystem::remove_all(folder_ / ("data" + std::to_string(i)));
    }
  }
}

std::string etcd_cluster::endpoint(std::size_t member) const { return address(client_ports_[member]); }

std::string etcd_cluster::url(std::string const& path) const {
  std::string text = options_.tls ? "etcds://" : "etcd://";
  for (std::size_t i = 0; i != members_.size(); ++i) {
    if (i != 0) text += ',';
    text += endpoint(i);
  }
  if (!path.empty()) text += "/" + path;
  if (options_.tls) text += "?ca=" + ca_file();
  if (options_.client_certificates) text += client_certificate();
  return text;
}

std::string etcd_cluster::certificate(std::string const& name) const {
  return "&cert=" + (folder_ / (name + ".crt")) + "&key=" + (folder_ / (name + ".key"));
}

words etcd_cluster::arguments(std::size_t member) const {
  auto const name = [](std::size_t i) { return "m" + std::to_string(i); };
  std::string const scheme = options_.tls ? "https://" : "http://";
  std::string all;
  for (std::size_t i = 0; i != client_ports_.size(); ++i) {
    if (i != 0) all += ',';
    all += name(i) + "=http://" + address(peer_ports_[i]);
  }
  words command;
  if (options_.own_groups)  // the signal is set anew, since another group forgets it
    command = {"setpriv", "--regid=" + std::to_string(group(member)), "--clear-groups", "--pdeathsig=KILL"};
  words const own{"etcd",
                  "--name=" + name(member),
                  "--data-dir=" + (folder_ / ("data" + std::to_string(member))),
                  "--listen-client-urls=" + scheme + endpoint(member),
                  "--advertise-client-urls=" + scheme + endpoint(member),
                  "--listen-peer-urls=http://" + address(peer_ports_[member]),
                  "--initial-advertise-peer-urls=http://" + address(peer_ports_[member]),
                  "--initial-cluster=" + all,
                  "--initial-cluster-token=" + folder_.path().filename().string(),
                  "--log-level=error"};
  command.insert(command.end(), own.begin(), own.end());
  if (options_.tls) {
    command.push_back("--cert-file=" + (folder_ / "peer.crt"));
    command.push_back("--key-file=" + (folder_ / "peer.key"));
  }
  if (options_.client_certificates) {
    command.emplace_back("--client-cert-auth");
    command.push_back("--trusted-ca-file=" + ca_file());
  }
  command.insert(command.end(), options_.args.begin(), options_.args.end());
  return command;
}

void etcd_cluster::make_certificates() const {
  auto const ca = [this](std::string const& name) {
    run({"openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
         "-days", "2", "-subj", "/CN=" + name, "-keyout", folder_ / (name + ".key"), "-out",
         folder_ / (name + ".crt")});
  };
  ca("ca");
  ca("other");
  auto const issue = [this](std::string const& authority, std::string const& name,
                            std::string const& subject) {
    run({"openssl",
         "req",
         "-x509",
         "-newkey",
         "ec",
         "-pkeyopt",
         "ec_paramgen_curve:prime256v1",
         "-nodes",
         "-days",
         "2",
         "-subj",
         "/CN=" + subject,
         "-addext",
         "subjectAltName=IP:127.0.0.1",
         "-addext",
         "basicConstraints=critical,CA:FALSE",
         "-CA",
         folder_ / (authority + ".crt"),
         "-CAkey",
         folder_ / (authority + ".key"),
         "-keyout",
         folder_ / (name + ".key"),
         "-out",
         folder_ / (name + ".crt")});
  };
  issue("ca", "peer", "127.0.0.1");
  if (!options_.client_certificates) return;
  issue("ca", "client", "client");
  issue("other", "stranger", "stranger");
}

words etcd_cluster::ctl_words(words const& command, std::string const& user) const {
  std::string all;
  for (std::size_t i = 0; i != members_.size(); ++i) {
    if (!is_still(i)) all += (all.empty() ? "" : ",") + endpoint(i);
  }
  words complete{"etcdctl", "--endpoints=" + all, time_of_ctl()};
  if (options_.tls) complete.push_back("--cacert=" + ca_file());
  if (options_.client_certificates) {
    complete.push_back("--cert=" + (folder_ / "client.crt"));
    complete.push_back("--key=" + (folder_ / "client.key"));
  }
  if (!user.empty()) complete.push_back("--user=" + user);
  complete.insert(complete.end(), command.begin(), command.end());
  return complete;
}

std::string etcd_cluster::ctl(words const& command, std::string const& user) const {
  process program{ctl_words(command, user)};
  if (program.wait() != 0)
    throw std::runtime_error{"etcdctl " + command.front() + " fails: " + program.err()};
  return program.out();
}

bool etcd_cluster::responds() const {
  process program{ctl_words({"endpoint", "health"})};
  return program.wait() == 0;
}

std::vector<std::string> etcd_cluster::keys(std::string const& prefix) const {
  std::istringstream text{ctl({"get", prefix, "--prefix", "--keys-only", "--sort-by=CREATE"})};
  std::vector<std::string> all;
  for (std::string line; std::getline(text, line);) {
    if (!line.empty()) all.push_back(line);
  }
  return all;
}

std::size_t etcd_cluster::leader() const {
  for (std::size_t i = 0; i != members_.size(); ++i) {
    if (is_still(i)) continue;
    process program{{"etcdctl", "--endpoints=" + endpoint(i), time_of_ctl(), "endpoint", "status"}};
    if (program.wait() != 0) continue;
    std::istringstream fields{program.out()};  // endpoint, id, version, size, leader, …
    std::string field;
    for (int n = 0; n != 5; ++n) std::getline(fields, field, ',');
    if (field.find("true") != std::string::npos) return i;
  }
  throw std::runtime_error{"there is no leader"};
}

void etcd_cluster::move_leader(std::size_t to) const {
  std::istringstream text{ctl({"endpoint", "status"})};
  for (std::string line; std::getline(text, line);) {  // endpoint, id, …
    if (!line.starts_with(endpoint(to) + ", ")) continue;
    auto const id = line.substr(endpoint(to).size() + 2);
    ctl({"move-leader", id.substr(0, id.find(','))});
    return;
  }
  throw std::runtime_error{"the member doesn't say its id"};
}

void etcd_cluster::kill9(std::size_t member) {
  members_[member]->signal(SIGKILL);
  (void)members_[member]->wait();
  members_[member].reset();
  frozen_[member] = false;
}

void etcd_cluster::start_again(std::size_t member) { members_[member].emplace(arguments(member)); }

void etcd_cluster::freeze(std::size_t member) {
  members_[member]->signal(SIGSTOP);
  frozen_[member] = true;
}

void etcd_cluster::thaw(std::size_t member) {
  if (members_[member]) members_[member]->signal(SIGCONT);
  frozen_[member] = false;
}

bool etcd_cluster::runs(std::size_t member) { return !is_still(member) && !members_[member]->exit_code(); }

std::optional<std::string> etcd_cluster::end_of(std::size_t member) {
  if (!members_[member] || !members_[member]->exit_code()) return std::nullopt;
  return members_[member]->err();
}

void etcd_cluster::replace(std::size_t member) {
  kill9(member);
  auto const peer = "http://" + address(peer_ports_[member]);
  // "id, started, name, peer URL, …", if there is one
  auto const listed = [&] {
    std::istringstream text{ctl({"member", "list"})};
    for (std::string line; std::getline(text, line);) {
      if (line.find(peer) != std::string::npos) return line;
    }
    return std::string{};
  };
  auto const change = [&](words const& command) {
    process program{ctl_words(command)};
    (void)program.wait();
  };
  auto const id = listed().substr(0, listed().find(','));
  // It is refused until the others have been connected for some time.
  auto const removed = eventually(60s, [&] {
    if (!listed().empty()) change({"member", "remove", id});
    return listed().empty();
  });
  auto const added = removed && eventually(60s, [&] {
                       if (listed().empty())
                         change({"member", "add", "m" + std::to_string(member), "--peer-urls=" + peer});
                       return !listed().empty();
                     });
  std::filesystem::remove_all(folder_ / ("data" + std::to_string(member)));
  auto command = arguments(member);
  command.emplace_back("--initial-cluster-state=existing");
  members_[member].emplace(command);
  auto const fit = added && eventually(60s, [&] {
                     process program{{"etcdctl", "--endpoints=" + endpoint(member), "endpoint", "health"}};
                     return program.wait() == 0;
                   });
  if (!fit) throw std::runtime_error{"the member can't be replaced: " + members_[member]->err()};
}

void etcd_cluster::use_up_space() const {
  auto const full = eventually(60s, [this] {
    process writer{ctl_words({"put", "filler"}), {}, std::string(300'000, 'x')};
    return writer.wait() != 0 && writer.err().find("space exceeded") != std::string::npos;
  });
  if (!full || !eventually([this] { return ctl({"alarm", "list"}).find("NOSPACE") != std::string::npos; }))
    throw std::runtime_error{"the space isn't used up"};
}

std::string etcd_cluster::revision() const {
  // It is a line of its own: "Revision" : 12
  auto const text = ctl({"get", "filler", "--write-out=fields"});
  std::string const label = "\"Revision\" : ";
  auto const from = text.find(label) + label.size();
  return text.substr(from, text.find('\n', from) - from);
}

void etcd_cluster::compact() const { ctl({"compact", revision()}); }

void etcd_cluster::make_space() const {
  ctl({"del", "filler"});
  ctl({"compact", "--physical", revision()});
  ctl({"defrag"});
  ctl({"alarm", "disarm"});
}

}  // namespace holdfast::test
