#include "server/embedded_server.hpp"

#include "common/exit_codes.hpp"
#include "process/find_program.hpp"
#include "process/inherited_files.hpp"
#include "server/installed_module.hpp"
#include "server/local_folder.hpp"
#include "server/local_socket.hpp"
#include "server/own_unit.hpp"

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
#include <csignal>
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

/// Encodes a path for a URL.
std::string percent_encoded(std::string_view const path) {
  std::string text;
  for (char const c : path) {
    bool const plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || std::strchr("/-._~", c) != nullptr;
    text += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return text;
}

/// A file that one process can lock, and those that inherit it from that one.
class lock_file {
 public:
  explicit lock_file(fs::path path)
      : path_{std::move(path)}, file_{open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)} {
    if (file_ < 0) can_not_lock(errno);
  }
  ~lock_file() { close(file_); }
  lock_file(lock_file const&) = delete;
  lock_file& operator=(lock_file const&) = delete;

  void lock() const {
    if (flock(file_, LOCK_EX) != 0) can_not_lock(errno);
  }
  /// False: another process has it.
  [[nodiscard]] bool try_lock() const {
    if (flock(file_, LOCK_EX | LOCK_NB) == 0) return true;
    if (errno != EWOULDBLOCK) can_not_lock(errno);
    return false;
  }
  void unlock() const { flock(file_, LOCK_UN); }

  [[nodiscard]] fs::path const& path() const noexcept { return path_; }
  [[nodiscard]] int descriptor() const noexcept { return file_; }

 private:
  [[noreturn]] void can_not_lock(int const error) const {
    no_private_server(fmt::format("can't lock {}: {}", path_.native(), std::strerror(error)));
  }

  fs::path path_;
  int file_;
};

[[noreturn]] void can_not_start(std::string const& program, int const error) {
  no_private_server(
      fmt::format("{} can't be started ({}): install it (apt install redis-server), or name another "
                  "program by HOLDFAST_REDIS_SERVER",
                  program, std::strerror(error)));
}

/// The whole path, since a unit of systemd's has a PATH of its own.
std::string program_to_start() {
  char const* const named = std::getenv("HOLDFAST_REDIS_SERVER");
  std::vector<std::string> names{"redis-server", "valkey-server"};
  if (named != nullptr && *named != '\0') names = {named};
  for (auto const& name : names) {
    if (auto path = find_program(name, unnamed_folder::none); !path.empty()) return path;
  }
  can_not_start(names.front(), ENOENT);
}

