#include "inspect/glob.hpp"

#include <algorithm>

namespace holdfast::inspection {
namespace {

constexpr std::string_view special{R"(*?[\)"};

/// One element of a pattern that stands for one character.
struct element {
  std::size_t length;
  bool matches;
};

bool within(char c, char first, char last) {
  auto const byte = [](char x) { return static_cast<unsigned char>(x); };
  return std::min(byte(first), byte(last)) <= byte(c) && byte(c) <= std::max(byte(first), byte(last));
}

/// `pattern` begins with `[`. A set that is never closed reaches to the end, as in Redis.
element read_set(std::string_view pattern, char c) {
  std::size_t pos = 1;
  bool const negated = pos < pattern.size() && pattern[pos] == '^';
  if (negated) ++pos;
  bool found = false;
  for (; pos < pattern.size() && pattern[pos] != ']'; ++pos) {
    auto const rest = pattern.size() - pos;
    if (pattern[pos] == '\\' && rest >= 2) {
      ++pos;
      found = found || pattern[pos] == c;
    } else if (rest >= 3 && pattern[pos + 1] == '-') {
      found = found || within(c, pattern[pos], pattern[pos + 2]);
      pos += 2;
    } else {
      found = found || pattern[pos] == c;
    }
  }
  return {std::min(pos + 1, pattern.size()), found != negated};
}

element read_element(std::string_view pattern, char c) {
  switch (pattern.front()) {
    case '?':
      return {1, true};
    case '[':
      return read_set(pattern, c);
    case '\\':
      if (pattern.size() >= 2) return {2, pattern[1] == c};
      [[fallthrough]];
    default:
      return {1, pattern.front() == c};
  }
}

}  // namespace

// Only the last `*` can need to match more: going back to an earlier `*` finds nothing new.
bool matches(std::string_view pattern, std::string_view name) {
  std::optional<std::string_view> after_star;
  std::string_view retry;
  for (;;) {
    if (!pattern.empty() && pattern.front() == '*') {
      pattern.remove_prefix(1);
      after_star = pattern;
      retry = name;
      continue;
    }
    if (pattern.empty() && name.empty()) return true;
    if (!pattern.empty() && !name.empty()) {
      auto const next = read_element(pattern, name.front());
      if (next.matches) {
        pattern.remove_prefix(next.length);
        name.remove_prefix(1);
        continue;
      }
    }
    if (!after_star || retry.empty()) return false;
    retry.remove_prefix(1);
    name = retry;
    pattern = *after_star;
  }
}

literal_start start_of(std::string_view pattern) {
  literal_start start;
  for (std::size_t pos = 0; pos < pattern.size(); ++pos) {
    if (pattern[pos] == '\\' && pos + 1 < pattern.size()) {
      ++pos;
    } else if (pattern[pos] != '\\' && special.find(pattern[pos]) != std::string_view::npos) {
      start.complete = false;
      return start;
    }
    start.text += pattern[pos];
  }
  return start;
}

std::string escaped(std::string_view text) {
  std::string pattern;
  for (char const c : text) {
    if (special.find(c) != std::string_view::npos) pattern += '\\';
    pattern += c;
  }
  return pattern;
}

}  // namespace holdfast::inspection
