#include "redis.hpp"

#include <fmt/format.h>
#include <hiredis/hiredis.h>

#include <chrono>
#include <stdexcept>

#include "stats.hpp"

namespace holdfast::bench {

void connection::close::operator()(redisContext* context) const noexcept { redisFree(context); }
void connection::free::operator()(redisReply* reply) const noexcept { freeReplyObject(reply); }

connection::connection(int port) : context_{redisConnect("127.0.0.1", port)} {
  if (!context_ || context_->err != 0) {
    throw std::runtime_error{
        fmt::format("redis on port {}: {}", port, context_ ? context_->errstr : "no memory")};
  }
}

void connection::append(words const& command) {
  arguments_.clear();
  lengths_.clear();
  for (auto const& word : command) {
    arguments_.push_back(word.data());
    lengths_.push_back(word.size());
  }
  redisAppendCommandArgv(context_.get(), static_cast<int>(arguments_.size()), arguments_.data(),
                         lengths_.data());
}

std::unique_ptr<redisReply, connection::free> connection::read(std::string const& command) {
  void* answer = nullptr;
  redisGetReply(context_.get(), &answer);
  std::unique_ptr<redisReply, free> reply{static_cast<redisReply*>(answer)};
  if (!reply) throw std::runtime_error{fmt::format("{}: {}", command, context_->errstr)};
  if (reply->type == REDIS_REPLY_ERROR) throw std::runtime_error{fmt::format("{}: {}", command, reply->str)};
  return reply;
}

std::unique_ptr<redisReply, connection::free> connection::send(words const& command) {
  append(command);
  return read(command.front());
}

void connection::call(words const& command) { auto const reply = send(command); }

void connection::call(std::vector<words> const& commands) {
  for (auto const& command : commands) append(command);
  for (auto const& command : commands) auto const reply = read(command.front());
}

void connection::hear() { auto const message = read("a message"); }

std::string connection::ask(words const& command) {
  auto const reply = send(command);
  redisReply const* value = reply.get();
  if (value->type == REDIS_REPLY_ARRAY && value->elements > 0) value = value->element[0];
  if (value->type == REDIS_REPLY_INTEGER) return fmt::to_string(value->integer);
  return value->str == nullptr ? std::string{} : std::string(value->str, value->len);
}

bool connection::has_command(std::string const& name) {
  return !ask({"COMMAND", "LIST", "FILTERBY", "PATTERN", name}).empty();
}

double ping_us(int port) {
  using clock = std::chrono::steady_clock;
  connection redis{port};
  std::vector<double> times;
  for (int i = 0; i < 5000; ++i) {
    auto const start = clock::now();
    redis.call({"PING"});
    times.push_back(std::chrono::duration<double, std::micro>{clock::now() - start}.count());
  }
  return median(std::move(times));
}

}  // namespace holdfast::bench
