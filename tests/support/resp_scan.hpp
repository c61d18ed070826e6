/// A minimal RESP scanner that finds the end of a request or reply and the words of a request: for the proxy
/// and fake servers.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::test {

/// The length of the value that `bytes` begins with, if the value is complete.
[[nodiscard]] inline std::optional<std::size_t> value_length(std::string_view bytes) {
  auto const line_end = bytes.find("\r\n");
  if (line_end == std::string_view::npos) return std::nullopt;
  auto length = line_end + 2;
  auto const number = std::atol(std::string{bytes.substr(1, line_end - 1)}.c_str());
  if (bytes[0] == '$' && number >= 0) length += static_cast<std::size_t>(number) + 2;
  if (bytes[0] == '*') {
    for (auto remaining = number; remaining > 0; --remaining) {
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
  for (auto position = bytes.find("\r\n") + 2; position < bytes.size();) {
    auto const line_end = bytes.find("\r\n", position);
    auto const length = *value_length(bytes.substr(position));
    auto const body = line_end + 2;
    if (bytes[position] == '$' && position + length >= body + 2)
      words.emplace_back(bytes.substr(body, position + length - 2 - body));
    else
      words.emplace_back(bytes.substr(position + 1, line_end - position - 1));
    position += length;
  }
  return words;
}

}  // namespace holdfast::test
