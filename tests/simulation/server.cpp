#include "simulation/server.hpp"

#include <openssl/sha.h>

#include <cstdlib>

#include "resp/make_reply.hpp"
#include "simulation/lua_scripts.hpp"

namespace holdfast::simulation {
namespace {

/// One for all simulations of this process, since compiled scripts are the same in each.
lua_scripts& interpreter() {
  static lua_scripts shared;
  return shared;
}

std::string sha1_of(std::string const& source) {
  unsigned char digest[SHA_DIGEST_LENGTH];
  ::SHA1(reinterpret_cast<unsigned char const*>(source.data()), source.size(), digest);
  constexpr std::string_view digits = "0123456789abcdef";
  std::string result;
  for (auto const byte : digest) {
    result += digits[byte >> 4];
    result += digits[byte & 15];
  }
  return result;
}

}  // namespace

resp::reply server::execute(command const& words) {
  if (words.front() == "EVALSHA") {
    auto const known = known_scripts_.find(words[1]);
    if (known == known_scripts_.end())
      return resp::make_error("NOSCRIPT No matching script. Please use EVAL.");
    return run(known->second, words);
  }
  if (words.front() == "EVAL") {
    known_scripts_.emplace(sha1_of(words[1]), words[1]);
    return run(words[1], words);
  }
  if (words.front() == "INFO") return resp::make_text("run_id:" + host_ + "\r\n");
  return data_.execute(words, world_.now());
}

std::vector<resp::reply> server::execute(commands const& request) {
  if (request.size() == 1) return {execute(request.front())};
  std::vector<resp::reply> replies{resp::make_text("OK")};
  replies.resize(request.size() - 1, resp::make_text("QUEUED"));
  auto& results = replies.emplace_back();
  results.type = resp::kind::array;
  for (auto next = request.begin() + 1; next != request.end() - 1; ++next)
    results.elements.push_back(execute(*next));
  return replies;
}

resp::reply server::run(std::string const& source, command const& words) {
  auto const count = static_cast<std::size_t>(std::strtol(words[2].c_str(), nullptr, 10));
  auto const keys_end = words.begin() + 3 + static_cast<std::ptrdiff_t>(count);
  return interpreter().run(source, {words.begin() + 3, keys_end}, {keys_end, words.end()},
                           [this](command const& call) {
                             if (call.front() == "PUBSUB") return count_listeners(call.back());
                             return data_.execute(call, world_.now());
                           });
}

void server::wait(command const& words, std::uint64_t written, std::function<void(resp::reply const&)> done) {
  auto const disk = words.front() == "WAITAOF";
  auto const& replicas = words[disk ? 2 : 1];
  copies_.wait(
      {.offset = written,
       .replicas = static_cast<int>(std::strtol(replicas.c_str(), nullptr, 10)),
       .disk = disk,
       .end = world_.now() + std::chrono::milliseconds{std::strtol(words.back().c_str(), nullptr, 10)},
       .done = std::move(done)});
}

resp::reply server::count_listeners(std::string const& channel) const {
  auto const found = subscribers_.find(channel);
  auto const count = found == subscribers_.end() ? 0 : found->second.size();
  return resp::make_array({resp::make_text(channel), resp::make_integer(static_cast<std::int64_t>(count))});
}

std::int64_t server::publish(std::string const& channel, std::string const& message) {
  auto const found = subscribers_.find(channel);
  if (found == subscribers_.end()) return 0;
  for (auto const& [subscriber, notify] : found->second) notify(message);
  return static_cast<std::int64_t>(found->second.size());
}

void server::unsubscribe(std::string const& channel, void const* subscriber) {
  auto const found = subscribers_.find(channel);
  if (found == subscribers_.end()) return;
  std::erase_if(found->second, [subscriber](auto const& entry) { return entry.first == subscriber; });
}

}  // namespace holdfast::simulation
