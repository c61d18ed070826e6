/// What readers and writers of a lock on the plain wire ask for, and what they hear.
#pragma once

#include "contract/contract.hpp"
#include "script/names.hpp"
#include "wire/plain/shared.hpp"

namespace holdfast::contract::sharing {

// Of the owners of the same names, as readers.
inline constexpr std::string_view caller_reads = "11111111-1111-4111-8111-111111111111:7:r";
inline constexpr std::string_view ben_reads = "bbbbbbbb-bbbb-4bbb-8bbb-bbbbbbbbbbbb:3:r";
inline constexpr std::string_view readers = names::held_by_readers;

inline engine::release_policy const fair_policy{};

inline call read(engine::acquire_request request, engine::recipe const& kind = recipes::plain::reader) {
  request.ttl = std::chrono::milliseconds{full_ttl};
  return kind.acquire(lock_name, request);
}
inline call read_first(engine::acquire_request const& request) {
  return read(request, recipes::plain::reader_first);
}
inline call write(engine::acquire_request request) {
  request.ttl = std::chrono::milliseconds{full_ttl};
  return recipes::plain::fair.acquire(lock_name, request);
}
inline call stop_reading(std::string_view owner) {
  return recipes::plain::reader.release({.name = lock_name, .owner = owner}, fair_policy);
}
inline call stop_waiting_to_read(std::string_view owner) {
  return recipes::plain::reader.abandon({.name = lock_name, .owner = owner}, fair_policy);
}
inline call stop_writing(std::string_view owner) {
  return recipes::plain::fair.release({.name = lock_name, .owner = owner}, fair_policy);
}
inline call stop_waiting_to_write(std::string_view owner) {
  return recipes::plain::fair.abandon({.name = lock_name, .owner = owner}, fair_policy);
}
inline call go_on_reading(std::vector<engine::owned> const& leases) {
  return recipes::plain::reader.renew(std::chrono::milliseconds{full_ttl}, leases);
}
inline call read_on(std::string_view owner) {
  return recipes::plain::downgrade({.name = lock_name, .owner = owner}, std::chrono::milliseconds{full_ttl},
                                   engine::publishing::counted);
}

/// A message to a reader names it by its number, as any other.
inline std::string let_in(std::string_view reader, std::int64_t token = last_token + 1) {
  return granted(reader.substr(0, reader.size() - 2), token, 1);
}

/// Its ticket since it was told to ask.
inline words has_not_asked(std::string_view owner) {
  return {"ZINCRBY", names::queue(lock_name), "0.5", std::string{owner}};
}

class shared_scripts : public testing::TestWithParam<row> {};

}  // namespace holdfast::contract::sharing
