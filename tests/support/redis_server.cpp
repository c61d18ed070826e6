#include "redis_server.hpp"

#include "eventually.hpp"

#include <arpa/inet.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <random>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace holdfast::test {
namespace {

namespace fs = std::filesystem;

fs::path make_folder() {
  auto pattern = (fs::temp_directory_path() / "holdfast-test-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error{"mkdtemp " + pattern};
  return pattern;
}

/// fork and exec with only system calls in between, since other threads may be running.
pid_t spawn(std::vector<std::string> words) {
  std::vector<char*> argv;
  for (auto& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  auto const parent = ::getpid();
  auto const pid = ::fork();
  if (pid < 0) throw std::runtime_error{"fork"};
  if (pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    ::setpgid(0, 0);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::execvp(argv[0], argv.data());
    ::_exit(127);
  }
  return pid;
}

std::string contents(fs::path const& file) {
  std::ostringstream all;
  all << std::ifstream{file}.rdbuf();
  return all.str();
}

}  // namespace

std::string server_program() {
  auto const* const configured = std::getenv("HOLDFAST_REDIS_SERVER");
  if (configured != nullptr && *configured != '\0') return configured;
  auto const* const path = std::getenv("PATH");
  std::istringstream folders{path == nullptr ? "" : path};
  for (std::string folder; std::getline(folders, folder, ':');) {
    for (auto const* const name : {"redis-server", "valkey-server"}) {
      if (auto program = fs::path{folder} / name; ::access(program.c_str(), X_OK) == 0) return program;
    }
  }
  return "redis-server";
}

std::uint16_t free_port() {
  // Below 32768, where the ports of outgoing connections begin.
  static thread_local std::minstd_rand random{std::random_device{}()};
  std::uniform_int_distribution<std::uint16_t> any_port{10'000, 32'000};
  for (auto tries = 0; tries < 1000; ++tries) {
    auto const port = any_port(random);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    auto const socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    auto const bound = ::bind(socket, reinterpret_cast<sockaddr const*>(&address), sizeof address) == 0;
    ::close(socket);
    if (bound) return port;
  }
  throw std::runtime_error{"no free port"};
}

taken_port::taken_port(std::uint16_t number) : socket_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)} {
  auto const enabled = 1;  // or closed connections would prevent the bind
  ::setsockopt(socket_, SOL_SOCKET, SO_REUSEADDR, &enabled, sizeof enabled);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(number);
  // It fails if another process was faster.
  [[maybe_unused]] auto const failed =
      ::bind(socket_, reinterpret_cast<sockaddr const*>(&address), sizeof address);
}

taken_port::~taken_port() {
  if (socket_ >= 0) ::close(socket_);
}

closed_port::closed_port() : socket_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)} {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  if (::bind(socket_, generic, size) != 0 || ::getsockname(socket_, generic, &size) != 0)
    throw std::runtime_error{"no port to be had"};
  number_ = ntohs(address.sin_port);
}

closed_port::~closed_port() { ::close(socket_); }

redis_server::redis_server(std::vector<std::string> extra_args)
    : redis_server{tag{}, server_options{.args = std::move(extra_args)}} {}

redis_server::redis_server(tag, server_options options)
    : options_{std::move(options)}, folder_{make_folder()} {
  if (options_.transport == server_transport::tls && options_.certificates.empty()) make_certificates();
  if (!options_.config.empty()) std::ofstream{folder_ / "server.conf"} << options_.config;
  // Another process may take the port between free_port() and the server's bind.
  for (auto tries = 0; tries < 5; ++tries) {
    if (options_.transport != server_transport::unix_socket) port_ = free_port();
    if (options_.cluster) bus_port_ = free_port();
    if (spawn_and_wait()) return;
  }
  auto const log = contents(folder_ / "log");
  fs::remove_all(folder_);
  throw std::runtime_error{server_program() + " doesn't start:\n" + log};
}

