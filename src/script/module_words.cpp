#include "script/module_words.hpp"

#include <array>
#include <charconv>
#include <cstddef>
#include <vector>

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

constexpr std::size_t place_of_keys = 3;  // behind EVALSHA, the script and the number of keys

}  // namespace

std::span<module_command const> module_commands() noexcept { return served_by_module; }

std::string as_command(std::string_view request, module_command const& command) {
  auto words = resp::arguments_of(request);
  auto const is_brief = command.words == brief;
  if (is_brief) {
    std::ptrdiff_t keys = 1;
    std::from_chars(words[2].data(), words[2].data() + words[2].size(), keys);
    auto const& usual = command.usual;
    for (auto last = usual.rbegin(); last != usual.rend() && words.back() == *last; ++last) words.pop_back();
    words.erase(words.begin() + place_of_keys + 1, words.begin() + place_of_keys + keys);
  }
  std::string bytes;
  bytes.reserve(request.size());
  auto const first = is_brief ? place_of_keys : place_of_keys - 1;
  resp::append_array_header(bytes, words.size() - first + 1);
  resp::append_bulk(bytes, command.command);
  for (auto i = first; i < words.size(); ++i) resp::append_bulk(bytes, words[i]);
  return bytes;
}

}  // namespace holdfast::scripting
