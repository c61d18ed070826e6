#include "net/pipeline.hpp"

#include <utility>

#include "resp/command.hpp"

namespace holdfast::net {
namespace {

/// The number of requests whose memory is kept for reuse.
constexpr std::size_t most_spare = 256;

/// ASKING is for the next command, or transaction, alone.
void ask_for_each(exchange& now) {
  std::string bytes;
  std::vector<std::uint32_t> askings;
  auto position = std::uint32_t{0};
  auto inside = false;
  for (std::string_view left{now.bytes}; !left.empty(); ++position) {
    auto const from = left;
    auto const name = resp::take_command(left).front();
    if (!inside) {
      resp::append_command(bytes, {"ASKING"});
      askings.push_back(position++);
    }
    inside = name == "MULTI" || (inside && name != "EXEC");
    bytes += from.substr(0, from.size() - left.size());
  }
  now.bytes = std::move(bytes);
  now.replies += static_cast<std::uint32_t>(askings.size());
  now.askings = std::move(askings);
}

/// Assigned to, it would keep its buffer, of a batch's 18 KB, too.
void free_memory_of(std::string& text) noexcept { std::string{}.swap(text); }

/// Frees what a completed request had; add() sets all of the request anew.
void make_empty(pipeline::entry& used) noexcept {
  auto& [request, response, queued, last] = used;
  free_memory_of(request.bytes);
  request.done.reset();
  free_memory_of(response.reply.text);
  response = {};
  last.answered = 0;
  if (!last.translated) return;
  last.translated = last.goes_on = false;
  last.now.clear();
  last.replies.clear();
  if (last.replies.capacity() != 1) std::vector<resp::reply>{}.swap(last.replies);
}

void drop_replies_to_askings(exchange const& now, std::vector<resp::reply>& replies) noexcept {
  for (auto position = now.askings.rbegin(); position != now.askings.rend(); ++position)
    replies.erase(replies.begin() + *position);
}

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

void pipeline::put_first_unsent(batch& requests) noexcept {
  if (requests.empty()) return;
  auto const first = requests.begin();
  all_.splice(unsent_, requests);
  unsent_ = first;
}

/// Only while nothing is in flight.
void pipeline::put_repeated_first() noexcept {
  all_.splice(all_.begin(), to_repeat_);
  unsent_ = all_.begin();
}

void pipeline::go_on(batch&& request, exchange&& next) noexcept {
  auto& last = request.front().last;
  auto const was_alone = last.now.alone;  // it is still so: nothing may come between the two
  last.now = std::move(next);
  last.goes_on = true;
  last.replies.clear();
  going_on_.splice(was_alone ? going_on_.begin() : going_on_.end(), request);
}

std::size_t pipeline::send_to(std::string& out, time_point now, translation* translator) {
  if (!to_repeat_.empty()) {
    if (in_flight_ != 0) return 0;
    put_repeated_first();
  }
  put_first_unsent(going_on_);
  auto size = out.size();
  for (auto next = unsent_; next != all_.end(); ++next) size += next->request.bytes.size();
  out.reserve(size);
  std::size_t again = 0;
  for (; unsent_ != all_.end() && !alone_; ++unsent_, ++in_flight_) {
    auto& [request, response, queued, last] = *unsent_;
    if (!last.goes_on && translator != nullptr && request.script != nullptr) {
      translator->begin(request, response.sent, last.now);
      last.translated = !last.now.bytes.empty();
    }
    if (last.translated && request.asked) ask_for_each(last.now);
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
    drop_replies_to_askings(oldest.last.now, oldest.last.replies);
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

/// What later exchanges were to follow was another connection's, and perhaps another server's.
void pipeline::restart() noexcept {
  put_first_unsent(going_on_);
  for (auto& each : all_) each.last = {};
  if (in_flight_ != 0) all_.front().response.reply = {};  // further replies to it may be lost
  in_flight_ = 0;
  alone_ = false;
  put_repeated_first();
}

void pipeline::recycle(batch&& used) noexcept {
  while (!used.empty() && spare_.size() < most_spare) {
    make_empty(used.front());
    spare_.splice(spare_.end(), used, used.begin());
  }
  used.clear();
}

}  // namespace holdfast::net
