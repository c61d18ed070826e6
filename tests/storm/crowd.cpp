#include "crowd.hpp"

#include "worker.hpp"

#include <algorithm>
#include <csignal>
#include <fstream>
#include <stdexcept>
#include <utility>

namespace holdfast::storm {
namespace {

using namespace std::chrono_literals;

constexpr auto code_of_sigkill = 128 + SIGKILL;
constexpr auto code_of_sigterm = 128 + SIGTERM;  // it hadn't begun yet
constexpr std::size_t most_of_an_error = 2'000;

/// A killed process may have written a part of its last line. The server hasn't heard of what it says.
void drop_half_line(std::filesystem::path const& path) {
  std::ifstream file{path, std::ios::binary};
  std::string const text{std::istreambuf_iterator<char>{file}, {}};
  auto const end = text.rfind('\n');
  auto const whole = end == std::string::npos ? 0 : end + 1;
  if (whole != text.size()) std::filesystem::resize_file(path, whole);
}

}  // namespace

crowd::crowd(crowd_options options, dice choices)
    : options_{std::move(options)},
      dice_{choices},
      board_{options_.folder / "board"},
      members_(static_cast<std::size_t>(options_.workers)) {
  for (auto worker = 0; worker < options_.workers; ++worker) spawn(worker);
}

void crowd::spawn(int worker) {
  auto& of = members_.at(static_cast<std::size_t>(worker));
  auto const number = std::to_string(worker) + '-' + std::to_string(++of.spawned);
  of.killed = of.frozen = false;
  of.process = std::make_unique<test::process>(command_of(
      {.url = options_.url(worker),
       .history = options_.lasting ? std::string{} : (options_.folder / (number + ".jsonl")).string(),
       .board = options_.folder / "board",
       .kinds = options_.kinds,
       .seed = dice_.seed(),
       .threads = options_.threads,
       .sprinters = options_.lasting ? 0 : options_.sprinters,
       .measured_as = options_.lasting ? worker : -1}));
}

void crowd::kill(int worker) {
  auto& of = members_.at(static_cast<std::size_t>(worker));
  of.killed = true;
  of.process->signal(SIGKILL);
}

void crowd::freeze(int worker) {
  auto& of = members_.at(static_cast<std::size_t>(worker));
  of.frozen = true;
  of.process->signal(SIGSTOP);
}

void crowd::thaw(int worker) {
  auto& of = members_.at(static_cast<std::size_t>(worker));
  if (std::exchange(of.frozen, false)) of.process->signal(SIGCONT);
}

void crowd::note_end(member& of, int worker, int code) {
  if (code == 0 || code == code_of_sigterm || (of.killed && code == code_of_sigkill)) return;
  problems_.push_back("worker " + std::to_string(worker) + '-' + std::to_string(of.spawned) + " ended with " +
                      std::to_string(code) + ": " + of.process->err().substr(0, most_of_an_error));
}

void crowd::look() {
  for (auto worker = 0; worker < options_.workers; ++worker) {
    auto& of = members_.at(static_cast<std::size_t>(worker));
    auto const code = of.process->exit_code();
    if (!code) continue;
    note_end(of, worker, *code);
    if (options_.lasting) problems_.push_back("worker " + std::to_string(worker) + " ended early");
    spawn(worker);
  }
}

void crowd::finish() {
  for (auto worker = 0; worker < options_.workers; ++worker) {
    thaw(worker);
    members_.at(static_cast<std::size_t>(worker)).process->signal(SIGTERM);
  }
  for (auto worker = 0; worker < options_.workers; ++worker) {
    auto& of = members_.at(static_cast<std::size_t>(worker));
    try {
      note_end(of, worker, of.process->wait(60s));
    } catch (std::exception const& problem) {
      problems_.push_back("worker " + std::to_string(worker) + " doesn't end at SIGTERM: " + problem.what());
      of.process->signal(SIGKILL);
      of.process->wait();
    }
  }
}

std::vector<std::string> crowd::histories() const {
  std::vector<std::string> all;
  for (auto const& entry : std::filesystem::directory_iterator{options_.folder}) {
    if (entry.path().extension() != ".jsonl") continue;
    drop_half_line(entry.path());
    if (std::filesystem::file_size(entry.path()) != 0) all.push_back(entry.path());
  }
  std::ranges::sort(all);
  return all;
}

bool crowd::store_refuses_older_tokens() const {
  for (std::size_t resource = 0; resource != most_resources; ++resource) {
    auto const newest = board_.content().newest.at(resource).load();
    if (newest > 0 && board_.write(resource, newest - 1)) return false;
  }
  return true;
}

}  // namespace holdfast::storm
