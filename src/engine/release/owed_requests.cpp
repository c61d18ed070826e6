#include "engine/release/owed_requests.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::engine {

owed_requests::owed_requests(reactor::loop& loop, client_constants const& client, deferred_log& log,
                             handler send)
    : loop_{loop}, client_{client}, log_{log}, send_{std::move(send)}, timer_{[this] { send_all(); }} {
  all_.reserve(most_owed);
}

/// There is room for as many as a process short of memory is likely to leave. Beyond that, the server forgets
/// the acquisition at the end of its ttl, or when it comes to the head of the queue.
void owed_requests::add(owed_request const& request, time_point now) noexcept {
  if (all_.size() == all_.capacity()) {
    log_(log_level::warning, [&] {
      return client_.url + ": there is no memory to give back, or to keep, what is left of " +
             request.queue->title() + "; it is free at the end of the ttl that it has";
    });
    return;
  }
  all_.push_back(request);
  if (!timer_.armed()) loop_.arm(timer_, now + memory_pause);
}

std::size_t owed_requests::count(owed_request::kind type) const noexcept {
  return static_cast<std::size_t>(std::ranges::count(all_, type, &owed_request::type));
}

void owed_requests::clear() noexcept {
  all_.clear();
  timer_.disarm();
}

void owed_requests::send_all() noexcept {
  auto const now = boot_clock::now();
  // Requests that fail again go to the end.
  for (auto remaining = all_.size(); remaining != 0; --remaining) {
    auto const request = std::move(all_.front());
    all_.erase(all_.begin());
    if (request.until > now) send_(request, now);
  }
}

}  // namespace holdfast::engine
