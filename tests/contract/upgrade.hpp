/// What a client asks for that has an upgrade lease, or wants it.
#pragma once

#include "contract/shared.hpp"

namespace holdfast::contract::upgrading {

using namespace sharing;

// `caller` has the upgrade lease; `sibling`, of the same client, is the writer that it would become.
inline constexpr std::string_view caller_has_it = "11111111-1111-4111-8111-111111111111:7:u";
inline constexpr std::string_view sibling_waits = "11111111-1111-4111-8111-111111111111:8:w";
inline constexpr std::string_view ben_wants_it = "bbbbbbbb-bbbb-4bbb-8bbb-bbbbbbbbbbbb:3:u";
inline constexpr std::string_view rival_wants_it = "22222222-2222-4222-8222-222222222222:1:u";

inline call ask_for_it(engine::acquire_request request) {
  request.ttl = std::chrono::milliseconds{full_ttl};
  return recipes::plain::upgradable.acquire(lock_name, request);
}
inline call write_instead(engine::acquire_request request, std::uint64_t in_place_of = 7) {
  request.ttl = std::chrono::milliseconds{full_ttl};
  request.in_place_of = in_place_of;
  return recipes::plain::upgrader.acquire(lock_name, request);
}
inline call stay(std::string_view owner) {
  return recipes::plain::upgrader.abandon({.name = lock_name, .owner = owner}, {});
}
inline call give_it_back(std::string_view owner) {
  return recipes::plain::upgradable.release({.name = lock_name, .owner = owner}, {});
}
inline call go_on(std::string_view owner) {
  return recipes::plain::upgradable.renew(std::chrono::milliseconds{full_ttl},
                                          std::vector<engine::owned>{{lock_name, owner}});
}

inline call keep_reading(std::string_view owner) {
  return recipes::plain::keep_reading({lock_name, owner}, std::chrono::milliseconds{full_ttl},
                                      engine::publishing::counted);
}

inline std::string ready(std::string_view writer) {
  return names::inbox(writer.substr(0, 36), lock_name) + " ready " + std::string{writer.substr(37)} + " " +
         std::string{lock_name};
}
inline words has_given_up(std::string_view owner) {
  return {"SET", names::gave_up(lock_name), std::string{owner}, "EX", "86400"};
}

class upgrade_scripts : public testing::TestWithParam<row> {};

}  // namespace holdfast::contract::upgrading
