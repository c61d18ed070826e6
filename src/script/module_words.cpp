#include "script/module_words.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#include "resp/command.hpp"

namespace holdfast::scripting {
namespace {

constexpr auto brief = module_command::length::brief;
constexpr auto full = module_command::length::full;

// As bulk strings, none of which begins another.
constexpr std::string_view empty{"$0\r\n\r\n"};
constexpr std::string_view zero{"$1\r\n0\r\n"};
constexpr std::string_view one{"$1\r\n1\r\n"};
constexpr std::string_view grant_ms{"$4\r\n2000\r\n"};
constexpr std::string_view starvation_us{"$6\r\n100000\r\n"};
constexpr std::string_view join{"$4\r\njoin\r\n"};
constexpr std::string_view publish{"$7\r\nPUBLISH\r\n"};

constexpr std::array<std::string_view, 3> usual_of_take{one, join, empty};
constexpr std::array<std::string_view, 3> usual_of_give{starvation_us, grant_ms, publish};
constexpr std::array<std::string_view, 6> usual_of_take_shared{join, empty, zero, empty, grant_ms, publish};
constexpr std::array<std::string_view, 3> usual_of_give_shared{zero, grant_ms, publish};
constexpr std::array<std::string_view, 5> usual_of_take_permits{join, empty, zero, grant_ms, publish};
constexpr std::array<std::string_view, 2> usual_of_give_permits{grant_ms, publish};

constexpr std::array<module_command, 25> served_by_module{{
    {"exclusive.acquire", "HOLDFAST.TAKE", brief, usual_of_take},
    {"exclusive.acquire", "HOLDFAST.EXCLUSIVE.ACQUIRE"},
    {"exclusive.release", "HOLDFAST.GIVE", brief, usual_of_give},
    {"exclusive.release", "HOLDFAST.EXCLUSIVE.RELEASE"},
    {"exclusive.pass", "HOLDFAST.EXCLUSIVE.PASS"},
    {"exclusive.abandon", "HOLDFAST.EXCLUSIVE.ABANDON"},
    {"exclusive.renew", "HOLDFAST.EXCLUSIVE.RENEW"},
    {"exclusive.release_unwanted", "HOLDFAST.EXCLUSIVE.RELEASE_UNWANTED"},
    {"fair.acquire", "HOLDFAST.FAIR.ACQUIRE"},
    {"fair.pass", "HOLDFAST.FAIR.PASS"},
    {"shared.acquire", "HOLDFAST.TAKE_SHARED", brief, usual_of_take_shared, true},
    {"shared.acquire", "HOLDFAST.SHARED.ACQUIRE", full, {}, true},
    {"shared.release", "HOLDFAST.GIVE_SHARED", brief, usual_of_give_shared, true},
    {"shared.release", "HOLDFAST.SHARED.RELEASE", full, {}, true},
    {"shared.renew", "HOLDFAST.SHARED.RENEW", full, {}, true},
    {"permits.acquire", "HOLDFAST.TAKE_PERMITS", brief, usual_of_take_permits, true},
    {"permits.acquire", "HOLDFAST.PERMITS.ACQUIRE", full, {}, true},
    {"permits.release", "HOLDFAST.GIVE_PERMITS", brief, usual_of_give_permits, true},
    {"permits.release", "HOLDFAST.PERMITS.RELEASE", full, {}, true},
    {"permits.renew", "HOLDFAST.PERMITS.RENEW", full, {}, true},
    {"redisson_lock.acquire", "HOLDFAST.REDISSON_LOCK.ACQUIRE"},
    {"redisson_lock.release", "HOLDFAST.REDISSON_LOCK.RELEASE"},
    {"redisson_lock.pass", "HOLDFAST.REDISSON_LOCK.PASS"},
    {"redisson_lock.abandon", "HOLDFAST.REDISSON_LOCK.ABANDON"},
    {"redisson_lock.renew", "HOLDFAST.REDISSON_LOCK.RENEW"},
}};

struct argument_list {
  std::string_view encoded;
  std::size_t count;
};

/// Without those at the end that are as usual.
argument_list without_usual(argument_list all, std::span<std::string_view const> usual) noexcept {
  auto rest = all.encoded;
  auto kept = all.count - std::min(all.count, usual.size());
  for (std::size_t i = 0; i != kept; ++i) resp::take_bulk(rest);
  auto left_out = rest;
  for (auto i = kept; i != all.count; ++i) {
    auto const as_usual = usual[usual.size() - (all.count - i)];
    if (rest.starts_with(as_usual)) {
      rest.remove_prefix(as_usual.size());
      continue;
    }
    resp::take_bulk(rest);
    kept = i + 1;
    left_out = rest;
  }
  return {all.encoded.substr(0, all.encoded.size() - left_out.size()), kept};
}

}  // namespace

std::span<module_command const> module_commands() noexcept { return served_by_module; }

void append_as_command(std::string& out, net::request const& request, module_command const& command) {
  auto rest = std::string_view{request.bytes};
  if (command.words == full) {
    auto const words = resp::take_array_header(rest);
    resp::take_bulk(rest);  // EVALSHA
    resp::take_bulk(rest);  // the script
    resp::append_array_header(out, words - 1);
    resp::append_bulk(out, command.command);
    out += rest;
    return;
  }
  auto const given = request.arguments;
  auto const arguments =
      without_usual({rest.substr(rest.size() - given.from_end), given.count}, command.usual);
  auto const key = request.key_text();
  auto const begin = out.size();
  out.resize(begin + resp::writer::room_for(command.command.size()) + resp::writer::room_for(key.size()) +
             resp::writer::room_for(arguments.encoded.size()));
  resp::writer to{out.data() + begin};
  to.array_header(2 + arguments.count);
  to.bulk(command.command);
  to.bulk(key);
  to.encoded(arguments.encoded);
  out.resize(begin + to.size());
}

}  // namespace holdfast::scripting
