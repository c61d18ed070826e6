#include "process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <system_error>
#include <thread>

namespace holdfast::bench {
namespace {

[[noreturn]] void fail(char const* call) { throw std::system_error{errno, std::generic_category(), call}; }

double seconds(timeval const& t) {
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
}

void expect_success(pid_t process, int status) {
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
  if (WIFSIGNALED(status))
    throw std::runtime_error{fmt::format("process {} ended by signal {}", process, WTERMSIG(status))};
  throw std::runtime_error{fmt::format("process {} ended with exit code {}", process, WEXITSTATUS(status))};
}

}  // namespace

void pin_to_core(int core) {
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(static_cast<std::size_t>(core), &only);
  if (sched_setaffinity(0, sizeof only, &only) != 0) fail("sched_setaffinity");
}

double cpu_seconds_of(pid_t process) {
  std::ifstream file{fmt::format("/proc/{}/stat", process)};
  std::string line;
  if (!std::getline(file, line)) throw std::runtime_error{fmt::format("no process {}", process)};
  // The program's name, in parentheses, may hold anything; utime and stime are the 12th and 13th fields after
  // it.
  std::istringstream fields{line.substr(line.rfind(')') + 1)};
  std::string skipped;
  for (int field = 0; field < 11; ++field) fields >> skipped;
  double user = 0;
  double system = 0;
  fields >> user >> system;
  return (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

double cpu_seconds() {
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) != 0) fail("getrusage");
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double resident_bytes() {
  std::ifstream file{"/proc/self/statm"};
  double total = 0;
  double resident = 0;
  file >> total >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE));
}

double milliseconds_to_run(std::vector<std::string> const& command) {
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (auto const& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);

  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  auto const start = std::chrono::steady_clock::now();
  pid_t process = 0;
  int const error = posix_spawnp(&process, arguments[0], &files, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  if (error != 0) throw std::system_error{error, std::generic_category(), command.front()};
  int status = 0;
  if (waitpid(process, &status, 0) != process) fail("waitpid");
  std::chrono::duration<double, std::milli> const took = std::chrono::steady_clock::now() - start;
  expect_success(process, status);
  return took.count();
}

void* detail::map_shared(std::size_t bytes) {
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) fail("mmap");
  return memory;
}

void detail::unmap_shared(void* memory, std::size_t bytes) noexcept { munmap(memory, bytes); }

void wait_for(std::atomic<bool> const& flag) {
  while (!flag) std::this_thread::sleep_for(std::chrono::milliseconds{2});
}

children::~children() {
  for (pid_t const process : running_) {
    kill(process, SIGKILL);
    waitpid(process, nullptr, 0);
  }
}

void children::start(std::function<void()> const& body) {
  pid_t const parent = getpid();
  pid_t const process = fork();
  if (process < 0) fail("fork");
  if (process > 0) {
    running_.push_back(process);
    return;
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);  // it died before the line above
  try {
    body();
  } catch (std::exception const& e) {
    fmt::print(stderr, "{}\n", e.what());
    _exit(1);
  }
  _exit(0);
}

void children::join() {
  while (!running_.empty()) {
    pid_t const process = running_.back();
    int status = 0;
    if (waitpid(process, &status, 0) != process) fail("waitpid");
    running_.pop_back();
    expect_success(process, status);
  }
}

void children::check() {
  for (auto process = running_.begin(); process != running_.end(); ++process) {
    int status = 0;
    if (waitpid(*process, &status, WNOHANG) == 0) continue;
    pid_t const ended = *process;
    running_.erase(process);
    expect_success(ended, status);
    throw std::runtime_error{fmt::format("process {} ended too early", ended)};
  }
}

void wait_until(children& running, std::function<bool()> const& done) {
  auto const deadline = std::chrono::steady_clock::now() + std::chrono::minutes{1};
  while (!done()) {
    running.check();
    if (std::chrono::steady_clock::now() > deadline)
      throw std::runtime_error{"children didn't get ready in a minute"};
    std::this_thread::sleep_for(std::chrono::milliseconds{5});
  }
}

}  // namespace holdfast::bench
