#include "raw_redis.hpp"

#include <hiredis/hiredis.h>
#include <poll.h>

#include <sstream>
#include <stdexcept>
#include <utility>

namespace holdfast::test {
namespace {

struct reply_freer {
  void operator()(void* reply) const noexcept { freeReplyObject(reply); }
};

raw_reply convert(redisReply const& reply) {
  raw_reply result;
  switch (reply.type) {
    case REDIS_REPLY_INTEGER:
      result.type = raw_reply::kind::integer;
      result.integer = reply.integer;
      break;
    case REDIS_REPLY_ERROR:
      result.type = raw_reply::kind::error;
      result.text.assign(reply.str, reply.len);
      break;
    case REDIS_REPLY_STRING:
    case REDIS_REPLY_STATUS:
      result.type = raw_reply::kind::text;
      result.text.assign(reply.str, reply.len);
      break;
    case REDIS_REPLY_ARRAY:
      result.type = raw_reply::kind::array;
      for (std::size_t i = 0; i < reply.elements; ++i) result.elements.push_back(convert(*reply.element[i]));
      break;
    default:
      break;
  }
  return result;
}

void append(redisContext* context, std::vector<std::string> const& words) {
  std::vector<char const*> texts;
  std::vector<std::size_t> lengths;
  for (auto const& word : words) {
    texts.push_back(word.data());
    lengths.push_back(word.size());
  }
  redisAppendCommandArgv(context, static_cast<int>(words.size()), texts.data(), lengths.data());
}

raw_reply read_reply(redisContext* context) {
  void* reply = nullptr;
  if (redisGetReply(context, &reply) != REDIS_OK || reply == nullptr) {
    throw std::runtime_error{std::string{"raw_redis: "} + context->errstr};
  }
  auto const owned = std::unique_ptr<void, reply_freer>{reply};
  return convert(*static_cast<redisReply*>(reply));
}

}  // namespace

void raw_redis::closer::operator()(redisContext* context) const noexcept { redisFree(context); }

raw_redis::raw_redis(std::string socket_path, std::string password)
    : socket_path_{std::move(socket_path)}, password_{std::move(password)} {}
raw_redis::~raw_redis() = default;
raw_redis::raw_redis(raw_redis&&) noexcept = default;
raw_redis& raw_redis::operator=(raw_redis&&) noexcept = default;

void raw_redis::connect() {
  if (context_ && context_->err == 0) {
    // The server may have been restarted.
    auto poller = pollfd{context_->fd, POLLRDHUP, 0};
    if (::poll(&poller, 1, 0) == 0) return;
  }
  context_.reset(redisConnectUnixWithTimeout(socket_path_.c_str(), timeval{10, 0}));
  if (!context_ || context_->err != 0)
    throw std::runtime_error{"raw_redis: can't connect to " + socket_path_};
  redisSetTimeout(context_.get(), timeval{20, 0});
  if (password_.empty()) return;
  append(context_.get(), {"AUTH", password_});
  if (read_reply(context_.get()).is_error()) throw std::runtime_error{"raw_redis: wrong password"};
}

raw_reply raw_redis::command(std::vector<std::string> const& words) {
  connect();
  append(context_.get(), words);
  return read_reply(context_.get());
}

raw_reply raw_redis::query(std::vector<std::string> const& words) {
  try {
    return command(words);
  } catch (std::runtime_error const&) {
    return command(words);
  }
}

void raw_redis::pipeline(std::vector<std::vector<std::string>> const& commands) {
  connect();
  for (auto const& words : commands) append(context_.get(), words);
  for (std::size_t i = 0; i < commands.size(); ++i) read_reply(context_.get());
}

std::optional<std::string> raw_redis::get(std::string const& key) {
  auto reply = query({"GET", key});
  if (reply.is_nil()) return std::nullopt;
  return std::move(reply.text);
}

std::int64_t raw_redis::pttl(std::string const& key) { return query({"PTTL", key}).integer; }
bool raw_redis::del(std::string const& key) { return command({"DEL", key}).integer == 1; }
bool raw_redis::exists(std::string const& key) { return query({"EXISTS", key}).integer == 1; }

std::vector<std::string> raw_redis::keys(std::string const& pattern) {
  std::vector<std::string> found;
  for (auto& element : query({"KEYS", pattern}).elements) found.push_back(std::move(element.text));
  return found;
}

std::map<std::string, std::uint64_t> raw_redis::command_counts() {
  // cmdstat_config|get:calls=1,usec=…
  std::map<std::string, std::uint64_t> counts;
  std::istringstream lines{query({"INFO", "commandstats"}).text};
  std::string const prefix = "cmdstat_";
  std::string const calls = ":calls=";
  for (std::string line; std::getline(lines, line);) {
    auto const colon = line.find(calls);
    if (line.rfind(prefix, 0) != 0 || colon == std::string::npos) continue;
    counts[line.substr(prefix.size(), colon - prefix.size())] =
        std::stoull(line.substr(colon + calls.size()));
  }
  return counts;
}

std::uint64_t raw_redis::calls_of(std::string const& command) { return command_counts()[command]; }

std::string raw_redis::info(std::string const& section, std::string const& field) {
  std::istringstream lines{query({"INFO", section}).text};
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind(field + ":", 0) != 0) continue;
    if (line.back() == '\r') line.pop_back();
    return line.substr(field.size() + 1);
  }
  return {};
}

std::vector<std::string> raw_redis::client_ids(std::string const& type) {
  std::istringstream lines{query({"CLIENT", "LIST", "TYPE", type}).text};
  std::vector<std::string> ids;
  for (std::string line; std::getline(lines, line);) {
    auto const unnamed = line.find(" name= ") != std::string::npos;
    auto const of_sentinel = line.find(" name=sentinel-") != std::string::npos;
    if (line.rfind("id=", 0) != 0 || unnamed || of_sentinel) continue;
    ids.push_back(line.substr(3, line.find(' ') - 3));
  }
  return ids;
}

void raw_redis::kill_clients(std::string const& type) {
  for (auto const& id : client_ids(type)) command({"CLIENT", "KILL", "ID", id});
}

}  // namespace holdfast::test
