#include "majority_floor.hpp"

#include <fmt/format.h>
#include <hiredis/hiredis.h>
#include <poll.h>

#include <memory>
#include <stdexcept>
#include <string>

#include "exclusive_commands.hpp"
#include "redis.hpp"
#include "timing.hpp"

namespace holdfast::bench {
namespace {

constexpr auto name = "bench:majority";

struct close {
  void operator()(redisContext* context) const noexcept { redisFree(context); }
};

/// One server, and how many of its answers are still to come.
struct node {
  std::unique_ptr<redisContext, close> line;
  int outstanding = 0;

  void ask(std::string const& encoded) {
    redisAppendFormattedCommand(line.get(), encoded.data(), encoded.size());
    for (int done = 0; done == 0;) check(redisBufferWrite(line.get(), &done));
    ++outstanding;
  }

  void read() {
    check(redisBufferRead(line.get()));
    for (void* reply = nullptr;; freeReplyObject(reply), --outstanding) {
      check(redisGetReplyFromReader(line.get(), &reply));
      if (reply == nullptr) return;
      if (auto const* text = static_cast<redisReply*>(reply); text->type == REDIS_REPLY_ERROR) {
        throw std::runtime_error{text->str};
      }
    }
  }

  void check(int result) const {
    if (result != REDIS_OK) throw std::runtime_error{line->errstr};
  }
};

std::string encoded(connection::words const& command) {
  std::string text = fmt::format("*{}\r\n", command.size());
  for (auto const& word : command) text += fmt::format("${}\r\n{}\r\n", word.size(), word);
  return text;
}

class masters {
 public:
  explicit masters(std::vector<int> const& ports) {
    for (int const port : ports) {
      nodes_.push_back({std::unique_ptr<redisContext, close>{redisConnect("127.0.0.1", port)}});
      sockets_.push_back({nodes_.back().line->fd, POLLIN, 0});
    }
  }

  /// Returns when most have answered all that they were asked; the others do so while the next is under way.
  void ask_all(std::string const& command) {
    for (auto& each : nodes_) each.ask(command);
    for (;;) {
      std::size_t answered = 0;
      for (auto const& each : nodes_) answered += each.outstanding == 0 ? 1 : 0;
      if (2 * answered > nodes_.size()) return;
      poll(sockets_.data(), sockets_.size(), -1);
      for (std::size_t i = 0; i < nodes_.size(); ++i) {
        if (sockets_[i].revents != 0) nodes_[i].read();
      }
    }
  }

 private:
  std::vector<node> nodes_;
  std::vector<pollfd> sockets_;
};

}  // namespace

double majority_cycle_us(std::vector<int> const& ports, std::chrono::duration<double> time) {
  exclusive_commands commands;
  for (int const port : ports) {
    connection redis{port};
    commands = script_commands(redis)(name, fmt::format("{:036}:1", 1));
  }
  auto const acquire = encoded(commands.acquire.front());
  auto const release = encoded(commands.release.front());
  masters all{ports};
  return median_us(time, [&] {
    all.ask_all(acquire);
    all.ask_all(release);
  });
}

}  // namespace holdfast::bench
