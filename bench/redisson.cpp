#include "redisson.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <system_error>

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

std::string line_from(std::FILE* file) {
  std::string line;
  for (int c = std::fgetc(file); c != EOF && c != '\n'; c = std::fgetc(file))
    line.push_back(static_cast<char>(c));
  if (line.empty()) throw std::runtime_error{"Redisson's program ended; what it said stands above"};
  return line;
}

}  // namespace

bool redisson::is_in(std::filesystem::path const& folder) {
  return std::filesystem::exists(folder / "classes" / "holdfast" / "peer" / "Load.class");
}

redisson::redisson(std::filesystem::path const& folder, int port) {
  auto const requests = make_pipe();
  auto const answers = make_pipe();
  jvm_.start([&] {
    dup2(requests.read, STDIN_FILENO);
    dup2(answers.write, STDOUT_FILENO);
    auto const where = fmt::format("{0}/classes:{0}/lib/*", folder.string());
    execlp("java", "java", "-cp", where.c_str(), "holdfast.peer.Load", fmt::to_string(port).c_str(), nullptr);
    throw std::system_error{errno, std::generic_category(), "java"};
  });
  ::close(requests.read);
  ::close(answers.write);
  to_.reset(fdopen(requests.write, "w"));
  from_.reset(fdopen(answers.read, "r"));
}

redisson_rates redisson::one_name(int threads, std::chrono::duration<double> time) {
  return ask(fmt::format("one {} {}\n", threads, time.count()), time);
}

redisson_rates redisson::different_names(int threads, std::chrono::duration<double> time) {
  return ask(fmt::format("different {} {}\n", threads, time.count()), time);
}

redisson_rates redisson::ask(std::string const& request, std::chrono::duration<double> time) {
  std::fputs(request.c_str(), to_.get());
  std::fflush(to_.get());
  pollfd answer{fileno(from_.get()), POLLIN, 0};
  auto const patience = std::chrono::duration_cast<std::chrono::milliseconds>(time + std::chrono::minutes{1});
  if (poll(&answer, 1, static_cast<int>(patience.count())) != 1) {
    throw std::runtime_error{"Redisson's program doesn't answer"};
  }
  auto const found = nlohmann::json::parse(line_from(from_.get()));
  auto const seconds = found.at("seconds").get<double>();
  auto const cycles = found.at("cycles").get<double>();
  return {cycles / seconds, found.at("handoffs").get<double>() / seconds,
          1e6 * found.at("cpu_seconds").get<double>() / cycles};
}

void redisson::close::operator()(std::FILE* file) const noexcept { std::fclose(file); }

}  // namespace holdfast::bench