std::vector<std::string> server_command(fs::path const& folder) {
  auto const in = [&](char const* name) { return (folder / name).native(); };
  return {program_to_start(),
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
}

struct launched {
  pid_t pid = -1;
  int exec_error = 0;  ///< if not 0, the process has ended
};

/// In a session of its own, so that neither ^C nor our end affects it. `input`: its standard input.
launched launch(std::vector<std::string> words, int const input) {
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  std::array<int, 2> report{};
  if (pipe2(report.data(), O_CLOEXEC) != 0) no_private_server(fmt::format("pipe: {}", std::strerror(errno)));

  pid_t const pid = fork();
  if (pid == 0) {
    setsid();
    umask(077);
    dup2(input, STDIN_FILENO);
    int const nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (nothing >= 0) {
      for (int const standard : {STDOUT_FILENO, STDERR_FILENO}) dup2(nothing, standard);
    }
    inherited_files::close_all(report[1]);
    execvp(arguments.front(), arguments.data());
    int const error = errno;
    static_cast<void>(!write(report[1], &error, sizeof error));
    _exit(not_found);
  }
  int const fork_error = errno;
  close(report[1]);
  launched made{.pid = pid, .exec_error = 0};
  static_cast<void>(!read(report[0], &made.exec_error, sizeof made.exec_error));
  close(report[0]);
  if (pid < 0) no_private_server(fmt::format("fork: {}", std::strerror(fork_error)));
  if (made.exec_error != 0) waitpid(pid, nullptr, 0);
  return made;
}

class start_time {
 public:
  [[nodiscard]] bool is_over() const { return std::chrono::steady_clock::now() > end_; }

 private:
  std::chrono::steady_clock::time_point const end_ = std::chrono::steady_clock::now() + start_limit;
};

void pause_before_next_look() { std::this_thread::sleep_for(2ms); }

/// The end of a child can be learnt, also when our parent has us ignore SIGCHLD.
class known_ends {
 public:
  known_ends() {
    struct sigaction plain{};
    plain.sa_handler = SIG_DFL;
    sigaction(SIGCHLD, &plain, &before_);
  }
  ~known_ends() { sigaction(SIGCHLD, &before_, nullptr); }
  known_ends(known_ends const&) = delete;
  known_ends& operator=(known_ends const&) = delete;

 private:
  struct sigaction before_{};
};

/// The unit locks `running`, which must be free. False: systemd, or the program that asks it, has refused.
bool started_as_unit(std::vector<std::string> const& command, lock_file const& running) {
  auto words = unit_launcher(look_for_systemd());
  if (words.empty() || local_folder_is_named()) return false;
  words.insert(words.end(), {"flock", "--nonblock", "--no-fork", running.path().native()});
  words.insert(words.end(), command.begin(), command.end());
  int const nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  auto const asking = launch(words, nothing);
  close(nothing);
  if (asking.exec_error != 0) return false;
  int status = 0;
  for (start_time const limit; waitpid(asking.pid, &status, WNOHANG) != asking.pid;
       pause_before_next_look()) {
    if (!limit.is_over()) continue;
    kill(asking.pid, SIGKILL);
    waitpid(asking.pid, nullptr, 0);
    // Not without systemd now: it may still start its own.
    no_private_server("systemd-run did not answer in 5 s");
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/// Needs the lock of `running`, which the server then has. Its process if it is our child; -1: systemd's;
/// empty: somebody else has started one.
std::optional<pid_t> start_one(std::vector<std::string> const& command, lock_file const& running) {
  running.unlock();
  if (started_as_unit(command, running)) return -1;
  if (!running.try_lock()) return std::nullopt;
  auto const server = launch(command, running.descriptor());
  if (server.exec_error != 0) can_not_start(command.front(), server.exec_error);
  return server.pid;
}

/// A server takes the socket from one that has it, and then there are two, and two holders of each lock. So
/// each locks a file for as long as it lives (its standard input), and none is started beside one that lives
/// but doesn't listen, or not yet: its starter may have been killed meanwhile. False: the server has
/// ended, since it can't load its module.
bool came_up(std::vector<std::string> const& command, fs::path const& folder, fs::path const& socket) {
  new_log_lines const new_lines{folder / "redis.log"};
  lock_file const running{folder / "running"};
  std::optional<pid_t> server;
  for (start_time const limit;; pause_before_next_look()) {
    bool const listens = listens_on_unix(socket);
    if (listens && !server) return true;
    if (!server && running.try_lock()) server = start_one(command, running);
    pid_t const child = server.value_or(-1);
    bool const ended = child > 0 && waitpid(child, nullptr, WNOHANG) == child;
    if (server && new_lines.refuse_a_module()) {
      if (child > 0 && !ended) waitpid(child, nullptr, 0);
      return false;
    }
    if (listens && !ended && (new_lines.say_that_it_is_ready() || limit.is_over())) return true;
    if (!ended && !limit.is_over()) continue;
    if (!ended && child > 0) kill(child, SIGKILL);
    auto const log = (folder / "redis.log").native();
    if (!server) {
      no_private_server(
          fmt::format("one that runs already did not answer at {} in 5 s: see {}, and end it ({})",
                      socket.native(), log, (folder / "redis.pid").native()));
    }
    no_private_server(fmt::format("{} {}: see {}", command.front(),
                                  ended ? "ended at once" : "did not answer in 5 s", log));
  }
}

/// With our module, if it is here and fits the server: locks are the same without it.
void start(fs::path const& folder, fs::path const& socket) {
  known_ends const as_needed;
  auto const command = server_command(folder);
  auto with_module = command;
  if (auto const module = installed_module(); !module.empty()) {
    with_module.emplace_back("--loadmodule");
    with_module.emplace_back(module.native());
  }
  if (came_up(with_module, folder, socket) || came_up(command, folder, socket)) return;
  no_private_server(
      fmt::format("{} can't load a module: see {}", command.front(), (folder / "redis.log").native()));
}

embedded_server server_in(fs::path const& folder) {
  auto const socket = folder / "redis.sock";
  if (socket.native().size() > longest_unix_path) {
    no_private_server(
        fmt::format("{} is too long for a socket (limit {}): set HOLDFAST_LOCAL_DIR to a "
                    "shorter one",
                    socket.native(), longest_unix_path));
  }
  return {"redis+unix://" + percent_encoded(socket.native()), socket.native()};
}

}  // namespace

embedded_server use_embedded_server() {
  auto const folder = local_folder();
  make_private(folder);
  auto server = server_in(folder);
  if (listens_on_unix(server.socket)) return server;
  lock_file const starting{folder / "lock"};
  starting.lock();
  if (listens_on_unix(server.socket)) return server;
  start(folder, server.socket);
  return server;
}

std::optional<embedded_server> find_embedded_server() {
  auto const folder = local_folder();
  if (access(folder.c_str(), F_OK) != 0) return std::nullopt;
  require_private(folder);
  auto server = server_in(folder);
  if (!listens_on_unix(server.socket)) return std::nullopt;
  return server;
}

}  // namespace holdfast::cli
