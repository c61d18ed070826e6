#include "net/pipeline.hpp"

#include <utility>

namespace holdfast::net {
namespace {

/// The number of requests whose memory is kept for reuse.
constexpr std::size_t most_spare = 256;

}  // namespace

void pipeline::add(request&& request, time_point now, bool resent) {
  batch single;
  if (spare_.empty()) {
    single.emplace_back();
  } else {
    single.splice(single.begin(), spare_, spare_.begin());
  }
  auto& added = single.front();
  added.request = std::move(request);
  added.response.sent = added.response.resent = resent;
  added.queued = now;
  append(single);
}

void pipeline::add(batch&& requests, time_point now) noexcept {
  if (requests.empty()) return;
  for (auto& added : requests) {
    added.response = {.sent = added.response.sent, .resent = added.response.sent};
    added.queued = now;
    added.last = {};
  }
  append(requests);
}

void pipeline::append(batch& requests) noexcept {
  auto const first = requests.begin();
  all_.splice(all_.end(), requests);
  if (unsent_ == all_.end()) unsent_ = first;
}

void pipeline::repeat(batch&& request, time_point now) noexcept {
  for (auto& taken : request) {
    taken.response = {.sent = taken.response.sent, .resent = taken.response.sent};
    taken.queued = now;
    taken.last = {};
  }
  to_repeat_.splice(to_repeat_.end(), request);
}

/// Only while nothing is in flight.
void pipeline::put_repeated_first() noexcept {
  all_.splice(all_.begin(), to_repeat_);
  unsent_ = all_.begin();
}

void pipeline::go_on(batch&& request, exchange&& next) noexcept {
  auto& last = request.front().last;
  last.now = std::move(next);
  last.goes_on = true;
  last.replies.clear();
  auto const first = request.begin();
  all_.splice(unsent_, request);
  unsent_ = first;
}

std::size_t pipeline::send_to(std::string& out, time_point now, translation* translator) {
  if (!to_repeat_.empty()) {
    if (in_flight_ != 0) return 0;
    put_repeated_first();
  }
  auto size = out.size();
  for (auto next = unsent_; next != all_.end(); ++next) size += next->request.bytes.size();
  out.reserve(size);
  std::size_t again = 0;
  for (; unsent_ != all_.end() && !alone_; ++unsent_, ++in_flight_) {
    auto& [request, response, queued, last] = *unsent_;
    if (!last.goes_on && translator != nullptr && request.script != nullptr) {
      last.now = translator->begin(request);
      last.translated = !last.now.bytes.empty();
    }
    out += last.translated ? last.now.bytes : request.bytes;
    last.now.bytes.clear();
    alone_ = last.now.alone;
    if (last.goes_on) continue;
    response.sent_at = now;
    if (response.sent) {
      response.resent = true;
      ++again;
    }
    response.sent = true;
  }
  return again;
}

bool pipeline::match(resp::reply&& reply, batch& out) {
  if (in_flight_ == 0) return false;
  auto& oldest = all_.front();
  if (oldest.last.translated) {
    oldest.last.replies.push_back(std::move(reply));
    if (oldest.last.replies.size() < oldest.last.now.replies) return true;
  } else {
    if (!oldest.response.reply.is_error()) oldest.response.reply = std::move(reply);
    if (++oldest.last.answered < oldest.request.replies) return true;
  }
  if (oldest.last.now.alone) alone_ = false;
  out.splice(out.end(), all_, all_.begin());
  --in_flight_;
  return true;
}

void pipeline::put_back(batch&& requests, time_point now) noexcept {
  for (auto& returned : requests) {
    returned.response = {.sent = returned.response.sent, .resent = returned.response.resent};
    returned.queued = now;
    returned.last = {};
  }
  all_.splice(all_.begin(), requests);
  unsent_ = all_.begin();
}

void pipeline::restart() noexcept {
  auto next = all_.begin();
  for (std::size_t n = 0; n != in_flight_; ++n, ++next) next->last = {};
  if (next != all_.end()) next->last = {};                // the one that was to go on
  if (in_flight_ != 0) all_.front().response.reply = {};  // further replies to it may be lost
  in_flight_ = 0;
  alone_ = false;
  put_repeated_first();
}

void pipeline::recycle(batch&& used) noexcept {
  while (!used.empty() && spare_.size() < most_spare) {
    entry empty{};
    std::swap(used.front(), empty);  // an assigned string would keep its buffer, of a batch's 18 KB, too
    spare_.splice(spare_.end(), used, used.begin());
  }
  used.clear();
}

}  // namespace holdfast::net
