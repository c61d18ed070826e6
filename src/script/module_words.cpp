#include "script/module_words.hpp"

#include <array>
#include <cstddef>
#include <vector>

#include "resp/command.hpp"

namespace holdfast::scripting {
namespace {

constexpr auto brief = module_command::length::brief;

constexpr std::array<module_command, 15> served_by_module{{
    {"exclusive.acquire", "HOLDFAST.TAKE", brief},
    {"exclusive.acquire", "HOLDFAST.EXCLUSIVE.ACQUIRE"},
    {"exclusive.release", "HOLDFAST.GIVE", brief},
    {"exclusive.release", "HOLDFAST.EXCLUSIVE.RELEASE"},
    {"exclusive.pass", "HOLDFAST.EXCLUSIVE.PASS"},
    {"exclusive.abandon", "HOLDFAST.EXCLUSIVE.ABANDON"},
    {"exclusive.renew", "HOLDFAST.EXCLUSIVE.RENEW"},
    {"exclusive.release_unwanted", "HOLDFAST.EXCLUSIVE.RELEASE_UNWANTED"},
    {"fair.acquire", "HOLDFAST.FAIR.ACQUIRE"},
    {"fair.pass", "HOLDFAST.FAIR.PASS"},
    {"redisson_lock.acquire", "HOLDFAST.REDISSON_LOCK.ACQUIRE"},
    {"redisson_lock.release", "HOLDFAST.REDISSON_LOCK.RELEASE"},
    {"redisson_lock.pass", "HOLDFAST.REDISSON_LOCK.PASS"},
    {"redisson_lock.abandon", "HOLDFAST.REDISSON_LOCK.ABANDON"},
    {"redisson_lock.renew", "HOLDFAST.REDISSON_LOCK.RENEW"},
}};

/// What the last arguments of a brief command are when they are left out.
using last_arguments = std::array<std::string_view, 3>;
constexpr last_arguments usual_of_take{"1", "join", ""};
constexpr last_arguments usual_of_give{"100000", "2000", "PUBLISH"};

constexpr std::size_t place_of_keys = 3;  // behind EVALSHA, the script and the number of keys
constexpr std::size_t number_of_keys = 3;

}  // namespace

std::span<module_command const> module_commands() noexcept { return served_by_module; }

std::string as_command(std::string_view request, module_command const& command) {
  auto words = resp::arguments_of(request);
  auto const is_brief = command.words == brief;
  if (is_brief) {
    auto const& usual = command.script == "exclusive.acquire" ? usual_of_take : usual_of_give;
    for (auto last = usual.rbegin(); last != usual.rend() && words.back() == *last; ++last) words.pop_back();
    words.erase(words.begin() + place_of_keys + 1, words.begin() + place_of_keys + number_of_keys);
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
