#include "net/subscriber.hpp"

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
  wanted_ = true;
  if (!up()) {
    open();
  } else if (is_new) {
    subscribe(how, channel, place->second);
  }
}

void subscriber::forget(std::string_view channel, kind how) {
  auto const known = all(how).find(channel);
  if (known == all(how).end()) return;
  asked_.push_back({.number = 0, .how = how, .channel = known->first});
  all(how).erase(known);
  if (!up()) {
    asked_.clear();
    return;
  }
  resp::append_command(to_send_,
                       {how == kind::sharded ? "SUNSUBSCRIBE" : "UNSUBSCRIBE", asked_.back().channel});
  on().mark_dirty(*this);
}

void subscriber::subscribe(kind how, std::string const& channel, subscription& what) {
  what.request = ++last_request_;
  asked_.push_back({.number = what.request, .how = how, .channel = channel});
  resp::append_command(to_send_, {how == kind::sharded ? "SSUBSCRIBE" : "SUBSCRIBE", channel});
  on().mark_dirty(*this);
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
  if (known != all(how).end()) known->second.who->on_message(reply[2].text);
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
  who.on_gone();
}

void subscriber::close_unused() {
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
  if (known != all(how).end() && known->second.request == number) known->second.who->on_subscribed();
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
  who.on_refused(words);
}

void subscriber::on_down(std::shared_ptr<error const> /*why*/, end how) {
  asked_.clear();
  to_send_.clear();
  line_timer_.disarm();
  if (how == end::final)
    wanted_ = false;  // the other connection reports the same; waiters fall back to re-checks
}

void subscriber::check_line() {
  auto const now = boot_clock::now();
  if (now >= heard_ + 2 * heartbeat) {
    drop(errc::unreachable, "the connection for messages went silent");
    return;
  }
  if (now >= heard_ + heartbeat) {
    resp::append_command(to_send_, {"PING"});
    on().mark_dirty(*this);
  }
  on().arm(line_timer_, now + heartbeat);
}

}  // namespace holdfast::net
