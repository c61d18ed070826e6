#include "net/subscriber.hpp"

#include <exception>
#include <utility>

#include "resp/command.hpp"

namespace holdfast::net {
namespace {

/// The silence after which a PING is sent. After as long again without a reply the connection is dead.
constexpr std::chrono::seconds heartbeat{5};

}  // namespace

subscriber::subscriber(reactor::loop& loop, settings const& config, client_stats& counts)
    : session{loop, config, counts}, heartbeat_timer_{[this] { check_heartbeat(); }} {}

void subscriber::listen(std::string const& channel, listener& receiver, kind mode) {
  auto const [added, is_new] = all(mode).try_emplace(channel, subscription{.receiver = &receiver});
  if (up() && is_new) {
    try {
      subscribe(mode, channel, added->second);
    } catch (std::exception const&) {
      all(mode).erase(added);
      throw;
    }
  }
  reopen();
}

void subscriber::reopen() noexcept {
  wanted_ = !unused();
  if (wanted_ && !up()) open();
}

void subscriber::forget(std::string_view channel, kind mode) noexcept {
  auto const known = all(mode).find(channel);
  if (known == all(mode).end()) return;
  auto const gone = all(mode).extract(known);
  if (!up()) {
    unanswered_.clear();
    return;
  }
  try {
    queue_command("UNSUBSCRIBE", mode, gone.key(), 0);
  } catch (std::exception const&) {
    starve();  // the next connection won't subscribe the channel
  }
}

/// If it throws, nothing was queued.
void subscriber::queue_command(std::string_view verb, kind mode, std::string const& channel,
                               std::uint64_t number) {
  auto const before = to_send_.size();
  try {
    if (mode == kind::sharded) {
      resp::append_command(to_send_, {std::string{"S"}.append(verb), channel});
    } else if (channel.empty()) {
      resp::append_command(to_send_, {verb});
    } else {
      resp::append_command(to_send_, {verb, channel});
    }
    unanswered_.push_back({.number = number, .mode = mode, .channel = channel});
  } catch (std::exception const&) {
    to_send_.resize(before);
    throw;
  }
  loop().writers().mark(*this);
}

void subscriber::subscribe(kind mode, std::string const& channel, subscription& entry) {
  queue_command("SUBSCRIBE", mode, channel, last_request_ + 1);
  entry.request = ++last_request_;
}

void subscriber::on_up(std::vector<resp::reply>&& /*found*/) {
  for (auto const mode : {kind::plain, kind::sharded}) {
    for (auto& [channel, entry] : all(mode)) subscribe(mode, channel, entry);
  }
  was_up_ = true;
  heard_ = boot_clock::now();
  loop().arm(heartbeat_timer_, heard_ + heartbeat);
}

void subscriber::gather(std::string& out) {
  out += to_send_;
  to_send_.clear();
}

void subscriber::on_reply(resp::reply&& reply) {
  heard_ = boot_clock::now();
  auto const pinged = !unanswered_.empty() && unanswered_.front().channel.empty();
  if (pinged && (!reply.is_array() || (reply.size() != 0 && reply[0].text == "pong"))) {
    unanswered_.pop_front();
    return;
  }
  if (reply.is_error()) {
    on_refused(reply);
    return;
  }
  if (!reply.is_array() || reply.size() < 2) return;
  auto const type = std::string_view{reply[0].text};  // for a sharded channel with an s in front
  auto const mode = type.starts_with("s") && type != "subscribe" ? kind::sharded : kind::plain;
  auto const base_type = type.substr(mode == kind::sharded ? 1 : 0);
  if (base_type == "message" && reply.size() == 3) {
    on_message(mode, reply);
  } else if (base_type == "subscribe") {
    on_confirmed(mode, reply[1].text);
  } else if (base_type == "unsubscribe") {
    on_left(mode, reply[1].text);
  }
}

void subscriber::on_message(kind mode, resp::reply const& reply) {
  ++counts().messages;
  auto const known = all(mode).find(reply[1].text);
  if (known != all(mode).end()) notify([&] { known->second.receiver->on_message(reply[2].text); });
}

/// The reply to our UNSUBSCRIBE, or a notice that the server no longer has the channel's slot.
void subscriber::on_left(kind mode, std::string_view channel) {
  if (!unanswered_.empty() && unanswered_.front().number == 0 && unanswered_.front().mode == mode &&
      unanswered_.front().channel == channel) {
    unanswered_.pop_front();
    return;
  }
  auto const known = all(mode).find(channel);
  if (known == all(mode).end()) return;
  auto& receiver = *known->second.receiver;
  all(mode).erase(known);
  close_unused();
  notify([&receiver] { receiver.on_gone(); });
}

void subscriber::shut() noexcept {
  plain_.clear();
  sharded_.clear();
  close_unused();
}

void subscriber::close_unused() noexcept {
  if (!unused()) return;
  wanted_ = false;
  unanswered_.clear();
  to_send_.clear();
  heartbeat_timer_.disarm();
  close();
}

/// A channel that was unsubscribed and subscribed again is confirmed by the reply to its newest request.
void subscriber::on_confirmed(kind mode, std::string_view channel) {
  if (unanswered_.empty()) return;
  auto const number = unanswered_.front().number;
  unanswered_.pop_front();
  auto const known = all(mode).find(channel);
  if (known != all(mode).end() && known->second.request == number) {
    notify([&known] { known->second.receiver->on_subscribed(); });
  }
}

void subscriber::on_refused(resp::reply const& reply) {
  if (unanswered_.empty()) return;
  // That is over soon, and says nothing of the channel. The next connection waits for it.
  if (reply.says_not_ready()) {
    drop(
        errc::refused, [&] { return config().server.display + " isn't ready: " + reply.text; },
        end::not_ready);
    return;
  }
  auto const refused = std::move(unanswered_.front());
  unanswered_.pop_front();
  auto& same_mode = all(refused.mode);
  auto const known = same_mode.find(refused.channel);
  if (known == same_mode.end() || known->second.request != refused.number) return;
  auto& receiver = *known->second.receiver;
  same_mode.erase(known);
  close_unused();
  notify([&] { receiver.on_refused(reply.text); });
}

void subscriber::on_down(std::shared_ptr<error const> const& /*reason*/, end outcome) noexcept {
  unanswered_.clear();
  to_send_.clear();
  heartbeat_timer_.disarm();
  for (auto const mode : {kind::plain, kind::sharded}) {
    for (auto const& [channel, entry] : all(mode)) entry.receiver->on_closed();
  }
  if (std::exchange(was_up_, false) && config().unheard) notify(config().unheard);
  if (outcome == end::final)
    wanted_ = false;  // the connection for requests reports the error; waiters fall back to re-checks
}

void subscriber::check_heartbeat() noexcept {
  auto const now = boot_clock::now();
  if (now >= heard_ + 2 * heartbeat) {
    drop(errc::unreachable, [] { return "the connection for messages went silent"; });
    return;
  }
  loop().arm(heartbeat_timer_, now + heartbeat);
  if (now < heard_ + heartbeat) return;
  try {
    queue_command("PING", kind::plain, {}, 0);
  } catch (std::exception const&) {
    starve();
  }
}

}  // namespace holdfast::net
