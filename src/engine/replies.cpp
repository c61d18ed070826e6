#include "engine/replies.hpp"

#include <algorithm>
#include <utility>

#include "base/whole_number.hpp"

namespace holdfast::engine::replies {
namespace {

/// `read` takes the reply apart if it is `understood`.
template <class Outcome>
answer<Outcome> read_with(Outcome (*read)(resp::reply&), net::response& response, bool understood) {
  answer<Outcome> result{
      .sent_at = response.sent_at, .connection_id = response.connection_id, .resent = response.resent};
  if (response.failure) {
    result.content = failed{.reason = std::move(response.failure), .sent = response.sent};
  } else if (understood) {
    result.content = read(response.reply);
  } else {
    result.content = refused{.text = std::move(response.reply.text), .resent = response.resent};
  }
  return result;
}

verdict busy_from(resp::reply& reply, std::size_t offset) {
  return busy{.pttl = milliseconds{reply[offset].integer},
              .ahead = reply[offset + 1].integer,
              .ticket = reply[offset + 2].integer,
              .counter = reply[offset + 3].integer,
              .holder = std::move(reply.elements[offset + 4].text),
              .held_for = std::chrono::microseconds{reply[offset + 5].integer}};
}

verdict granted_from(resp::reply const& reply, std::size_t offset) {
  return granted{.token = reply[offset].integer, .count = static_cast<int>(reply[offset + 1].integer)};
}

ownership ownership_of(std::int64_t code) {
  if (code > 0) return ownership::held;
  return code == 0 ? ownership::gone : ownership::foreign;
}

verdict verdict_in(resp::reply& reply) {
  if (reply.is_integer()) return granted{.count = static_cast<int>(reply.integer)};  // without tokens
  if (reply.size() == 2) return granted_from(reply, 0);
  if (reply.size() == 6) return busy_from(reply, 0);
  if (reply.size() == 8) {
    auto found = busy_from(reply, 0);
    std::get<busy>(found).permits = reply[6].integer;
    std::get<busy>(found).out = reply[7].integer;
    return found;
  }
  return busy{};  // not a reply of our script: try again
}

/// 0: it is none.
std::int64_t number_in(std::string_view text) { return whole_number(text).value_or(0); }

verdict fast_verdict_in(resp::reply& reply) {
  if (reply.size() != 2 && reply.size() != 3) return undecided{.taken = true};  // to another request: perhaps
  if (!reply[0].is_text("OK")) return undecided{.taken = reply[0].is_error()};
  auto const token = reply[1].is_integer() ? reply[1].integer : number_in(reply[1].text);
  if (token <= 0) return undecided{.taken = true};
  if (reply.size() == 3 && (!reply[2].is_integer() || reply[2].integer != 0))
    return undecided{.taken = true, .overtook = true};
  return granted{.token = token};
}

bool any_in(resp::reply& reply) { return reply.integer > 0; }

ownership ownership_in(resp::reply& reply) { return ownership_of(reply.integer); }

std::size_t index_of(std::int64_t position) { return static_cast<std::size_t>(position) - 1; }

still_wanted wanted_in(resp::reply& reply) {
  still_wanted indices;
  indices.reserve(reply.size());
  for (auto const& element : reply.elements) indices.push_back(index_of(element.integer));
  std::ranges::sort(indices);
  return indices;
}

passed passed_in(resp::reply& reply) {
  if (!reply.is_array() || reply.size() == 0) return {.before = ownership::gone};
  if (reply[0].integer == 1 && reply.size() == 3) return {.next = granted_from(reply, 1)};
  if (reply[0].integer == 2 && reply.size() == 7) return {.next = busy_from(reply, 1)};
  return {.before = ownership_of(reply[0].integer)};
}

abandoned abandoned_in(resp::reply& reply) { return {.had_lock = reply.integer > 0}; }

ownership ownership_by(std::int64_t lost_position) {
  return lost_position < 0 ? ownership::foreign : ownership::gone;
}

renewals renewals_in(resp::reply& reply) {
  renewals result;
  for (auto const& element : reply.elements) {
    if (element.is_integer()) {
      auto const position = element.integer < 0 ? -element.integer : element.integer;
      result.others.emplace_back(index_of(position), ownership_by(element.integer));
    } else if (element.size() == 2 && element[1].is_text()) {
      result.unsaid.push_back(index_of(element[0].integer));
    } else if (element.size() == 2) {
      result.cut.emplace_back(index_of(element[0].integer), element[1].integer);
    }
  }
  return result;
}

ownership single_renewal_in(resp::reply& reply) {
  auto const lost = std::ranges::find_if(reply.elements, &resp::reply::is_integer);
  return lost == reply.elements.end() ? ownership::held : ownership_by(lost->integer);
}

}  // namespace

answer<verdict> read_acquire(net::response&& response) noexcept {
  return read_with(verdict_in, response, !response.reply.is_error());
}

answer<verdict> read_fast_acquire(net::response&& response) noexcept {
  return read_with(fast_verdict_in, response, !response.reply.is_error());
}

answer<ownership> read_fast_release(net::response&& response) noexcept {
  auto const awaited = response.reply.is_integer() && response.reply.integer == 2;
  auto result = read_release(std::move(response));
  if (awaited && result.outcome() != nullptr) result.content = ownership::awaited;
  return result;
}

answer<ownership> read_release(net::response&& response) noexcept {
  auto result = read_with(ownership_in, response, response.reply.is_integer());
  if (auto* const found = std::get_if<ownership>(&result.content); found != nullptr && response.resent)
    *found = ownership::held;
  return result;
}

answer<ownership> read_conversion(net::response&& response) noexcept {
  return read_with(ownership_in, response, response.reply.is_integer());
}

answer<bool> read_petition(net::response&& response) noexcept {
  return read_with(any_in, response, response.reply.is_integer());
}

answer<still_wanted> read_release_unwanted(net::response&& response) {
  return read_with(wanted_in, response, response.reply.is_array());
}

answer<passed> read_pass(net::response&& response) noexcept {
  auto result = read_with(passed_in, response, !response.reply.is_error());
  if (auto* const found = std::get_if<passed>(&result.content); found != nullptr && response.resent)
    found->before = ownership::held;
  return result;
}

answer<abandoned> read_abandon(net::response&& response) noexcept {
  return read_with(abandoned_in, response, !response.reply.is_error());
}

answer<renewals> read_renew(net::response&& response) {
  return read_with(renewals_in, response, response.reply.is_array());
}

answer<ownership> read_set_ttl(net::response&& response) noexcept {
  return read_with(single_renewal_in, response, response.reply.is_array());
}

}  // namespace holdfast::engine::replies
