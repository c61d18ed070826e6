#include "wire/plain/barrier.hpp"

#include <array>
#include <vector>

#include "script/names.hpp"
#include "scripts/barrier.hpp"
#include "wire/lock_names.hpp"

namespace holdfast::recipes::plain {
namespace {

using namespace engine;

namespace barrier_calls {

namespace lua = scripts::barrier;

/// What a seat's name consists of, and the keys. `name` must outlive it.
struct seat {
  std::string_view barrier;
  std::string_view participant;
  std::string arrived;
  std::string mark;
  std::string channel;

  seat(std::string_view name, std::string_view owner) {
    auto const parts = split_names(name);
    barrier = parts[0];
    participant = parts[2];
    arrived = names::arrived(barrier);
    mark = names::seat(barrier, owner.substr(0, owner.rfind(':')), parts[1]);
    channel = names::inbox_of_all(barrier);
  }
};

call arrive(std::string_view name, acquire_request const& request) {
  seat const own{name, request.owner};
  return lua::arrive{.barrier = {own.barrier},
                     .arrived = {own.arrived},
                     .mark = {own.mark},
                     .owner = request.owner,
                     .participant = own.participant,
                     .parties = request.size,
                     .ttl_ms = request.ttl.count(),
                     .mode = request.join ? "join" : "ask",
                     .ticket = request.ticket,
                     .publish = word_of(request.policy.publish),
                     .channel = own.channel}();
}

call leave(owned arrival, release_policy policy) {
  seat const own{arrival.name, arrival.owner};
  return lua::leave{.barrier = {own.barrier},
                    .arrived = {own.arrived},
                    .mark = {own.mark},
                    .owner = arrival.owner,
                    .participant = own.participant,
                    .why = policy.why == departure::timed_out ? "timed_out" : "left",
                    .publish = word_of(policy.publish),
                    .channel = own.channel}();
}

std::vector<std::string> channels(std::string_view name, std::string_view) {
  return {names::inbox_of_all(seats.first(name))};
}

}  // namespace barrier_calls
}  // namespace

constinit engine::recipe const barrier{.kind = history::kind::barrier,
                                       .sharing = sharing::counted,
                                       .leased = false,
                                       .counts_waiters = true,
                                       .acquire = barrier_calls::arrive,
                                       .abandon = barrier_calls::leave,
                                       .several = &seats,
                                       .channels = barrier_calls::channels};

call time_up(std::string_view seat, std::string_view uuid, std::int64_t after, engine::publishing mode) {
  auto const any_owner = std::string{uuid} + ':';
  barrier_calls::seat const own{seat, any_owner};
  return scripts::barrier::time_up{.barrier = {own.barrier},
                                   .arrived = {own.arrived},
                                   .mark = {own.mark},
                                   .client = uuid,
                                   .participant = own.participant,
                                   .after = after,
                                   .publish = word_of(mode),
                                   .channel = own.channel}();
}

std::string seat_name(std::string_view name, std::uint64_t number, std::string_view participant) {
  return join_names(
      std::array<std::string, 3>{std::string{name}, std::to_string(number), std::string{participant}});
}

}  // namespace holdfast::recipes::plain
