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

std::vector<std::string> command(std::string const& name, whereabouts const& redis,
                                 std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {launcher(name), redis.words()});
  return arguments;
}

constexpr auto ready = std::string_view{"0 ready "};

}  // namespace

whereabouts::whereabouts(redis_server const& server) { add(server); }

whereabouts::whereabouts(independent_servers const& masters) {
  for (auto const& one : masters) add(*one);
}

whereabouts::whereabouts(cluster_servers& cluster) : words_{"cluster:"} {
  for (std::size_t number = 0; number < cluster.size(); ++number) add(cluster.node(number));
}

whereabouts::whereabouts(sentinel_servers& watched) : words_{"sentinel:" + watched.name() + ":"} {
  for (std::size_t number = 0; number < watched.sentinel_count(); ++number) add(watched.sentinel(number));
}

whereabouts whereabouts::without_shards() const {
  auto other = *this;
  other.words_.insert(std::string_view{"cluster"}.size(), "-without-shards");
  return other;
}

void whereabouts::add(redis_server const& server) {
  if (server.port() == 0) throw std::logic_error{"peers reach Redis over TCP only"};
  if (!words_.empty() && words_.back() != ':') words_ += ',';
  words_ += std::to_string(server.port());
}

bool call::is_answered() const {
  std::scoped_lock const hold{answers_->guard};
  return answers_->by_id.contains(id_);
}

std::string call::answer(std::chrono::milliseconds within) const {
  std::unique_lock hold{answers_->guard};
  answers_->changed.wait_for(hold, within,
                             [this] { return answers_->gone || answers_->by_id.contains(id_); });
  if (auto const found = answers_->by_id.find(id_); found != answers_->by_id.end()) return found->second;
  throw std::runtime_error{(answers_->gone ? "the peer ended during: " : "no answer yet to: ") + question_};
}

std::ostream& operator<<(std::ostream& out, call const& c) {
  return out << c.question_ << " -> " << (c.is_answered() ? c.answer() : "no answer yet");
}

bool peer::is_prepared(std::string const& name) { return std::filesystem::exists(launcher(name)); }

peer::peer(std::string const& name, whereabouts const& redis, std::vector<std::string> arguments)
    : process_{command(name, redis, std::move(arguments))} {
  auto const said = process_.hear(std::chrono::seconds{60});
  if (!said.starts_with(ready)) throw std::runtime_error{"the peer " + name + " says " + said};
  version_ = said.substr(ready.size());
  listener_ = std::jthread{[this] { listen(); }};
}

peer::~peer() {
  process_.kill9();  // ends the listener too
}

call peer::send(int thread, std::vector<std::string> const& words) {
  auto const id = ++last_id_;
  std::string question;
  for (auto const& word : words) question += (question.empty() ? "" : " ") + word;
  process_.say(std::to_string(id) + ' ' + std::to_string(thread) + ' ' + question);
  return call{answers_, id, question};
}

void peer::listen() {
  try {
    for (;;) {
      auto const line = process_.hear(std::chrono::hours{24});
      auto const space = line.find(' ');
      std::scoped_lock const hold{answers_->guard};
      answers_->by_id.emplace(std::stoi(line), line.substr(space + 1));
      answers_->changed.notify_all();
    }
  } catch (std::exception const&) {  // it has ended: what was asked and not answered never will be
    std::scoped_lock const hold{answers_->guard};
    answers_->gone = true;
    answers_->changed.notify_all();
  }
}

}  // namespace holdfast::test
