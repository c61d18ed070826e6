#include "net/pipeline.hpp"

#include <utility>

namespace holdfast::net {
namespace {

/// So many requests may be under way without asking for memory, once there have been as many.
constexpr std::size_t most_spare = 256;

}  // namespace

void pipeline::add(request&& what, time_point now, bool resent) {
  batch one;
  if (spare_.empty()) {
    one.emplace_back();
  } else {
    one.splice(one.begin(), spare_, spare_.begin());
  }
  auto& added = one.front();
  added.request = std::move(what);
  added.response.sent = added.response.resent = resent;
  added.queued = now;
  append(one);
}

void pipeline::add(batch&& those, time_point now) noexcept {
  if (those.empty()) return;
  for (auto& one : those) {
    one.response = {.sent = one.response.sent, .resent = one.response.sent};
    one.queued = now;
  }
  append(those);
}

void pipeline::append(batch& those) noexcept {
  auto const first = those.begin();
  all_.splice(all_.end(), those);
  if (unsent_ == all_.end()) unsent_ = first;
}

std::size_t pipeline::send_to(std::string& out, time_point now) {
  auto size = out.size();
  for (auto one = unsent_; one != all_.end(); ++one) size += one->request.bytes.size();
  out.reserve(size);
  std::size_t again = 0;
  for (; unsent_ != all_.end(); ++unsent_, ++in_flight_) {
    auto& [what, how, queued] = *unsent_;
    out += what.bytes;
    how.sent_at = now;
    if (how.sent) {
      how.resent = true;
      ++again;
    }
    how.sent = true;
  }
  return again;
}

bool pipeline::match(resp::reply&& reply, batch& out) noexcept {
  if (in_flight_ == 0) return false;
  out.splice(out.end(), all_, all_.begin());
  out.back().response.reply = std::move(reply);
  --in_flight_;
  return true;
}

void pipeline::put_back(batch&& those, time_point now) noexcept {
  for (auto& one : those) {
    one.response = {.sent = one.response.sent, .resent = one.response.resent};
    one.queued = now;
  }
  all_.splice(all_.begin(), those);
  unsent_ = all_.begin();
}

void pipeline::restart() noexcept {
  in_flight_ = 0;
  unsent_ = all_.begin();
}

void pipeline::recycle(batch&& used) noexcept {
  while (!used.empty() && spare_.size() < most_spare) {
    used.front() = {};
    spare_.splice(spare_.end(), used, used.begin());
  }
  used.clear();
}

}  // namespace holdfast::net
