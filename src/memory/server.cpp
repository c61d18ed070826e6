#include "memory/server.hpp"

#include <openssl/sha.h>

#include <cstdlib>
#include <memory>
#include <mutex>
#include <string_view>

#include "base/fork.hpp"
#include "memory/lua_scripts.hpp"
#include "resp/make_reply.hpp"

namespace holdfast::memory {
namespace {

/// One for all servers of this process, since compiled scripts are the same in each. Made with the first
/// script and never destroyed: clients that are left give back what they hold in exit(), behind the
/// destructors of what was made after them.
constinit lua_scripts* interpreter = nullptr;

std::mutex& interpreter_guard() noexcept { return guard_across_fork(static_cast<void const*>(&interpreter)); }

/// Not by SHA1(), which needs what OpenSSL has given up when clients give back in exit() what they hold.
std::string sha1_of(std::string const& source) {
  unsigned char digest[SHA_DIGEST_LENGTH];
  SHA_CTX hash{};
  ::SHA1_Init(&hash);
  ::SHA1_Update(&hash, source.data(), source.size());
  ::SHA1_Final(digest, &hash);
  constexpr std::string_view digits = "0123456789abcdef";
  std::string result;
  for (auto const byte : digest) {
    result += digits[byte >> 4];
    result += digits[byte & 15];
  }
  return result;
}

}  // namespace

server::server(std::string run_id, dataset::write_counter count_write)
    : run_id_{std::move(run_id)},
      data_{[this](std::string const& channel, std::string const& message) {
              return publish(channel, message);
            },
            std::move(count_write)} {}

resp::reply server::execute(command const& words, time_point now) {
  if (words.front() == "EVALSHA") {
    auto const known = known_scripts_.find(words[1]);
    if (known == known_scripts_.end())
      return resp::make_error("NOSCRIPT No matching script. Please use EVAL.");
    return run(known->second, words, now);
  }
  if (words.front() == "EVAL") {
    known_scripts_.emplace(sha1_of(words[1]), words[1]);
    return run(words[1], words, now);
  }
  if (words.front() == "INFO") return resp::make_text("run_id:" + run_id_ + "\r\n");
  return data_.execute(words, now);
}

std::vector<resp::reply> server::execute(commands const& request, time_point now) {
  if (request.size() == 1) return {execute(request.front(), now)};
  std::vector<resp::reply> replies{resp::make_text("OK")};
  replies.resize(request.size() - 1, resp::make_text("QUEUED"));
  auto& results = replies.emplace_back();
  results.type = resp::kind::array;
  for (auto next = request.begin() + 1; next != request.end() - 1; ++next)
    results.elements.push_back(execute(*next, now));
  return replies;
}

void server::start_again(std::string run_id) {
  run_id_ = std::move(run_id);
  known_scripts_.clear();
  data_.clear();
}

resp::reply server::run(std::string const& source, command const& words, time_point now) {
  auto const count = static_cast<std::size_t>(std::strtol(words[2].c_str(), nullptr, 10));
  auto const keys_end = words.begin() + 3 + static_cast<std::ptrdiff_t>(count);
  std::lock_guard const hold{interpreter_guard()};
  if (interpreter == nullptr) interpreter = std::make_unique<lua_scripts>().release();
  return interpreter->run(source, {words.begin() + 3, keys_end}, {keys_end, words.end()},
                          [this, now](command const& call) {
                            if (call.front() == "PUBSUB") return count_listeners(call.back());
                            return data_.execute(call, now);
                          });
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
  if (found->second.empty()) subscribers_.erase(found);
}

std::vector<std::string> server::channels() const {
  std::vector<std::string> all;
  all.reserve(subscribers_.size());
  for (auto const& [channel, listeners] : subscribers_) all.push_back(channel);
  return all;
}

}  // namespace holdfast::memory
