#include "net/pipeline.hpp"

#include <utility>

namespace holdfast::net {

void pipeline::add(request what, time_point now, bool resent) {
  entries_.push_back({.what = std::move(what), .queued = now, .sent = resent, .resent = resent});
}

std::size_t pipeline::send_to(std::string& out, time_point now) {
  std::size_t again = 0;
  for (; in_flight_ < entries_.size(); ++in_flight_) {
    auto& one = entries_[in_flight_];
    out += one.what.bytes;
    one.sent_at = now;
    if (one.sent) {
      one.resent = true;
      ++again;
    }
    one.sent = true;
  }
  return again;
}

bool pipeline::match(resp::reply&& reply, finished& out) {
  if (in_flight_ == 0) return false;
  out = entries_.front().finish();
  out.how.reply = std::move(reply);
  entries_.pop_front();
  --in_flight_;
  return true;
}

void pipeline::put_back(finished one, time_point now) {
  entries_.push_front(
      {.what = std::move(one.what), .queued = now, .sent = one.how.sent, .resent = one.how.resent});
}

void pipeline::restart() noexcept { in_flight_ = 0; }

}  // namespace holdfast::net
