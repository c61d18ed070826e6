#include "peer.hpp"

#include <filesystem>
#include <ostream>
#include <stdexcept>
#include <utility>

namespace holdfast::test {
namespace {

std::string launcher(std::string const& name) {
  return (std::filesystem::path{HOLDFAST_PEERS} / name / "run").string();
}

std::vector<std::string> command(std::string const& name, redis_location const& redis,
                                 std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {launcher(name), redis.words()});
  return arguments;
}

constexpr auto ready = std::string_view{"0 ready "};

}  // namespace

redis_location::redis_location(redis_server const& server) { add(server); }

redis_location::redis_location(independent_servers const& masters) {
  for (auto const& master : masters) add(*master);
}

redis_location::redis_location(cluster_servers& cluster) : words_{"cluster:"} {
  for (std::size_t number = 0; number < cluster.size(); ++number) add(cluster.node(number));
}

redis_location::redis_location(sentinel_servers& watched) : words_{"sentinel:" + watched.name() + ":"} {
  for (std::size_t number = 0; number < watched.sentinel_count(); ++number) add(watched.sentinel(number));
}

redis_location redis_location::without_shards() const {
  auto copy = *this;
  copy.words_.insert(std::string_view{"cluster"}.size(), "-without-shards");
  return copy;
}

void redis_location::add(redis_server const& server) {
  if (server.port() == 0) throw std::logic_error{"peers reach Redis over TCP only"};
  if (!words_.empty() && words_.back() != ':') words_ += ',';
  words_ += std::to_string(server.port());
}

bool call::is_answered() const {
  std::scoped_lock const lock{answers_->guard};
  return answers_->by_id.contains(id_);
}

std::string call::answer(std::chrono::milliseconds within) const {
  std::unique_lock lock{answers_->guard};
  answers_->changed.wait_for(lock, within,
                             [this] { return answers_->gone || answers_->by_id.contains(id_); });
  if (auto const found = answers_->by_id.find(id_); found != answers_->by_id.end()) return found->second;
  throw std::runtime_error{(answers_->gone ? "the peer ended during: " : "no answer yet to: ") + request_};
}

std::ostream& operator<<(std::ostream& out, call const& c) {
  return out << c.request_ << " -> " << (c.is_answered() ? c.answer() : "no answer yet");
}

bool peer::is_prepared(std::string const& name) { return std::filesystem::exists(launcher(name)); }

peer::peer(std::string const& name, redis_location const& redis, std::vector<std::string> arguments)
    : process_{command(name, redis, std::move(arguments))} {
  auto const greeting = process_.read_line(std::chrono::seconds{60});
  if (!greeting.starts_with(ready)) throw std::runtime_error{"the peer " + name + " says " + greeting};
  version_ = greeting.substr(ready.size());
  listener_ = std::jthread{[this] { listen(); }};
}

peer::~peer() {
  process_.kill9();  // ends the listener too
}

call peer::send(int thread, std::vector<std::string> const& words) {
  auto const id = ++last_id_;
  std::string request_text;
  for (auto const& word : words) request_text += (request_text.empty() ? "" : " ") + word;
  process_.write_line(std::to_string(id) + ' ' + std::to_string(thread) + ' ' + request_text);
  return call{answers_, id, request_text};
}

void peer::listen() {
  try {
    for (;;) {
      auto const line = process_.read_line(std::chrono::hours{24});
      auto const space = line.find(' ');
      std::scoped_lock const lock{answers_->guard};
      answers_->by_id.emplace(std::stoi(line), line.substr(space + 1));
      answers_->changed.notify_all();
    }
  } catch (std::exception const&) {  // the peer has ended: open requests get no answer any more
    std::scoped_lock const lock{answers_->guard};
    answers_->gone = true;
    answers_->changed.notify_all();
  }
}

}  // namespace holdfast::test
