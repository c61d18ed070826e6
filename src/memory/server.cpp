#include "memory/server.hpp"

#include <memory>
#include <mutex>

#include "base/fork.hpp"
#include "base/whole_number.hpp"
#include "resp/make_reply.hpp"

namespace holdfast::memory {
namespace {

/// One for all servers of this process, since compiled scripts are the same in each. Made with the first
/// script and never destroyed: clients that are left give back what they hold in exit(), behind the
/// destructors of what was made after them.
constinit lua_scripts* interpreter = nullptr;

std::mutex& interpreter_guard() noexcept { return guard_across_fork(static_cast<void const*>(&interpreter)); }

/// With interpreter_guard() held.
lua_scripts& the_interpreter() {
  if (interpreter == nullptr) interpreter = std::make_unique<lua_scripts>().release();
  return *interpreter;
}

}  // namespace

server::server(std::string run_id, dataset::write_counter count_write)
    : run_id_{std::move(run_id)},
      data_{[this](std::string_view channel, std::string_view message) { return publish(channel, message); },
            std::move(count_write)} {}

resp::reply server::execute(command words, time_point now) {
  if (words.front() == "EVALSHA") return run_known(words, now);
  if (words.front() == "EVAL") return run_text(words, now);
  if (words.front() == "INFO") return resp::make_text("run_id:" + run_id_ + "\r\n");
  return data_.execute(words, now);
}

void server::start_again(std::string run_id) {
  run_id_ = std::move(run_id);
  known_scripts_.clear();
  data_.clear();
}

resp::reply server::run_known(command words, time_point now) {
  auto const known = known_scripts_.find(words[1]);
  if (known == known_scripts_.end()) return resp::make_error("NOSCRIPT No matching script. Please use EVAL.");
  std::lock_guard const hold{interpreter_guard()};
  return run(*known->second, words, now);
}

resp::reply server::run_text(command words, time_point now) {
  std::lock_guard const hold{interpreter_guard()};
  auto const& script = the_interpreter().compiled(words[1]);
  known_scripts_.emplace(script.sha1, &script);
  return run(script, words, now);
}

/// With interpreter_guard() held.
resp::reply server::run(lua_scripts::script const& script, command words, time_point now) {
  auto const operands = words.subspan(3);
  auto const count = static_cast<std::size_t>(leading_number(words[2]));
  return interpreter->run(script, operands.first(count), operands.subspan(count), [this, now](command call) {
    if (call.front() == "PUBSUB") return count_listeners(call.back());
    return data_.execute(call, now);
  });
}

resp::reply server::count_listeners(std::string_view channel) const {
  auto const found = subscribers_.find(channel);
  auto const count = found == subscribers_.end() ? 0 : found->second.size();
  return resp::make_array(
      {resp::make_text(std::string{channel}), resp::make_integer(static_cast<std::int64_t>(count))});
}

std::int64_t server::publish(std::string_view channel, std::string_view message) {
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
