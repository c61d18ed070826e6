#include "contract/contract.hpp"

#include <hiredis/hiredis.h>

#include <stdexcept>

#include "script/names.hpp"

namespace holdfast::contract {

void subscription::closer::operator()(redisContext* context) const noexcept { redisFree(context); }

subscription::subscription(test::redis_server const& server, std::vector<std::string_view> const& owners)
    : subscription{server, owners, lock_name, "SUBSCRIBE"} {
  for (auto const owner : owners) open("SUBSCRIBE", names::hints(owner.substr(0, 36)));
}

subscription::subscription(test::redis_server const& server, std::vector<std::string_view> const& owners,
                           std::string_view name, std::string_view command)
    : context_{redisConnectUnix(server.socket_path().c_str())} {
  add(owners, name, command);
}

void subscription::add(std::vector<std::string_view> const& owners, std::string_view name,
                       std::string_view command) {
  for (auto const owner : owners) open(command, names::inbox(owner.substr(0, 36), name));
}

subscription::subscription(test::redis_server const& server)
    : context_{redisConnectUnix(server.socket_path().c_str())} {
  open("PSUBSCRIBE", "*");
}

subscription::subscription(test::redis_server const& server, words const& channels, std::string_view command)
    : context_{redisConnectUnix(server.socket_path().c_str())} {
  for (auto const& channel : channels) open(command, channel);
}

void subscription::open(std::string_view command, std::string const& channel) {
  redisAppendCommand(context_.get(), "%b %b", command.data(), command.size(), channel.data(), channel.size());
  (void)read();
}

subscription::~subscription() = default;

/// The texts of the next reply.
words subscription::read() {
  void* received = nullptr;
  if (redisGetReply(context_.get(), &received) != REDIS_OK) throw std::runtime_error{context_->errstr};
  auto* const reply = static_cast<redisReply*>(received);
  words result;
  for (std::size_t i = 0; i < reply->elements; ++i) {
    if (reply->element[i]->str != nullptr)
      result.emplace_back(reply->element[i]->str, reply->element[i]->len);
  }
  freeReplyObject(reply);
  return result;
}

// PING is answered after everything that was published before it.
std::vector<std::string> subscription::take() {
  std::vector<std::string> messages;
  redisAppendCommand(context_.get(), "PING end");
  for (auto reply = read(); reply.size() > 2; reply = read())  // "pong" has two words, or one
    messages.push_back(reply.end()[-2] + " " + reply.back());  // the last two are channel and payload
  return messages;
}

}  // namespace holdfast::contract
