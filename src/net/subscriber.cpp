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
  auto const [place, is_new] = channels_.try_emplace(channel, subscription{.who = &who, .how = how});
  wanted_ = true;
  if (!up()) {
    open();
  } else if (is_new) {
    subscribe(channel, place->second);
  }
}

void subscriber::forget(std::string_view channel) {
  auto const known = channels_.find(channel);
  if (known == channels_.end()) return;
  auto const how = known->second.how;
  asked_.push_back({.number = 0, .channel = known->first});
  channels_.erase(known);
  if (!up()) {
    asked_.clear();
    return;
  }
  resp::append_command(to_send_,
                       {how == kind::sharded ? "SUNSUBSCRIBE" : "UNSUBSCRIBE", asked_.back().channel});
  on().mark_dirty(*this);
}

void subscriber::subscribe(std::string const& channel, subscription& what) {
  what.request = ++last_request_;
  asked_.push_back({.number = what.request, .channel = channel});
  resp::append_command(to_send_, {what.how == kind::sharded ? "SSUBSCRIBE" : "SUBSCRIBE", channel});
  on().mark_dirty(*this);
}

void subscriber::on_up() {
  for (auto& [channel, what] : channels_) subscribe(channel, what);
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
  auto const& what = reply[0];
  if ((what.is_text("message") || what.is_text("smessage")) && reply.size() == 3) {
    ++counts().messages;
    auto const known = channels_.find(reply[1].text);
    if (known != channels_.end()) known->second.who->on_message(reply[2].text);
  } else if (what.is_text("subscribe") || what.is_text("ssubscribe")) {
    on_confirmed(reply[1].text);
  } else if (what.is_text("unsubscribe") || what.is_text("sunsubscribe")) {
    on_left(reply[1].text);
  }
}

/// What we asked for, or else the server has given the slot of the channel away.
void subscriber::on_left(std::string_view channel) {
  if (!asked_.empty() && asked_.front().number == 0 && asked_.front().channel == channel) {
    asked_.pop_front();
    return;
  }
  auto const known = channels_.find(channel);
  if (known == channels_.end()) return;
  auto& who = *known->second.who;
  channels_.erase(known);
  close_unused();
  who.on_gone();
}

void subscriber::close_unused() {
  if (!channels_.empty()) return;
  wanted_ = false;
  asked_.clear();
  to_send_.clear();
  line_timer_.disarm();
  close();
}

/// A channel that was left and joined again meanwhile is confirmed by the answer to its newest request.
void subscriber::on_confirmed(std::string_view channel) {
  if (asked_.empty()) return;
  auto const number = asked_.front().number;
  asked_.pop_front();
  auto const known = channels_.find(channel);
  if (known != channels_.end() && known->second.request == number) known->second.who->on_subscribed();
}

void subscriber::on_refused(std::string const& words) {
  if (asked_.empty()) return;  // an answer to PING: the line is alive
  auto const what = std::move(asked_.front());
  asked_.pop_front();
  auto const known = channels_.find(what.channel);
  if (known == channels_.end() || known->second.request != what.number) return;
  auto& who = *known->second.who;
  channels_.erase(known);
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