redis_server::~redis_server() {
  end(SIGKILL);
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

std::string redis_server::login() const {
  if (!options_.user.empty() || !options_.password.empty())
    return options_.user + ":" + options_.password + "@";
  return options_.requirepass.empty() ? std::string{} : ":" + options_.requirepass + "@";
}

std::string redis_server::url() const {
  switch (options_.transport) {
    case server_transport::tcp:
      return "redis://" + login() + address();
    case server_transport::tls:
      return "rediss://" + login() + address() + "?ca=" + ca_file();
    case server_transport::unix_socket:
      break;
  }
  return "redis+unix://" + login() + socket_path();
}

std::string redis_server::url_of_several(std::string const& kind, std::string const& hosts,
                                         std::string const& path) const {
  auto const tls = options_.transport == server_transport::tls;
  return (tls ? "rediss+" : "redis+") + kind + "://" + login() + hosts + path +
         (tls ? "?ca=" + ca_file() : std::string{});
}

std::vector<std::string> redis_server::arguments() const {
  std::vector<std::string> words;
  auto const add = [&words](std::vector<std::string> const& more) {
    words.insert(words.end(), more.begin(), more.end());
  };
  if (!options_.preload.empty()) add({"env", "LD_PRELOAD=" + options_.preload});
  if (options_.group != 0)  // the signal is set anew, since another group forgets it
    add({"setpriv", "--regid=" + std::to_string(options_.group), "--clear-groups", "--pdeathsig=KILL"});
  words.push_back(server_program());
  if (!options_.config.empty()) add({(folder_ / "server.conf").string()});
  add({"--unixsocket", socket_path(), "--dir", folder_.string(), "--logfile", "log", "--save", ""});
  add({"--bind", "127.0.0.1", "--databases", "16", "--daemonize", "no"});
  auto const port = std::to_string(port_);
  add({"--port", options_.transport == server_transport::tcp ? port : "0"});
  if (options_.transport == server_transport::tls) {
    add({"--tls-port", port, "--tls-ca-cert-file", ca_file(), "--tls-cert-file", cert_file(),
         "--tls-key-file", key_file(), "--tls-auth-clients", "optional"});
    add({"--tls-replication", "yes"});  // also decides for sentinels
  }
  if (options_.persistent) add({"--appendonly", "yes", "--appendfsync", "always"});
  if (!options_.requirepass.empty())
    add({"--requirepass", options_.requirepass, "--masterauth", options_.requirepass});
  if (options_.cluster) {
    add({"--cluster-enabled", "yes", "--cluster-port", std::to_string(bus_port_)});
    if (options_.transport == server_transport::tls) add({"--tls-cluster", "yes"});
  }
  add(options_.args);
  return words;
}

bool redis_server::spawn_and_wait() {
  std::error_code ignored;
  fs::remove(socket_path(), ignored);
  pid_ = spawn(arguments());
  auto ended = false;
  auto const responds = [&] {
    if (::waitpid(pid_, nullptr, WNOHANG) == pid_) {
      ended = true;
      pid_ = 0;
      return true;
    }
    try {
      auto const reply = raw().command({"PING"});
      return !reply.is_error() || reply.text.rfind("NOAUTH", 0) == 0 || reply.text.rfind("NOPERM", 0) == 0;
    } catch (std::runtime_error const&) {
      return false;
    }
  };
  if (eventually(responds) && !ended) return true;
  end(SIGKILL);
  return false;
}

void redis_server::end(int signal) {
  if (pid_ == 0) return;
  ::kill(pid_, SIGCONT);
  ::kill(pid_, signal);
  if (!eventually([this] { return ::waitpid(pid_, nullptr, WNOHANG) == pid_; })) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  pid_ = 0;
  frozen_ = false;
}

std::string redis_server::unasked_end() {
  auto status = 0;
  if (pid_ == 0 || ::waitpid(pid_, &status, WNOHANG) != pid_) return {};
  pid_ = 0;
  frozen_ = false;
  keep_ports();
  constexpr std::size_t enough = 8'000;
  auto const log = contents(folder_ / "log");
  return server_program() +
         (WIFSIGNALED(status) ? " was ended by signal " + std::to_string(WTERMSIG(status))
                              : " has ended with " + std::to_string(WEXITSTATUS(status))) +
         "; the end of its log:\n" + log.substr(log.size() - std::min(log.size(), enough));
}

raw_reply redis_server::try_command(std::vector<std::string> const& words) const {
  if (!runs()) return {};
  try {
    return raw().command(words);
  } catch (std::runtime_error const&) {
    return {};
  }
}

std::string redis_server::role() const {
  auto const reply = try_command({"ROLE"});
  return reply.elements.empty() ? std::string{} : reply.elements[0].text;
}

void redis_server::stop() {
  end(SIGTERM);
  keep_ports();
}

void redis_server::kill9() {
  end(SIGKILL);
  keep_ports();
}

void redis_server::keep_ports() {
  for (auto const port : {port_, bus_port_}) {
    if (port != 0) kept_ports_.emplace_back(port);
  }
}

void redis_server::start() {
  kept_ports_.clear();
  if (!spawn_and_wait())
    throw std::runtime_error{server_program() + " doesn't start again:\n" + contents(folder_ / "log")};
}

// waitid returns when the signal has taken effect: a stopped process takes a moment to stop, and one that has
// ended never does.
void redis_server::freeze() {
  if (pid_ == 0) throw std::runtime_error{"no server to be frozen"};  // the signal would be for all of us
  frozen_ = true;
  ::kill(pid_, SIGSTOP);
  siginfo_t info{};
  ::waitid(P_PID, static_cast<id_t>(pid_), &info, WSTOPPED | WEXITED | WNOWAIT);
}

void redis_server::thaw() {
  if (pid_ != 0) ::kill(pid_, SIGCONT);
  frozen_ = false;
}

void redis_server::make_certificates() const {
  std::ofstream{folder_ / "san"} << "subjectAltName=IP:127.0.0.1,DNS:localhost\n";
  auto const script = "cd '" + folder_.string() +
                      "' && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 "
                      "-subj '/CN=holdfast test CA'"
                      " -keyout ca.key -out ca.crt"
                      " && openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "
                      "'/CN=localhost' -keyout peer.key"
                      " -out peer.csr"
                      " && openssl x509 -req -in peer.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 "
                      "-extfile san -out peer.crt";
  auto const pid =
      spawn({"sh", "-c", "{ " + script + "; } >'" + (folder_ / "openssl.log").string() + "' 2>&1"});
  auto status = 0;
  ::waitpid(pid, &status, 0);
  if (status != 0) throw std::runtime_error{"openssl: " + contents(folder_ / "openssl.log")};
}

}  // namespace holdfast::test
