#include "server.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <thread>

#include "process.hpp"
#include "redis.hpp"
#include "support/redis_server.hpp"

namespace holdfast::bench {
namespace {

/// A port that nobody listens on now. Somebody might before the server does; it then fails to start, and says
/// so.
int free_port() {
  int const probe = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  bool const bound = probe >= 0 && bind(probe, any, size) == 0 && getsockname(probe, any, &size) == 0;
  int const error = errno;
  if (probe >= 0) close(probe);
  if (!bound) throw std::system_error{error, std::generic_category(), "no free port"};
  return ntohs(address.sin_port);
}

pid_t start(int port, int core, std::string const& module) {
  auto const text = fmt::to_string(port);
  auto const program = test::server_program();
  pid_t const process = fork();
  if (process < 0) throw std::system_error{errno, std::generic_category(), "fork"};
  if (process > 0) return process;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (core >= 0) pin_to_core(core);
  // The list ends before --loadmodule where there is no module.
  execlp(program.c_str(), program.c_str(), "--port", text.c_str(), "--bind", "127.0.0.1", "--save", "",
         "--appendonly", "no", "--loglevel", "warning", "--logfile", "/dev/null", "--dir", "/tmp",
         module.empty() ? nullptr : "--loadmodule", module.c_str(), nullptr);
  _exit(127);
}

/// The text after "key" up to `end`, in INFO's output.
std::string_view field(std::string_view info, std::string_view key, char end) {
  auto const at = info.find(key);
  if (at == std::string_view::npos) return {};
  auto const value = info.substr(at + key.size());
  return value.substr(0, value.find(end));
}

std::int64_t count_of(call_counts const& counts, std::string const& command) {
  auto const found = counts.find(command);
  return found == counts.end() ? 0 : found->second;
}

bool sent_by_clients(std::string_view command) {
  constexpr std::string_view requests[] = {"eval",   "evalsha", "exec",  "subscribe", "unsubscribe", "ping",
                                           "select", "auth",    "hello", "blpop",     "rpush"};
  if (command.starts_with("client|") || command.starts_with("script|")) return true;
  return std::find(std::begin(requests), std::end(requests), command) != std::end(requests);
}

}  // namespace

redis_server::redis_server(int core, std::string const& module)
    : port_{free_port()}, process_{start(port_, core, module)} {
  wait_until_ready();
}

redis_server::~redis_server() {
  kill(process_, SIGKILL);
  waitpid(process_, nullptr, 0);
}

void redis_server::wait_until_ready() const {
  for (auto const deadline = std::chrono::steady_clock::now() + std::chrono::seconds{10};;) {
    if (waitpid(process_, nullptr, WNOHANG) == process_)
      throw std::runtime_error{test::server_program() + " can't be started"};
    try {
      connection{port_}.call({"PING"});
      return;
    } catch (std::runtime_error const&) {
      if (std::chrono::steady_clock::now() > deadline) throw;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds{10});
  }
}

std::string redis_server::url() const { return fmt::format("redis://127.0.0.1:{}", port_); }

bool redis_server::has_command(std::string const& command) const {
  return connection{port_}.has_command(command);
}

bool redis_server::has_module() const { return connection{port_}.has_module(); }

std::string redis_server::name() const {
  auto const info = connection{port_}.ask({"INFO", "server"});
  auto const valkey =
      field(info, "valkey_version:", '\r');  // redis_version there is what it is compatible with
  return valkey.empty() ? fmt::format("Redis {}", field(info, "redis_version:", '\r'))
                        : fmt::format("Valkey {}", valkey);
}

call_counts redis_server::calls() const {
  std::istringstream info{connection{port_}.ask({"INFO", "commandstats"})};
  call_counts counts;
  for (std::string line; std::getline(info, line);) {
    if (!line.starts_with("cmdstat_")) continue;
    counts[std::string{field(line, "cmdstat_", ':')}] = std::stoll(std::string{field(line, "calls=", ',')});
  }
  return counts;
}

void redis_server::clear() const { connection{port_}.call({"FLUSHALL"}); }

double requests_between(call_counts const& before, call_counts const& after) {
  std::int64_t sum = 0;
  for (auto const& [command, count] : after) {
    if (sent_by_clients(command)) sum += count - count_of(before, command);
  }
  return static_cast<double>(sum);
}

double messages_between(call_counts const& before, call_counts const& after) {
  return static_cast<double>(count_of(after, "publish") - count_of(before, "publish"));
}

}  // namespace holdfast::bench
