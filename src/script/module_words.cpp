#include "script/module_words.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#include "base/whole_number.hpp"
#include "resp/command.hpp"

namespace holdfast::scripting {
namespace {

constexpr auto brief = module_command::length::brief;
constexpr auto full = module_command::length::full;

constexpr std::array<std::string_view, 3> usual_of_take{"1", "join", ""};
constexpr std::array<std::string_view, 3> usual_of_give{"100000", "2000", "PUBLISH"};
constexpr std::array<std::string_view, 6> usual_of_take_shared{"join", "", "0", "", "2000", "PUBLISH"};
constexpr std::array<std::string_view, 3> usual_of_give_shared{"0", "2000", "PUBLISH"};
constexpr std::array<std::string_view, 5> usual_of_take_permits{"join", "", "0", "2000", "PUBLISH"};
constexpr std::array<std::string_view, 2> usual_of_give_permits{"2000", "PUBLISH"};

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

std::string_view without_end(std::string_view text, std::string_view end) noexcept {
  return text.substr(0, text.size() - end.size());
}

}  // namespace

std::span<module_command const> module_commands() noexcept { return served_by_module; }

void append_as_command(std::string& out, std::string_view request, module_command const& command) {
  auto rest = request;
  auto const words = resp::take_array_header(rest);
  resp::take_bulk(rest);  // EVALSHA
  resp::take_bulk(rest);  // the script
  out.reserve(out.size() + rest.size() + 2 * command.command.size());
  if (command.words == full) {
    resp::append_array_header(out, words - 1);
    resp::append_bulk(out, command.command);
    out += rest;
    return;
  }
  auto const keys = whole_number<std::size_t>(resp::take_bulk(rest)).value_or(1);
  auto const all_keys = rest;
  resp::take_bulk(rest);
  auto const first_key = without_end(all_keys, rest);
  for (std::size_t i = 1; i < keys; ++i) resp::take_bulk(rest);
  auto const all_arguments = rest;
  auto const count = words - 3 - keys;
  auto kept = count - std::min(count, command.usual.size());
  for (std::size_t i = 0; i != kept; ++i) resp::take_bulk(rest);
  auto left_out = rest;  // those at the end that are as usual
  for (auto i = kept; i != count; ++i) {
    if (resp::take_bulk(rest) == command.usual[command.usual.size() - (count - i)]) continue;
    kept = i + 1;
    left_out = rest;
  }
  resp::append_array_header(out, kept + 2);
  resp::append_bulk(out, command.command);
  out += first_key;
  out += without_end(all_arguments, left_out);
}

}  // namespace holdfast::scripting
