/// Just enough RESP to see where a request or reply ends and what a request says: for the proxy and fake
/// servers.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::test {

/// The length of the complete value that `bytes` begins with, if it is complete.
[[nodiscard]] inline std::optional<std::size_t> value_length(std::string_view bytes) {
  auto const line_end = bytes.find("\r\n");
  if (line_end == std::string_view::npos) return std::nullopt;
  auto length = line_end + 2;
  auto const number = std::atol(std::string{bytes.substr(1, line_end - 1)}.c_str());
  if (bytes[0] == '$' && number >= 0) length += static_cast<std::size_t>(number) + 2;
  if (bytes[0] == '*') {
    for (auto left = number; left > 0; --left) {
      if (length >= bytes.size()) return std::nullopt;
      auto const element = value_length(bytes.substr(length));
      if (!element) return std::nullopt;
      length += *element;
    }
  }
  if (length > bytes.size()) return std::nullopt;
  return length;
}

/// The strings of a flat array; `bytes` is complete.
[[nodiscard]] inline std::vector<std::string> words_of(std::string_view bytes) {
  std::vector<std::string> words;
  if (bytes.empty() || bytes[0] != '*') return words;
  for (auto at = bytes.find("\r\n") + 2; at < bytes.size();) {
    auto const line_end = bytes.find("\r\n", at);
    auto const length = *value_length(bytes.substr(at));
    auto const body = line_end + 2;
    if (bytes[at] == '$' && at + length >= body + 2)
      words.emplace_back(bytes.substr(body, at + length - 2 - body));
    else
      words.emplace_back(bytes.substr(at + 1, line_end - at - 1));
    at += length;
  }
  return words;
}

}  // namespace holdfast::test
