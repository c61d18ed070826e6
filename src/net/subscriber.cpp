#include "net/subscriber.hpp"

#include <utility>

#include "resp/command.hpp"

namespace holdfast::net {
namespace {

/// How long the line may be silent before it is asked for a sign of life; it's dead when as long again brings
/// none.
constexpr std::chrono::seconds heartbeat{5};

}  // namespace

subscriber::subscriber(reactor::loop& on, settings const& how, client_stats& counts, std::string channel,
                       events tell)
    : session{on, how, counts},
      channel_{std::move(channel)},
      tell_{std::move(tell)},
      line_timer_{[this] { check_line(); }} {}

void subscriber::listen() {
  if (refused_) return;
  wanted_ = true;
  open();
}

void subscriber::on_up() {
  resp::append_command(to_send_, {"SUBSCRIBE", channel_});
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
    refuse(reply.text);
    return;
  }
  if (!reply.is_array() || reply.size() < 2) return;
  if (reply[0].is_text("message") && reply.size() == 3) {
    ++counts().messages;
    tell_.on_message(reply[2].text);
  } else if (reply[0].is_text("subscribe")) {
    listening_ = true;
    tell_.on_subscribed();
  }
}

void subscriber::refuse(std::string const& words) {
  refused_ = true;
  wanted_ = false;
  listening_ = false;
  line_timer_.disarm();
  close();
  tell_.on_refused(words);
}

void subscriber::on_down(std::shared_ptr<error const> /*why*/, end how) {
  listening_ = false;
  to_send_.clear();
  line_timer_.disarm();
  if (how == end::final)
    wanted_ = false;  // the other connection reports the same; waiters fall back to re-checks
}

void subscriber::check_line() {
  auto const now = boot_clock::now();
  if (now >= heard_ + 2 * heartbeat) {
    drop(errc::unreachable, "the inbox connection went silent");
    return;
  }
  if (now >= heard_ + heartbeat) {
    resp::append_command(to_send_, {"PING"});
    on().mark_dirty(*this);
  }
  on().arm(line_timer_, now + heartbeat);
}

}  // namespace holdfast::net
