#include "inspect/redisson_facts.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <span>
#include <utility>

#include "base/quoted.hpp"
#include "base/whole_number.hpp"
#include "inspect/bounded.hpp"
#include "wire/redisson/permit_id.hpp"

namespace holdfast::inspection {
namespace {

using namespace std::chrono;

constexpr std::string_view of_writer{":write"};
constexpr std::size_t uuid_size = 36;
constexpr std::size_t permit_size = 16;
/// The score of a permit that never expires.
constexpr double never = 922337203685477;

class facts_of {
 public:
  explicit facts_of(resp::reply const& all) : all_{all} {}

  [[nodiscard]] resp::reply const* find(std::string_view word) const {
    for (std::size_t i = 0; i + 1 < all_.size(); i += 2) {
      if (all_[i].is_text(word)) return &all_[i + 1];
    }
    return nullptr;
  }
  [[nodiscard]] std::int64_t number(std::string_view word) const {
    auto const* const found = find(word);
    return found == nullptr ? 0 : bounded(found->integer);
  }
  [[nodiscard]] std::string_view text(std::string_view word) const {
    auto const* const found = find(word);
    return found == nullptr ? std::string_view{} : found->text;
  }
  [[nodiscard]] std::span<resp::reply const> list(std::string_view word) const {
    auto const* const found = find(word);
    if (found == nullptr) return {};
    return found->elements;
  }

 private:
  resp::reply const& all_;
};

std::optional<std::int64_t> to_number(std::string_view text) {
  auto const value = whole_number(text);
  return value ? std::optional{bounded(*value)} : std::nullopt;
}

std::optional<double> to_score(std::string_view text) {
  double value = 0;
  auto const [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc{} || end == text.data()) return std::nullopt;
  return value;
}

/// "<client uuid>:<thread>", with any name for the thread.
bool is_owner(std::string_view text) {
  if (text.size() < uuid_size + 2 || text[uuid_size] != ':') return false;
  return std::ranges::all_of(text.substr(0, uuid_size), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F') || c == '-';
  });
}

/// Nullopt: -1, Redis's reply for a key without a ttl.
std::optional<milliseconds> to_ttl(std::int64_t pttl) {
  if (pttl == -1) return std::nullopt;
  return std::max(bounded_ms(pttl), 0ms);
}

/// Empty: the list is not in Redisson's format.
std::vector<hold_info> read_holders(std::span<resp::reply const> list, lock_state& state, bool two_sides) {
  std::vector<hold_info> all;
  for (std::size_t i = 0; i + 2 < list.size(); i += 3) {
    std::string_view owner = list[i].text;
    if (!is_owner(owner)) return {};
    hold_info hold{.side = two_sides ? hold_side::read : hold_side::exclusive,
                   .ttl_left = to_ttl(list[i + 2].integer)};
    if (two_sides && owner.ends_with(of_writer)) {
      hold.side = hold_side::write;
      owner.remove_suffix(of_writer.size());
    }
    hold.process.owner = owner;
    auto const count = to_number(list[i + 1].text);
    if (!count || *count < 1)
      state.misfit = "the hold count of " + hold.process.owner + " is " + quoted(list[i + 1].text) +
                     ", not a number from 1 up";
    hold.count = count.value_or(1);
    all.insert(hold.side == hold_side::write ? all.begin() : all.end(), std::move(hold));
  }
  return all;
}

void read_queue(lock_state& state, facts_of const& facts, microseconds now) {
  auto const count = facts.number("fair");
  if (count == 0) return;
  state.fair = true;
  state.waiting = count;
  auto const list = facts.list("fair queue");
  for (std::size_t i = 0; i + 1 < list.size(); i += 2) {
    waiter_info waiter{.process = {.owner = list[i].text}};
    if (auto const score = to_score(list[i + 1].text)) {
      waiter.credit_left =
          std::max(milliseconds{bounded(*score, most_ms)} - duration_cast<milliseconds>(now), 0ms);
    }
    state.queue.push_back(std::move(waiter));
  }
}

void read_hash(lock_state& state, facts_of const& facts, microseconds now) {
  bool const two_sides = !facts.text("mode").empty();
  auto holders = read_holders(facts.list("holders"), state, two_sides);
  if (holders.empty()) {
    state.misfit.clear();  // a hash of something else
    return;
  }
  state.kind = two_sides ? lock_kind::read_write : lock_kind::reentrant;
  state.holders = std::move(holders);
  state.holding = facts.number("holding");
  state.waiting = facts.number("listeners");
  state.token = to_number(facts.text("token")).value_or(0);
  read_queue(state, facts, now);
  bool const has_writer = state.holders.front().side == hold_side::write;
  if (two_sides && has_writer != (facts.text("mode") == "write"))
    state.misfit = "its mode is " + quoted(facts.text("mode")) + ", but " +
                   (has_writer ? "somebody" : "nobody") + " writes";
}

void read_permits(lock_state& state, facts_of const& facts, std::int64_t number, microseconds now) {
  auto const out = facts.number("holding");
  auto const expired = facts.number("expired");
  state.kind = lock_kind::permits;
  state.available = number + expired;
  state.permits = number + out;
  state.holding = out - expired;
  std::int64_t strange = 0;
  auto const list = facts.list("permits");
  for (std::size_t i = 0; i + 1 < list.size(); i += 2) {
    auto const& id = list[i].text;
    bool const known = id.size() == permit_size;
    if (!known) ++strange;
    hold_info hold{.process = {.owner = known ? recipes::redisson::shown(id) : id},
                   .side = hold_side::permit};
    if (auto const score = to_score(list[i + 1].text); score && *score < never)
      hold.ttl_left = milliseconds{bounded(*score, most_ms)} - duration_cast<milliseconds>(now);
    state.holders.push_back(std::move(hold));
  }
  if (strange != 0)
    state.misfit =
        std::to_string(strange) +
        " of its permits have no id of 16 bytes, as if a Redisson before 3.17 had taken them: Holdfast "
        "and newer ones can't give these back";
}

void read_string(lock_state& state, facts_of const& facts, microseconds now) {
  auto const text = facts.text("number");
  auto const number = to_number(text);
  if (facts.number("holding") > 0) {
    read_permits(state, facts, number.value_or(0), now);
  } else {
    state.kind = lock_kind::counter;
    state.available = number.value_or(0);
  }
  if (!number) state.misfit = "what is left of it is " + quoted(text) + ", not a number";
  if (auto const key = facts.text("beside"); !key.empty())
    state.misfit = "the key " + quoted(key) + ", where its permits would be, is not a sorted set";
}

void read_listeners_of_counter(lock_state& state, facts_of const& facts) {
  auto const of_semaphore = facts.number("semaphore listeners");
  auto const of_latch = facts.number("latch listeners");
  state.waiting += of_semaphore + of_latch;
  if (of_semaphore == 0 && of_latch == 0) return;
  state.counts = of_semaphore >= of_latch ? counter_use::permits : counter_use::latch;
}

}  // namespace

std::string read_facts(lock_state& state, resp::reply const& all, microseconds now) {
  facts_of const facts{all};
  if (facts.find("holders") != nullptr) {
    read_hash(state, facts, now);
  } else {
    state.waiting = facts.number("listeners");
    if (facts.find("number") != nullptr) read_string(state, facts, now);
    read_queue(state, facts, now);
    read_listeners_of_counter(state, facts);
  }
  if (!state.holders.empty()) state.holder.owner = state.holders.front().process.owner;
  return std::string{facts.text("refused")};
}

}  // namespace holdfast::inspection
