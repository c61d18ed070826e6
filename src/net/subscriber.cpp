#include "net/subscriber.hpp"

#include <exception>
#include <utility>

#include "resp/command.hpp"

namespace holdfast::net {
namespace {

/// How long the line may be silent before it is asked for a sign of life; it's dead when as long again brings
/// none.
constexpr std::chrono::seconds heartbeat{5};

}  // namespace

subscriber::subscriber(reactor::loop& on, settings const& how, client_stats& counts)
    : session{on, how, counts}, line_timer_{[this] { check_line(); }} {}

void subscriber::listen(std::string const& channel, listener& who, kind how) {
  auto const [place, is_new] = all(how).try_emplace(channel, subscription{.who = &who});
  if (up() && is_new) {
    try {
      subscribe(how, channel, place->second);
    } catch (std::exception const&) {
      all(how).erase(place);
      throw;
    }
  }
  wanted_ = true;
  if (!up()) open();
}

void subscriber::forget(std::string_view channel, kind how) noexcept {
  auto const known = all(how).find(channel);
  if (known == all(how).end()) return;
  auto const gone = all(how).extract(known);
  if (!up()) {
    asked_.clear();
    return;
  }
  try {
    say("UNSUBSCRIBE", how, gone.key(), 0);
  } catch (std::exception const&) {
    starve();  // the next connection doesn't know it any more
  }
}

/// All of it or, if that throws, nothing.
void subscriber::say(std::string_view word, kind how, std::string const& channel, std::uint64_t number) {
  auto const before = to_send_.size();
  try {
    if (how == kind::sharded) {
      resp::append_command(to_send_, {std::string{"S"}.append(word), channel});
    } else {
      resp::append_command(to_send_, {word, channel});
    }
    asked_.push_back({.number = number, .how = how, .channel = channel});
  } catch (std::exception const&) {
    to_send_.resize(before);
    throw;
  }
  on().mark_dirty(*this);
}

void subscriber::subscribe(kind how, std::string const& channel, subscription& what) {
  say("SUBSCRIBE", how, channel, last_request_ + 1);
  what.request = ++last_request_;
}

void subscriber::on_up() {
  for (auto const how : {kind::plain, kind::sharded}) {
    for (auto& [channel, what] : all(how)) subscribe(how, channel, what);
  }
  heard_ = boot_clock::now();
  on().arm(line_timer_, heard_ + heartbeat);
}

void subscriber::gather(std::string& out) {
  out += to_send_;
  to_send_.clear();
}

void subscriber::on_reply(resp::reply&& reply) {
  heard_ = boot_clock::now();
  if (reply.is_error()) {
    on_refused(reply.text);
    return;
  }
  if (!reply.is_array() || reply.size() < 2) return;
  auto const what = std::string_view{reply[0].text};  // of a sharded channel: the same words after an s
  auto const how = what.starts_with("s") && what != "subscribe" ? kind::sharded : kind::plain;
  auto const said = what.substr(how == kind::sharded ? 1 : 0);
  if (said == "message" && reply.size() == 3) {
    on_message(how, reply);
  } else if (said == "subscribe") {
    on_confirmed(how, reply[1].text);
  } else if (said == "unsubscribe") {
    on_left(how, reply[1].text);
  }
}

void subscriber::on_message(kind how, resp::reply const& reply) {
  ++counts().messages;
  auto const known = all(how).find(reply[1].text);
  if (known != all(how).end()) tell([&] { known->second.who->on_message(reply[2].text); });
}

/// What we asked for, or else the server has given the slot of the channel away.
void subscriber::on_left(kind how, std::string_view channel) {
  if (!asked_.empty() && asked_.front().number == 0 && asked_.front().how == how &&
      asked_.front().channel == channel) {
    asked_.pop_front();
    return;
  }
  auto const known = all(how).find(channel);
  if (known == all(how).end()) return;
  auto& who = *known->second.who;
  all(how).erase(known);
  close_unused();
  tell([&who] { who.on_gone(); });
}

void subscriber::close_unused() noexcept {
  if (!unused()) return;
  wanted_ = false;
  asked_.clear();
  to_send_.clear();
  line_timer_.disarm();
  close();
}

/// A channel that was left and joined again meanwhile is confirmed by the answer to its newest request.
void subscriber::on_confirmed(kind how, std::string_view channel) {
  if (asked_.empty()) return;
  auto const number = asked_.front().number;
  asked_.pop_front();
  auto const known = all(how).find(channel);
  if (known != all(how).end() && known->second.request == number) {
    tell([&known] { known->second.who->on_subscribed(); });
  }
}

void subscriber::on_refused(std::string const& words) {
  if (asked_.empty()) return;  // an answer to PING: the line is alive
  auto const what = std::move(asked_.front());
  asked_.pop_front();
  auto& all_such = all(what.how);
  auto const known = all_such.find(what.channel);
  if (known == all_such.end() || known->second.request != what.number) return;
  auto& who = *known->second.who;
  all_such.erase(known);
  close_unused();
  tell([&] { who.on_refused(words); });
}

void subscriber::on_down(std::shared_ptr<error const> const& /*why*/, end how) noexcept {
  asked_.clear();
  to_send_.clear();
  line_timer_.disarm();
  if (how == end::final)
    wanted_ = false;  // the other connection reports the same; waiters fall back to re-checks
}

void subscriber::check_line() noexcept {
  auto const now = boot_clock::now();
  if (now >= heard_ + 2 * heartbeat) {
    drop(errc::unreachable, [] { return "the connection for messages went silent"; });
    return;
  }
  on().arm(line_timer_, now + heartbeat);
  if (now < heard_ + heartbeat) return;
  try {
    std::string ping;
    resp::append_command(ping, {"PING"});
    to_send_ += ping;
    on().mark_dirty(*this);
  } catch (std::exception const&) {
    starve();
  }
}

}  // namespace holdfast::net
