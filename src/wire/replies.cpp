#include "wire/replies.hpp"

namespace holdfast::recipes::replies {
namespace {

using namespace engine;

verdict read_busy(resp::reply const& reply, std::size_t offset) {
  return busy{.pttl = milliseconds{reply[offset].integer},
              .ahead = reply[offset + 1].integer,
              .ticket = reply[offset + 2].integer,
              .counter = reply[offset + 3].integer,
              .holder = reply[offset + 4].text,
              .held_for = std::chrono::microseconds{reply[offset + 5].integer}};
}

verdict read_granted(resp::reply const& reply, std::size_t offset) {
  return granted{.token = reply[offset].integer, .count = static_cast<int>(reply[offset + 1].integer)};
}

ownership ownership_of(std::int64_t code) {
  if (code > 0) return ownership::mine;
  return code == 0 ? ownership::gone : ownership::foreign;
}

}  // namespace

verdict read_acquire(resp::reply const& reply) {
  if (reply.is_integer()) return granted{.count = static_cast<int>(reply.integer)};  // without tokens
  if (reply.size() == 2) return read_granted(reply, 0);
  if (reply.size() == 6) return read_busy(reply, 0);
  return busy{};  // not a reply of our script: try again
}

ownership read_release(resp::reply const& reply) { return ownership_of(reply.integer); }

std::vector<std::size_t> read_wanted(resp::reply const& reply) {
  std::vector<std::size_t> positions;
  positions.reserve(reply.size());
  for (auto const& element : reply.elements) {
    positions.push_back(static_cast<std::size_t>(element.integer) - 1);
  }
  return positions;
}

passed read_pass(resp::reply const& reply) {
  if (!reply.is_array() || reply.size() == 0) return {.before = ownership::gone};
  if (reply[0].integer == 1 && reply.size() == 3) return {.next = {read_granted(reply, 1)}};
  if (reply[0].integer == 2 && reply.size() == 7) return {.next = {read_busy(reply, 1)}};
  return {.before = ownership_of(reply[0].integer)};
}

std::vector<std::pair<std::size_t, ownership>> read_renew(resp::reply const& reply) {
  std::vector<std::pair<std::size_t, ownership>> lost;
  for (auto const& element : reply.elements) {
    if (!element.is_integer()) continue;
    auto const foreign = element.integer < 0;
    lost.emplace_back(static_cast<std::size_t>(foreign ? -element.integer : element.integer) - 1,
                      foreign ? ownership::foreign : ownership::gone);
  }
  return lost;
}

std::vector<std::pair<std::size_t, milliseconds>> read_cut(resp::reply const& reply) {
  std::vector<std::pair<std::size_t, milliseconds>> cut;
  for (auto const& pair : reply.elements) {
    if (pair.size() == 2) cut.emplace_back(static_cast<std::size_t>(pair[0].integer) - 1, pair[1].integer);
  }
  return cut;
}

}  // namespace holdfast::recipes::replies
