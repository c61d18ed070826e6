#include "pipelined_floor.hpp"

#include <fmt/format.h>
#include <hiredis/hiredis.h>

#include <array>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <deque>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "redis.hpp"

namespace holdfast::bench {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

std::string encoded(std::vector<std::string> const& words) {
  std::string bytes = fmt::format("*{}\r\n", words.size());
  for (auto const& word : words) bytes += fmt::format("${}\r\n{}\r\n", word.size(), word);
  return bytes;
}

std::string encoded(std::vector<std::vector<std::string>> const& commands) {
  std::string bytes;
  for (auto const& each : commands) bytes += encoded(each);
  return bytes;
}

/// One request as bytes, and how many replies it gets.
struct request {
  explicit request(std::vector<std::vector<std::string>> const& commands)
      : bytes{encoded(commands)}, replies{commands.size()} {}
  std::string bytes;
  std::size_t replies;
};

/// Both requests of one cycle, and which of them is in flight.
struct cycle {
  request acquire;
  request release;
  bool acquiring = true;
  std::size_t outstanding = 0;  ///< replies
};

/// Replies come in the order of requests; all requests that one read brought about leave in one write.
class pipeline {
 public:
  pipeline(int port, command_maker const& commands, int outstanding) {
    socket_.connect({asio::ip::make_address("127.0.0.1"), static_cast<asio::ip::port_type>(port)});
    socket_.set_option(asio::ip::tcp::no_delay{true});
    for (int i = 0; i < outstanding; ++i) {
      auto const both = commands(fmt::format("bench:{}", i), fmt::format("{:036}:1", i));
      cycles_.push_back({.acquire = request{both.acquire}, .release = request{both.release}});
    }
  }

  double run_for(std::chrono::duration<double> time) {
    begin();
    auto const start = std::chrono::steady_clock::now();
    loop_.run_for(std::chrono::duration_cast<std::chrono::nanoseconds>(time));
    std::chrono::duration<double> const took = std::chrono::steady_clock::now() - start;
    return static_cast<double>(completed_) / took.count();
  }

  void run_cycles(long count) {
    begin();
    while (completed_ < count) loop_.run_one();
  }

 private:
  void begin() {
    for (auto& each : cycles_) send(each);
    flush();
    read();
  }

  void send(cycle& next) {
    auto const& sent = next.acquiring ? next.acquire : next.release;
    pending_ += sent.bytes;
    next.outstanding = sent.replies;
    in_flight_.push_back(&next);
  }

  void read() {
    socket_.async_read_some(asio::buffer(incoming_), [this](error_code failed, std::size_t size) {
      if (failed) throw boost::system::system_error{failed};
      redisReaderFeed(reader_.get(), incoming_.data(), size);
      for (void* reply = nullptr;
           redisReaderGetReply(reader_.get(), &reply) == REDIS_OK && reply != nullptr;) {
        take(static_cast<redisReply*>(reply));
      }
      flush();
      read();
    });
  }

  void take(redisReply* reply) {
    bool const error = reply->type == REDIS_REPLY_ERROR;
    auto const text = error ? std::string{reply->str} : std::string{};
    freeReplyObject(reply);
    if (error) throw std::runtime_error{text};
    auto& answered = *in_flight_.front();
    if (--answered.outstanding != 0) return;
    in_flight_.pop_front();
    if (!answered.acquiring) ++completed_;
    answered.acquiring = !answered.acquiring;
    send(answered);
  }

  void flush() {
    if (!writing_.empty() || pending_.empty()) return;
    writing_.swap(pending_);
    asio::async_write(socket_, asio::buffer(writing_), [this](error_code failed, std::size_t) {
      if (failed) throw boost::system::system_error{failed};
      writing_.clear();
      flush();
    });
  }

  struct free_reader {
    void operator()(redisReader* reader) const noexcept { redisReaderFree(reader); }
  };

  asio::io_context loop_{1};
  asio::ip::tcp::socket socket_{loop_};
  std::unique_ptr<redisReader, free_reader> reader_{redisReaderCreate()};
  std::array<char, 65536> incoming_{};
  std::string pending_;
  std::string writing_;
  std::vector<cycle> cycles_;
  std::deque<cycle*> in_flight_;
  long completed_ = 0;
};

}  // namespace

double pipelined_cycles_per_second(int port, wire_commands wire, int outstanding,
                                   std::chrono::duration<double> time) {
  connection setup{port};
  return pipeline{port, wire(setup), outstanding}.run_for(time);
}

void run_pipelined_cycles(int port, wire_commands wire, int outstanding, long count) {
  connection setup{port};
  pipeline{port, wire(setup), outstanding}.run_cycles(count);
}

}  // namespace holdfast::bench
