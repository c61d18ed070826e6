#include "serve/feed.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>

namespace holdfast::cli {
namespace {

constexpr std::size_t most_kept_bytes = 2'097'152;
/// What one page gets that was away; many may come back at the same time.
constexpr std::size_t most_missed_bytes = 262'144;
/// What a page waits before it connects again.
constexpr int retry_ms = 1'000;

}  // namespace

void event_feed::send_to(sink to) { sink_ = std::move(to); }

std::string event_feed::text_of(std::uint64_t const number, std::string_view const name,
                                std::string_view const data) const {
  return fmt::format("id: {}-{}\nevent: {}\ndata: {}\n\n", epoch_, number, name, data);
}

void event_feed::publish(std::string_view const name, std::string_view const data) {
  // Under the lock, so that pages get them in their order.
  std::lock_guard const hold{mutex_};
  auto const number = ++newest_;
  auto const text = std::make_shared<std::string const>(text_of(number, name, data));
  kept_.push_back({number, text});
  kept_bytes_ += text->size();
  while (kept_bytes_ > most_kept_bytes && kept_.size() > 1) {
    kept_bytes_ -= kept_.front().text->size();
    kept_.pop_front();
  }
  if (sink_) sink_(number, text);
}

event_feed::missed event_feed::since(std::string_view const last_id) const {
  std::lock_guard const hold{mutex_};
  missed result{.text = fmt::format("retry: {}\n\n", retry_ms), .newest = newest_};
  auto const dash = last_id.rfind('-');
  std::uint64_t last = 0;
  bool known = dash != std::string_view::npos && last_id.substr(0, dash) == epoch_;
  if (known) {
    auto const digits = last_id.substr(dash + 1);
    auto const [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), last);
    auto const oldest = kept_.empty() ? newest_ + 1 : kept_.front().number;
    known = problem == std::errc{} && last <= newest_ && last + 1 >= oldest;
  }
  auto const first = std::ranges::upper_bound(kept_, last, {}, &event::number);
  auto const size =
      std::accumulate(first, kept_.end(), std::size_t{0},
                      [](std::size_t sum, event const& each) { return sum + each.text->size(); });
  if (!known || size > most_missed_bytes) {
    result.text += text_of(newest_, "reset", "{}");
    return result;
  }
  for (auto each = first; each != kept_.end(); ++each) result.text += *each->text;
  return result;
}

}  // namespace holdfast::cli
