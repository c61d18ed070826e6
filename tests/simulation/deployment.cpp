#include "simulation/deployment.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <vector>

#include "resp/make_reply.hpp"
#include "resp/parser.hpp"
#include "simulation/describe.hpp"

namespace holdfast::simulation {

deployment::deployment(reactor::loop& loop, world& shared_world, server& redis, network const& conditions,
                       net::settings const& config, topology::events handlers)
    : loop_{loop},
      world_{shared_world},
      server_{redis},
      network_{conditions},
      config_{config},
      events_{std::move(handlers)},
      down_because_{std::make_shared<error const>(errc::unreachable, "simulated: the connection is broken")} {
  world_.add(loop_);
}

deployment::~deployment() {
  *generation_ = 0;
  world_.remove(loop_);
  for (auto const& [channel, listener] : listeners_) server_.unsubscribe(channel, this);
}

void deployment::later(time_point when, std::function<void()> f) {
  world_.at(when, [current = generation_, generation = *generation_, &loop = loop_, f = std::move(f)] {
    if (*current == generation) happen(loop, f);
  });
}

void deployment::send(net::request request) {
  auto const limit = limit_of(request, world_.now());
  pipeline_.add(std::move(request), world_.now());
  if (shut_because_) {
    fail(pipeline_.remove_if([](net::request const&, time_point) { return true; }), shut_because_);
    return;
  }
  if (!up_ && limit != time_point::max()) later(limit, [this] { fail_impatient(); });
  write();
}

/// All requests of one turn leave together.
void deployment::write() {
  if (!up_ || std::exchange(writing_, true)) return;
  later(world_.now(), [this] {
    writing_ = false;
    std::string bytes;
    (void)pipeline_.send_to(bytes, world_.now());
    resp::parser parser;
    auto const room = parser.prepare(bytes.size());
    std::ranges::copy(bytes, room.begin());
    parser.commit(bytes.size());
    for (resp::reply parsed; parser.next(parsed) == resp::parser::outcome::reply;) {
      command words;
      for (auto const& word : parsed.elements) words.push_back(word.text);
      auto const outcome = network_.fate_of ? network_.fate_of() : fate::answered;
      auto const delay = outcome == fate::delayed ? network_.long_delay : nanoseconds{0};
      last_arrival_ = std::max(last_arrival_, world_.now() + latency() + delay);
      later(last_arrival_, [this, words = std::move(words), outcome] { arrive(words, outcome); });
    }
  });
}

void deployment::arrive(command const& words, fate outcome) {
  world_.trace([&] {
    static constexpr char const* names[]{"", "LOST ", "UNANSWERED ", "REFUSED ", "FORGOTTEN ", "DELAYED "};
    std::string line = names[static_cast<int>(outcome)] + words.front();
    for (std::size_t i = 2; i < words.size(); ++i) line += ' ' + words[i].substr(0, 60);
    return line;
  });
  if (outcome == fate::lost) {
    break_down();
    return;
  }
  if (outcome == fate::forgotten) server_.flush_scripts();
  auto reply = outcome == fate::refused ? resp::make_error("LOADING Redis is loading the dataset in memory")
                                        : server_.execute(words);
  world_.trace([&] { return "  -> " + describe(reply); });
  if (outcome == fate::unanswered) {
    break_down();
    return;
  }
  last_reply_ = std::max(last_reply_, world_.now() + latency());
  later(last_reply_, [this, reply = std::move(reply)]() mutable { on_reply(std::move(reply)); });
}

void deployment::on_reply(resp::reply&& reply) {
  net::pipeline::batch answered;
  if (!pipeline_.match(std::move(reply), answered)) throw std::logic_error{"a reply without a request"};
  auto& entry = answered.front();
  entry.response.connection_id = *generation_;
  if (entry.request.in_full != nullptr && entry.response.reply.is_error("NOSCRIPT")) {
    entry.response.sent = entry.response.resent;
    entry.request.bytes = entry.request.in_full(entry.request.bytes, entry.request.script);
    entry.request.in_full = nullptr;
    pipeline_.add(std::move(answered), world_.now());
    write();
    return;
  }
  if (entry.request.done) entry.request.done(std::move(entry.response));
}

void deployment::fail(net::pipeline::batch&& requests, std::shared_ptr<error const> const& reason) {
  for (auto& entry : requests) {
    entry.response.failure = reason;
    if (entry.request.done) entry.request.done(std::move(entry.response));
  }
}

time_point deployment::limit_of(net::request const& request, time_point queued) const {
  if (request.while_down == net::retry_policy::endless) return request.give_up;
  return std::max(queued, down_since_) + config_.connect_timeout;
}

void deployment::fail_impatient() {
  if (up_) return;
  auto const now = world_.now();
  fail(pipeline_.remove_if(
           [&](net::request const& request, time_point queued) { return limit_of(request, queued) <= now; }),
       down_because_);
}

void deployment::break_down() {
  ++*generation_;
  up_ = false;
  writing_ = false;
  down_since_ = world_.now();
  for (auto const& [channel, listener] : listeners_) server_.unsubscribe(channel, this);
  pipeline_.restart();
  fail(pipeline_.remove_if([](net::request const& request, time_point) { return request.once; }),
       down_because_);
  std::vector<time_point> limits;
  (void)pipeline_.remove_if([&](net::request const& request, time_point queued) {
    limits.push_back(limit_of(request, queued));
    return false;
  });
  for (auto const limit : limits) {
    if (limit != time_point::max()) later(limit, [this] { fail_impatient(); });
  }
  later(world_.now() + network_.outage, [this] { come_back(); });
  if (events_.broken) events_.broken();
}

void deployment::come_back() {
  up_ = true;
  last_arrival_ = last_reply_ = last_message_ = {};
  for (auto const& [channel, listener] : listeners_) subscribe(channel);
  write();
}

void deployment::shut(std::shared_ptr<error const> const& reason) noexcept {
  ++*generation_;
  shut_because_ = reason;
  for (auto const& [channel, listener] : listeners_) server_.unsubscribe(channel, this);
  listeners_.clear();
  pipeline_.restart();
  fail(pipeline_.remove_if([](net::request const&, time_point) { return true; }), reason);
}

void deployment::listen(std::string const& channel, topology::channel_of /*scope*/,
                        net::subscriber::listener& listener) {
  auto const added = listeners_.insert_or_assign(channel, &listener).second;
  if (added && up_) subscribe(channel);
}

void deployment::subscribe(std::string const& channel) {
  auto const deliver = [this, channel](nanoseconds delay, auto f) {
    last_message_ = std::max(last_message_, world_.now() + latency() + delay);
    later(last_message_, [this, channel, f] {
      if (auto const found = listeners_.find(channel); found != listeners_.end()) f(*found->second);
    });
  };
  later(world_.now() + latency(), [this, channel, deliver] {
    if (!listeners_.contains(channel)) return;
    server_.subscribe(channel, this, [this, deliver](std::string const& message) {
      std::optional<nanoseconds> const delay =
          network_.delay_of_message ? network_.delay_of_message() : nanoseconds{0};
      world_.trace([&] { return "  message " + message + (delay ? "" : " is lost"); });
      if (delay)
        deliver(*delay, [message](net::subscriber::listener& listener) { listener.on_message(message); });
    });
    deliver({}, [](net::subscriber::listener& listener) { listener.on_subscribed(); });
  });
}

void deployment::forget(std::string_view channel) noexcept {
  auto const found = listeners_.find(channel);
  if (found == listeners_.end()) return;
  server_.unsubscribe(found->first, this);
  listeners_.erase(found);
}

}  // namespace holdfast::simulation
