#include "server/embedded_server.hpp"

#include "common/exit_codes.hpp"
#include "common/output.hpp"
#include "process/inherited_files.hpp"
#include "server/local_socket.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

constexpr auto start_limit = 5s;

[[noreturn]] void give_up(std::string const& reason) {
  throw failure{unavailable, fmt::format("no Redis given or on localhost:6379, and no private one: {}; "
                                         "give one with --url redis://HOST:PORT",
                                         reason)};
}

/// Other users may neither read nor write the folder: the server behind the socket decides who holds a lock.
void require_private(fs::path const& folder) {
  struct stat found{};
  if (lstat(folder.c_str(), &found) != 0) {
    give_up(fmt::format("can't look at the folder {}: {}", folder.native(), std::strerror(errno)));
  }
  if (!S_ISDIR(found.st_mode)) give_up(fmt::format("{} is no folder", folder.native()));
  if (found.st_uid != geteuid()) {
    give_up(fmt::format("the folder {} belongs to user {}, not to you", folder.native(), found.st_uid));
  }
  if ((found.st_mode & 077) != 0) {
    give_up(fmt::format("the folder {} is open to other users (mode {:03o}): chmod 700 it", folder.native(),
                        found.st_mode & 0777U));
  }
}

void make_private(fs::path const& folder) {
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    give_up(fmt::format("can't make the folder {}: {}", folder.native(), std::strerror(errno)));
  }
  require_private(folder);
}

/// Encodes a path for a URL.
std::string percent_encoded(std::string_view const path) {
  std::string text;
  for (char const c : path) {
    bool const plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || std::strchr("/-._~", c) != nullptr;
    text += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return text;
}

fs::path runtime_folder() {
  char const* const given = std::getenv("XDG_RUNTIME_DIR");
  if (given != nullptr && given[0] == '/') return given;
  fs::path usual{fmt::format("/run/user/{}", geteuid())};
  if (access(usual.c_str(), W_OK) == 0) return usual;
  return fmt::format("/tmp/holdfast-{}", geteuid());
}

/// A lock on a file, held by the process that starts the server.
class file_lock {
 public:
  explicit file_lock(fs::path const& path) : file_{open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)} {
    if (file_ < 0 || flock(file_, LOCK_EX) != 0) {
      int const error = errno;
      close(file_);
      give_up(fmt::format("can't lock {}: {}", path.native(), std::strerror(error)));
    }
  }
  ~file_lock() { close(file_); }
  file_lock(file_lock const&) = delete;
  file_lock& operator=(file_lock const&) = delete;

 private:
  int file_;
};

/// The programs to try, in this order.
std::vector<char const*> programs() {
  char const* const named = std::getenv("HOLDFAST_REDIS_SERVER");
  if (named != nullptr && *named != '\0') return {named};
  return {"redis-server", "valkey-server"};
}

/// Starts the server in its own session, so that neither ^C nor our end affects it. Returns the pid; reports
/// a failure of exec through `report`.
pid_t launch(fs::path const& folder, int const report) {
  auto const in = [&](char const* name) { return (folder / name).native(); };
  auto const to_try = programs();
  std::vector<std::string> words{to_try.front(),
                                 "--port",
                                 "0",
                                 "--unixsocket",
                                 in("redis.sock"),
                                 "--unixsocketperm",
                                 "700",
                                 "--save",
                                 "",
                                 "--appendonly",
                                 "no",
                                 "--maxmemory-policy",
                                 "noeviction",
                                 "--dir",
                                 folder.native(),
                                 "--pidfile",
                                 in("redis.pid"),
                                 "--logfile",
                                 in("redis.log"),
                                 "--daemonize",
                                 "no"};
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);

  pid_t const pid = fork();
  if (pid != 0) return pid;
  setsid();
  umask(077);
  int const nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (nothing >= 0) {
    for (int const standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(nothing, standard);
  }
  inherited_files::close_all(report);
  for (char const* const program : to_try) execvp(program, arguments.data());
  int const error = errno;
  static_cast<void>(!write(report, &error, sizeof error));
  _exit(not_found);
}

void start(fs::path const& folder, fs::path const& socket) {
  std::array<int, 2> report{};
  if (pipe2(report.data(), O_CLOEXEC) != 0) give_up(fmt::format("pipe: {}", std::strerror(errno)));
  pid_t const pid = launch(folder, report[1]);
  int const fork_error = errno;
  close(report[1]);
  int exec_error = 0;
  bool const not_there = read(report[0], &exec_error, sizeof exec_error) > 0;
  close(report[0]);
  if (pid < 0) give_up(fmt::format("fork: {}", std::strerror(fork_error)));
  if (not_there) {
    waitpid(pid, nullptr, 0);
    give_up(
        fmt::format("{} can't be started ({}): install it (apt install redis-server), or name another "
                    "program by HOLDFAST_REDIS_SERVER",
                    programs().front(), std::strerror(exec_error)));
  }
  for (auto const end = std::chrono::steady_clock::now() + start_limit; !listens_on_unix(socket);) {
    bool const ended = waitpid(pid, nullptr, WNOHANG) == pid;
    if (ended || std::chrono::steady_clock::now() > end) {
      if (!ended) kill(pid, SIGKILL);
      give_up(fmt::format("{} {}: see {}", programs().front(),
                          ended ? "ended at once" : "did not answer in 5 s",
                          (folder / "redis.log").native()));
    }
    std::this_thread::sleep_for(2ms);
  }
}

embedded_server server_in(fs::path const& folder) {
  auto const socket = folder / "redis.sock";
  if (socket.native().size() > longest_unix_path) {
    give_up(fmt::format("{} is too long for a socket (limit {}): set XDG_RUNTIME_DIR to a shorter one",
                        socket.native(), longest_unix_path));
  }
  return {"redis+unix://" + percent_encoded(socket.native()), socket.native(), false};
}

}  // namespace

embedded_server use_embedded_server() {
  auto const runtime = runtime_folder();
  make_private(runtime);
  auto const folder = runtime / "holdfast";
  make_private(folder);
  auto server = server_in(folder);
  if (listens_on_unix(server.socket)) return server;
  file_lock const start_lock{folder / "lock"};
  if (listens_on_unix(server.socket)) return server;
  start(folder, server.socket);
  server.started_now = true;
  return server;
}

std::optional<embedded_server> find_embedded_server() {
  auto const runtime = runtime_folder();
  auto const folder = runtime / "holdfast";
  if (access(folder.c_str(), F_OK) != 0) return std::nullopt;
  require_private(runtime);
  require_private(folder);
  auto server = server_in(folder);
  if (!listens_on_unix(server.socket)) return std::nullopt;
  return server;
}

}  // namespace holdfast::cli
