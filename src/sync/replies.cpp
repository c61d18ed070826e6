#include "sync/replies.hpp"

namespace holdfast::sync::replies {
namespace {

using namespace engine;

verdict read_busy(resp::reply const& reply, std::size_t at) {
  return busy{.pttl = milliseconds{reply[at].integer},
              .ahead = reply[at + 1].integer,
              .ticket = reply[at + 2].integer,
              .counter = reply[at + 3].integer,
              .holder = reply[at + 4].text,
              .held_for = std::chrono::microseconds{reply[at + 5].integer}};
}

verdict read_granted(resp::reply const& reply, std::size_t at) {
  return granted{.token = reply[at].integer, .count = static_cast<int>(reply[at + 1].integer)};
}

ownership read_found(std::int64_t code) {
  if (code > 0) return ownership::mine;
  return code == 0 ? ownership::gone : ownership::foreign;
}

}  // namespace

verdict read_acquire(resp::reply const& reply) {
  if (reply.is_integer()) return granted{.count = static_cast<int>(reply.integer)};  // without tokens
  if (reply.size() == 2) return read_granted(reply, 0);
  if (reply.size() == 6) return read_busy(reply, 0);
  return busy{};  // nothing that our script says: ask again
}

ownership read_release(resp::reply const& reply) { return read_found(reply.integer); }

std::vector<std::size_t> read_wanted(resp::reply const& reply) {
  std::vector<std::size_t> places;
  places.reserve(reply.size());
  for (auto const& place : reply.elements) places.push_back(static_cast<std::size_t>(place.integer) - 1);
  return places;
}

passed read_pass(resp::reply const& reply) {
  if (!reply.is_array() || reply.size() == 0) return {.before = ownership::gone};
  if (reply[0].integer == 1 && reply.size() == 3) return {.next = {read_granted(reply, 1)}};
  if (reply[0].integer == 2 && reply.size() == 7) return {.next = {read_busy(reply, 1)}};
  return {.before = read_found(reply[0].integer)};
}

std::vector<std::pair<std::size_t, ownership>> read_renew(resp::reply const& reply) {
  std::vector<std::pair<std::size_t, ownership>> lost;
  for (auto const& place : reply.elements) {
    if (!place.is_integer()) continue;
    auto const foreign = place.integer < 0;
    lost.emplace_back(static_cast<std::size_t>(foreign ? -place.integer : place.integer) - 1,
                      foreign ? ownership::foreign : ownership::gone);
  }
  return lost;
}

std::vector<std::pair<std::size_t, milliseconds>> read_cut(resp::reply const& reply) {
  std::vector<std::pair<std::size_t, milliseconds>> cut;
  for (auto const& one : reply.elements) {
    if (one.size() == 2) cut.emplace_back(static_cast<std::size_t>(one[0].integer) - 1, one[1].integer);
  }
  return cut;
}

}  // namespace holdfast::sync::replies
