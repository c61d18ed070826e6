#include "peer_load.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace holdfast::bench {
namespace {

struct pipe_ends {
  int read;
  int write;
};

pipe_ends make_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) throw std::system_error{errno, std::generic_category(), "pipe2"};
  return {ends[0], ends[1]};
}

std::string line_from(std::FILE* file, std::string const& program) {
  std::string line;
  for (int c = std::fgetc(file); c != EOF && c != '\n'; c = std::fgetc(file))
    line.push_back(static_cast<char>(c));
  if (line.empty()) throw std::runtime_error{program + " ended; what it said stands above"};
  return line;
}

[[noreturn]] void become(std::vector<std::string> command) {
  std::vector<char*> words;
  for (auto& word : command) words.push_back(word.data());
  words.push_back(nullptr);
  execvp(words[0], words.data());
  throw std::system_error{errno, std::generic_category(), command.front()};
}

}  // namespace

peer_load::peer_load(std::vector<std::string> const& command) : name_{command.front()} {
  auto const requests = make_pipe();
  auto const answers = make_pipe();
  process_.start([&] {
    dup2(requests.read, STDIN_FILENO);
    dup2(answers.write, STDOUT_FILENO);
    become(command);
  });
  ::close(requests.read);
  ::close(answers.write);
  to_.reset(fdopen(requests.write, "w"));
  from_.reset(fdopen(answers.read, "r"));
}

peer_rates peer_load::run(std::string_view load, int threads, std::chrono::duration<double> time) {
  std::fputs(fmt::format("{} {} {}\n", load, threads, time.count()).c_str(), to_.get());
  std::fflush(to_.get());
  pollfd answer{fileno(from_.get()), POLLIN, 0};
  auto const patience = std::chrono::duration_cast<std::chrono::milliseconds>(time + std::chrono::minutes{1});
  if (poll(&answer, 1, static_cast<int>(patience.count())) != 1) {
    throw std::runtime_error{name_ + " doesn't answer"};
  }
  auto const found = nlohmann::json::parse(line_from(from_.get(), name_));
  auto const seconds = found.at("seconds").get<double>();
  auto const cycles = found.at("cycles").get<double>();
  return {cycles / seconds, found.at("handoffs").get<double>() / seconds,
          1e6 * found.at("cpu_seconds").get<double>() / cycles};
}

void peer_load::close::operator()(std::FILE* file) const noexcept { std::fclose(file); }

bool redisson_program::is_in(std::filesystem::path const& folder) {
  return std::filesystem::exists(folder / "classes" / "holdfast" / "peer" / "Load.class");
}

std::vector<std::string> redisson_program::command(std::filesystem::path const& folder, int port) {
  return {"java", "-cp", fmt::format("{0}/classes:{0}/lib/*", folder.string()), "holdfast.peer.Load",
          fmt::to_string(port)};
}

bool redsync_program::is_in(std::filesystem::path const& folder) {
  return std::filesystem::exists(folder / "run");
}

std::vector<std::string> redsync_program::command(std::filesystem::path const& folder,
                                                  std::vector<int> const& ports) {
  return {folder / "run", "load", fmt::format("{}", fmt::join(ports, ","))};
}

}  // namespace holdfast::bench
