#include "process.hpp"

#include "eventually.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace holdfast::test {
namespace {

int memory_file(std::string const& content) {
  int const file = memfd_create("holdfast-test", MFD_CLOEXEC);
  if (file < 0) throw std::runtime_error{"memfd_create failed"};
  if (write(file, content.data(), content.size()) != static_cast<ssize_t>(content.size())) {
    throw std::runtime_error{"writing to memory failed"};
  }
  lseek(file, 0, SEEK_SET);
  return file;
}

}  // namespace

std::vector<std::string> environment_of(environment const& extra) {
  static std::set<std::string_view> const not_inherited{
      "HOLDFAST_URL",      "REDIS_URL",           "HOLDFAST_NAME",   "HOLDFAST_TOKEN",       "HOLDFAST_OWNER",
      "HOLDFAST_PASSWORD", "HOLDFAST_CONFIG_DIR", "XDG_CONFIG_HOME", "CREDENTIALS_DIRECTORY"};
  std::vector<std::string> all;
  // The machine's configuration is not the test's.
  for (std::string const name : {"HOLDFAST_CONFIG_DIR", "XDG_CONFIG_HOME"}) {
    if (!extra.contains(name)) all.push_back(name + "=/nowhere");
  }
  for (char** entry = environ; *entry != nullptr; ++entry) {
    std::string const line{*entry};
    auto const name = line.substr(0, line.find('='));
    if (!not_inherited.contains(name) && !extra.contains(name)) all.push_back(line);
  }
  for (auto const& [name, value] : extra) all.push_back(name + '=' + value);
  return all;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (auto& text : texts) all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

process::process(words const& command, environment const& extra, std::string const& input) {
  auto arguments = command;
  auto all = environment_of(extra);
  auto const argv = pointers(arguments);
  auto const envp = pointers(all);
  int const in = memory_file(input);
  out_ = memory_file({});
  err_ = memory_file({});
  auto const parent = getpid();
  pid_ = fork();
  if (pid_ < 0) throw std::runtime_error{"fork failed"};
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    dup2(in, STDIN_FILENO);
    dup2(out_, STDOUT_FILENO);
    dup2(err_, STDERR_FILENO);
    execvpe(argv.front(), argv.data(), envp.data());
    _exit(255);
  }
  close(in);
}

process::process(process&& other) noexcept
    : pid_{std::exchange(other.pid_, -1)},
      out_{std::exchange(other.out_, -1)},
      err_{std::exchange(other.err_, -1)},
      code_{other.code_} {}

process::~process() {
  if (pid_ > 0 && !code_) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  if (out_ >= 0) close(out_);
  if (err_ >= 0) close(err_);
}

void process::signal(int const number) const {
  if (!code_) kill(pid_, number);
}

std::optional<int> exit_code_of(pid_t const child) {
  int status = 0;
  if (waitpid(child, &status, WNOHANG) != child) return std::nullopt;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

std::optional<int> process::exit_code() {
  if (!code_) code_ = exit_code_of(pid_);
  return code_;
}

int process::wait(std::chrono::nanoseconds const within) {
  if (!eventually(within, [this] { return exit_code().has_value(); })) {
    throw std::runtime_error{"a process did not end in time; it said: " + err()};
  }
  return *code_;
}

std::string process::content(int const file) {
  std::string text;
  std::array<char, 4096> buffer{};
  for (;;) {
    auto const size = pread(file, buffer.data(), buffer.size(), static_cast<off_t>(text.size()));
    if (size <= 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(size));
  }
}

temporary_folder::temporary_folder() {
  auto name = (std::filesystem::temp_directory_path() / "holdfast-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error{"mkdtemp failed"};
  path_ = name;
}

temporary_folder::~temporary_folder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string content_of(std::string const& path) {
  std::ostringstream text;
  text << std::ifstream{path}.rdbuf();
  return text.str();
}

bool is_alive(pid_t const pid) {
  auto const stat = content_of("/proc/" + std::to_string(pid) + "/stat");
  auto const name_end = stat.rfind(") ");
  return name_end != std::string::npos && stat.at(name_end + 2) != 'Z';
}

}  // namespace holdfast::test
