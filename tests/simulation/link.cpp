#include "simulation/link.hpp"

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "resp/command.hpp"
#include "resp/make_reply.hpp"
#include "simulation/describe.hpp"

namespace holdfast::simulation {

namespace {

/// Takes the first command off several, and returns its first word.
std::string_view take_verb(std::string_view& bytes) {
  auto left = resp::take_array_header(bytes);
  auto const verb = resp::take_bulk(bytes);
  while (--left != 0) (void)resp::take_bulk(bytes);
  return verb;
}

std::string_view verb_of(std::string_view request) {
  (void)resp::take_array_header(request);
  return resp::take_bulk(request);
}

/// Takes the first request off several: one command, or a transaction (MULTI, EXEC, and those between).
std::string take_request(std::string_view& bytes) {
  auto const from = bytes;
  auto verb = take_verb(bytes);
  if (verb == "MULTI") {
    while (verb != "EXEC") verb = take_verb(bytes);
  }
  return std::string{from.substr(0, from.size() - bytes.size())};
}

std::vector<std::vector<std::string_view>> commands_of(std::string_view request) {
  std::vector<std::vector<std::string_view>> all;
  while (!request.empty()) all.push_back(resp::take_command(request));
  return all;
}

/// Of a server that is loading its data.
std::vector<resp::reply> refusals_of(std::string_view request) {
  auto const count = commands_of(request).size();
  auto const loading = resp::make_error("LOADING Redis is loading the dataset in memory");
  if (count == 1) return {loading};
  std::vector<resp::reply> all{resp::make_text("OK")};
  all.resize(count - 1, loading);
  all.push_back(resp::make_error("EXECABORT Transaction discarded because of previous errors."));
  return all;
}

}  // namespace

link::link(reactor::loop& loop, world& shared_world, server& redis, network const& conditions,
           net::settings const& config, net::connection_role role, events handlers)
    : loop_{loop},
      world_{shared_world},
      server_{redis},
      network_{conditions},
      config_{config},
      events_{std::move(handlers)},
      down_because_{std::make_shared<error const>(errc::unreachable, "simulated: the connection is broken")},
      generation_{std::make_shared<std::uint64_t>(role == net::connection_role::usual ? 1 : 2)} {}

void link::send(net::request request) {
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
void link::write() {
  if (!up_ || std::exchange(writing_, true)) return;
  later(world_.now(), [this] {
    writing_ = false;
    std::string bytes;
    (void)pipeline_.send_to(bytes, world_.now());
    for (std::string_view left{bytes}; !left.empty();) {
      auto request = take_request(left);
      auto const outcome = network_.fate_of ? network_.fate_of() : fate::answered;
      auto const delay = outcome == fate::delayed ? network_.long_delay : nanoseconds{0};
      if (outcome == fate::delayed) server_.note_trouble(world_.now() + delay);
      last_arrival_ = std::max(last_arrival_, world_.now() + latency() + delay);
      later(last_arrival_,
            [this, request = std::move(request), outcome]() mutable { arrive(std::move(request), outcome); });
    }
  });
}

void link::arrive(std::string request, fate outcome) {
  if (blocked_) {
    behind_.emplace_back(std::move(request), outcome);
    return;
  }
  if (server_.frozen_until() > world_.now() && server_.reachable()) {
    later(server_.frozen_until(),
          [this, request = std::move(request), outcome]() mutable { arrive(std::move(request), outcome); });
    return;
  }
  if (!server_.reachable()) outcome = fate::lost;
  world_.trace([&] {
    static constexpr char const* names[]{"",           "LOST ",    "UNANSWERED ", "REFUSED ",
                                         "FORGOTTEN ", "DELAYED ", "OVERTAKEN "};
    auto line = server_.host() + ' ' + names[static_cast<int>(outcome)];
    auto const all = commands_of(request);
    for (auto const& each : all) {
      line.append(each.front()).append(" ");
      for (std::size_t i = each.size() > 3 && all.size() == 1 ? 2 : 1; i < each.size(); ++i)
        line.append(each[i].substr(0, 60)).append(" ");
    }
    return line;
  });
  if (outcome == fate::overtaken)
    world_.after(network_.long_delay, [&redis = server_, request] { (void)redis.execute_request(request); });
  if (outcome == fate::lost || outcome == fate::overtaken) {
    break_down();
    return;
  }
  if (outcome == fate::forgotten) server_.flush_scripts();
  auto const verb = verb_of(request);
  auto const waits = verb == "WAIT" || verb == "WAITAOF";
  if (waits && outcome != fate::refused && outcome != fate::unanswered) {
    block(resp::arguments_of(request));
    return;
  }
  auto const offset = server_.offset();
  auto replies = outcome == fate::refused ? refusals_of(request)
                 : waits                  ? std::vector{resp::reply{}}
                                          : server_.execute_request(request);
  if (server_.offset() != offset) written_ = server_.offset();
  if (outcome == fate::unanswered) {
    break_down();
    return;
  }
  for (auto& reply : replies) answer(std::move(reply));
}

/// The server serves nothing of this connection until the WAIT is answered.
void link::block(command words) {
  blocked_ = true;
  auto const served = [this](resp::reply const& reply) {
    blocked_ = false;
    answer(reply);
    while (!blocked_ && !behind_.empty()) {
      auto [next, outcome] = std::move(behind_.front());
      behind_.pop_front();
      arrive(std::move(next), outcome);
    }
  };
  server_.wait(words, written_, guarded(served));
}

void link::answer(resp::reply reply) {
  world_.trace([&] { return "  -> " + describe(reply); });
  last_reply_ = std::max(last_reply_, world_.now() + latency());
  later(last_reply_, [this, reply = std::move(reply)]() mutable { on_reply(std::move(reply)); });
}

void link::on_reply(resp::reply&& reply) {
  net::pipeline::batch answered;
  if (!pipeline_.match(std::move(reply), answered)) throw std::logic_error{"a reply without a request"};
  if (answered.empty()) return;
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

void link::fail(net::pipeline::batch&& requests, std::shared_ptr<error const> const& reason) {
  for (auto& entry : requests) {
    entry.response.failure = reason;
    if (entry.request.done) entry.request.done(std::move(entry.response));
  }
}

time_point link::limit_of(net::request const& request, time_point queued) const {
  if (request.while_down == net::retry_policy::endless) return request.give_up;
  return std::max(queued, down_since_) + config_.connect_timeout;
}

void link::fail_impatient() {
  if (up_) return;
  auto const now = world_.now();
  fail(pipeline_.remove_if(
           [&](net::request const& request, time_point queued) { return limit_of(request, queued) <= now; }),
       down_because_);
}

void link::break_down() {
  *generation_ += 2;
  up_ = false;
  writing_ = false;
  down_since_ = world_.now();
  written_ = 0;
  blocked_ = false;
  behind_.clear();
  pipeline_.restart();
  fail(pipeline_.remove_if([](net::request const& request, time_point) { return request.never_resend; }),
       down_because_);
  std::vector<time_point> limits;
  (void)pipeline_.remove_if([&](net::request const& request, time_point queued) {
    limits.push_back(limit_of(request, queued));
    return false;
  });
  for (auto const limit : limits) {
    if (limit != time_point::max()) later(limit, [this] { fail_impatient(); });
  }
  server_.note_trouble(world_.now() + network_.outage);
  later(world_.now() + network_.outage, [this] { come_back(); });
  if (events_.broken) events_.broken();
}

void link::come_back() {
  if (!server_.reachable()) {
    later(world_.now() + network_.outage, [this] { come_back(); });
    return;
  }
  up_ = true;
  last_arrival_ = last_reply_ = {};
  if (events_.back) events_.back();
  write();
}

void link::shut(std::shared_ptr<error const> const& reason) noexcept {
  *generation_ += 2;
  shut_because_ = reason;
  pipeline_.restart();
  fail(pipeline_.remove_if([](net::request const&, time_point) { return true; }), reason);
}

}  // namespace holdfast::simulation
