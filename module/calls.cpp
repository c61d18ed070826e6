#include "calls.hpp"

#include <algorithm>
#include <memory>

namespace holdfast::server {

using abi::redis;

namespace {

struct free_call_reply {
  void operator()(abi::call_reply* reply) const { redis.free_reply(reply); }
};
using call_reply = std::unique_ptr<abi::call_reply, free_call_reply>;

std::optional<long long> integer_in(abi::call_reply* const reply) {
  if (reply == nullptr || redis.type_of_reply(reply) != abi::integer_reply) return std::nullopt;
  return redis.integer_of(reply);
}

std::string text_in(abi::call_reply* const reply) {
  if (reply == nullptr || redis.type_of_reply(reply) != abi::text_reply) return {};
  std::size_t size = 0;
  auto const* const text = redis.text_of(reply, &size);
  return {text, size};
}

/// C: with the rights of the client; E: what is refused is a reply; !: the server decides who repeats it.
std::optional<long long> publish(abi::context* const context, char const* const command,
                                 std::string_view const channel, std::string_view const message) {
  call_reply const reply{
      redis.call(context, command, "bb!CE", channel.data(), channel.size(), message.data(), message.size())};
  return integer_in(reply.get());
}

/// Does anybody listen here for what all nodes of a cluster hear? If that can't be asked, perhaps.
bool may_have_listeners(abi::context* const context, std::string_view const channel) {
  call_reply const reply{redis.call(context, "PUBSUB", "cbCE", "NUMSUB", channel.data(), channel.size())};
  if (reply == nullptr || redis.type_of_reply(reply.get()) != abi::array_reply) return true;
  return integer_in(redis.element_of(reply.get(), 1)) != 0;
}

}  // namespace

bool knows_command(abi::context* const context, char const* const name) {
  call_reply const reply{redis.call(context, "COMMAND", "cc", "INFO", name)};
  if (reply == nullptr || redis.type_of_reply(reply.get()) != abi::array_reply) return true;
  auto* const found = redis.element_of(reply.get(), 0);
  return found != nullptr && redis.type_of_reply(found) != abi::nil_reply;
}

std::string list_of_clients(abi::context* const context) {
  call_reply const reply{redis.call(context, "CLIENT", "c", "LIST")};
  return text_in(reply.get());
}

void close_client(abi::context* const context, std::string_view const id) {
  call_reply const reply{redis.call(context, "CLIENT", "ccb", "KILL", "ID", id.data(), id.size())};
}

std::string type_name(abi::context* const context, abi::string* const key) {
  call_reply const reply{redis.call(context, "TYPE", "s", key)};
  return text_in(reply.get());
}

bool are_here(abi::context* const context, abi::string* const key, abi::string* const beside) {
  if ((redis.context_flags(context) & abi::context_cluster) == 0) return true;
  call_reply const reply{redis.call(context, "EXISTS", "ss", key, beside)};
  return integer_in(reply.get()).has_value();
}

long long rank_of(abi::context* const context, abi::string* const key, abi::string* const member) {
  call_reply const reply{redis.call(context, "ZRANK", "ss", key, member)};
  return integer_in(reply.get()).value_or(0);
}

std::string only_field(abi::context* const context, abi::string* const key) {
  call_reply const reply{redis.call(context, "HKEYS", "s", key)};
  if (reply == nullptr || redis.type_of_reply(reply.get()) != abi::array_reply) return {};
  return text_in(redis.element_of(reply.get(), 0));
}

std::optional<long long> tell_waiter(abi::context* const context, publishing const mode,
                                     std::string_view const waiter, std::string_view const queue,
                                     std::string_view const message) {
  constexpr std::size_t uuid_size = 36;
  constexpr std::string_view last_word = "queue";
  std::string inbox{queue.substr(0, queue.size() - std::min(queue.size(), last_word.size()))};
  inbox.append("inbox:").append(waiter.substr(0, uuid_size));
  if (mode == publishing::counted) return publish(context, "PUBLISH", inbox, message);
  auto const heard = publish(context, "SPUBLISH", inbox, message);
  if (mode == publishing::sharded) return heard;
  // PUBLISH doesn't count the listeners of other nodes, who hear it all the same.
  return publish(context, "PUBLISH", inbox, message) ? std::optional{1LL} : std::nullopt;
}

std::optional<long long> tell_channel(abi::context* const context, publishing const mode,
                                      std::string_view const channel, std::string_view const message) {
  if (channel.empty()) return std::nullopt;
  if (mode == publishing::counted) return publish(context, "PUBLISH", channel, message);
  auto const heard = publish(context, "SPUBLISH", channel, message);
  if (mode == publishing::uncounted) {
    static_cast<void>(publish(context, "PUBLISH", channel, message));
    return std::nullopt;
  }
  if (!heard || !may_have_listeners(context, channel)) return heard;
  return *heard + publish(context, "PUBLISH", channel, message).value_or(0);
}

}  // namespace holdfast::server
