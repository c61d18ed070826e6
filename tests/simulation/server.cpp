#include "simulation/server.hpp"

#include "base/whole_number.hpp"
#include "resp/command.hpp"
#include "resp/make_reply.hpp"

namespace holdfast::simulation {

resp::reply server::execute(call const& script) {
  std::string_view bytes = script.bytes;
  auto words = resp::take_command(bytes);
  words[0] = "EVAL";
  words[1] = script.source->text;
  return execute(command{words});
}

std::vector<resp::reply> server::execute_request(std::string_view bytes) {
  auto words = resp::take_command(bytes);
  std::vector<resp::reply> replies;
  if (words.front() != "MULTI") {
    replies.push_back(execute(command{words}));
    return replies;
  }
  replies.push_back(resp::make_text("OK"));
  auto results = resp::make_array({});
  while (resp::take_whole_command(bytes, words) && words.front() != "EXEC") {
    replies.push_back(resp::make_text("QUEUED"));
    results.elements.push_back(execute(command{words}));
  }
  replies.push_back(std::move(results));
  return replies;
}

void server::wait(command words, std::uint64_t written, std::function<void(resp::reply const&)> done) {
  auto const disk = words.front() == "WAITAOF";
  auto const& replicas = words[disk ? 2 : 1];
  replicas_.wait({.offset = written,
                  .replicas = static_cast<int>(leading_number(replicas)),
                  .disk = disk,
                  .end = world_.now() + std::chrono::milliseconds{leading_number(words.back())},
                  .done = std::move(done)});
}

}  // namespace holdfast::simulation
