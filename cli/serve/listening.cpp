#include "serve/listening.hpp"

#include "base/whole_number.hpp"
#include "common/environment.hpp"
#include "common/exit_codes.hpp"
#include "common/output.hpp"
#include "serve/address_text.hpp"

#include <fmt/format.h>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

namespace holdfast::cli {
namespace {

constexpr int first_passed_file = 3;
constexpr int longest_backlog = 1024;

struct any_address {
  sockaddr_storage storage{};
  socklen_t size = 0;
};

[[noreturn]] void no_address(std::string_view const text) {
  throw failure{usage,
                fmt::format("--listen: {} is no address; write for example 127.0.0.1:7480 or [::1]:7480",
                            output::quoted(text))};
}

any_address read_address(std::string_view const text) {
  auto const colon = text.rfind(':');
  if (colon == std::string_view::npos) no_address(text);
  auto const port = whole_number<std::uint16_t>(text.substr(colon + 1));
  if (!port) no_address(text);
  std::string host{text.substr(0, colon)};
  any_address address;
  if (host == "localhost") host = "127.0.0.1";
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
    auto& six = reinterpret_cast<sockaddr_in6&>(address.storage);
    if (inet_pton(AF_INET6, host.c_str(), &six.sin6_addr) != 1) no_address(text);
    six.sin6_family = AF_INET6;
    six.sin6_port = htons(*port);
    address.size = sizeof six;
    return address;
  }
  auto& four = reinterpret_cast<sockaddr_in&>(address.storage);
  if (inet_pton(AF_INET, host.c_str(), &four.sin_addr) != 1) no_address(text);
  four.sin_family = AF_INET;
  four.sin_port = htons(*port);
  address.size = sizeof four;
  return address;
}

std::uint16_t port_of(any_address const& address) {
  return address.storage.ss_family == AF_INET6
             ? ntohs(reinterpret_cast<sockaddr_in6 const&>(address.storage).sin6_port)
             : ntohs(reinterpret_cast<sockaddr_in const&>(address.storage).sin_port);
}

/// Address and reach of a socket that listens.
listening_socket described(int const file) {
  any_address address;
  address.size = sizeof address.storage;
  getsockname(file, reinterpret_cast<sockaddr*>(&address.storage), &address.size);
  auto const text = address_text(reinterpret_cast<sockaddr const*>(&address.storage), address.size);
  if (address.storage.ss_family == AF_INET) {
    auto const& four = reinterpret_cast<sockaddr_in const&>(address.storage);
    return {file, fmt::format("{}:{}", text, port_of(address)), (ntohl(four.sin_addr.s_addr) >> 24U) == 127};
  }
  if (address.storage.ss_family == AF_INET6) {
    auto const& six = reinterpret_cast<sockaddr_in6 const&>(address.storage);
    return {file, fmt::format("[{}]:{}", text, port_of(address)), IN6_IS_ADDR_LOOPBACK(&six.sin6_addr) != 0};
  }
  return {file, "a socket in the file system", address.storage.ss_family == AF_UNIX};
}

/// The inode of the socket that listens on the port, as /proc/net/tcp has it; empty: unknown.
std::string inode_on(std::uint16_t const port) {
  for (char const* const table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::ifstream lines{table};
    std::string line;
    std::getline(lines, line);
    while (std::getline(lines, line)) {
      std::istringstream words{line};
      std::array<std::string, 10> word{};
      for (auto& each : word) words >> each;
      constexpr std::string_view listens = "0A";
      if (word[3] == listens && word[1].ends_with(fmt::format(":{:04X}", port))) return word[9];
    }
  }
  return {};
}

/// " (nginx, pid 812)"; empty: this user may not know.
std::string owner_of(std::uint16_t const port) {
  namespace files = std::filesystem;
  auto const inode = inode_on(port);
  if (inode.empty()) return {};
  auto const wanted = fmt::format("socket:[{}]", inode);
  std::error_code ignored;
  for (auto const& process : files::directory_iterator{"/proc", ignored}) {
    auto const pid = process.path().filename().string();
    if (pid.find_first_not_of("0123456789") != std::string::npos) continue;
    std::error_code refused;
    for (files::directory_iterator file{process.path() / "fd", refused}, end; !refused && file != end;
         file.increment(refused)) {
      std::error_code gone;
      if (files::read_symlink(file->path(), gone).string() != wanted) continue;
      std::string name;
      std::ifstream comm{process.path() / "comm"};
      std::getline(comm, name);
      return fmt::format(" by {} (pid {})", output::one_line(name), pid);
    }
  }
  return {};
}

[[noreturn]] void not_had(std::string_view const text, any_address const& address, int const error) {
  if (error == EADDRINUSE) {
    throw failure{unavailable, fmt::format("--listen: the port of {} is taken{}; give another one", text,
                                           owner_of(port_of(address)))};
  }
  throw failure{unavailable, fmt::format("--listen: can't listen on {}: {}", text, std::strerror(error))};
}

}  // namespace

listening_socket listen_on(std::string_view const text) {
  auto const address = read_address(text);
  int const file = socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (file < 0) not_had(text, address, errno);
  int const yes = 1;
  setsockopt(file, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (bind(file, reinterpret_cast<sockaddr const*>(&address.storage), address.size) != 0 ||
      listen(file, longest_backlog) != 0) {
    int const error = errno;
    close(file);
    not_had(text, address, error);
  }
  return described(file);
}

listening_socket passed_socket() {
  auto const count = environment_value("LISTEN_FDS");
  bool const for_this_process = environment_value("LISTEN_PID") == std::to_string(getpid());
  for (char const* const name : {"LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES"}) unsetenv(name);
  if (count.empty() || !for_this_process) return {};
  if (count != "1")
    throw failure{usage,
                  fmt::format("LISTEN_FDS: {} sockets were passed; pass one", output::one_line(count))};
  int listens = 0;
  socklen_t size = sizeof listens;
  if (getsockopt(first_passed_file, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 || listens == 0)
    throw failure{usage,
                  "LISTEN_FDS: what was passed is no socket that listens (Accept=no in the .socket unit)"};
  fcntl(first_passed_file, F_SETFD, FD_CLOEXEC);
  return described(first_passed_file);
}

}  // namespace holdfast::cli
