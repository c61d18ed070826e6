/// The keys beside a lock, for the commands that are given its name alone: as src/script/names.hpp makes
/// them.
#pragma once

#include <string>
#include <string_view>

namespace holdfast::server {

/// Into a text whose memory may serve for many.
inline void set_key_beside(std::string& key, std::string_view name, std::string_view suffix) {
  constexpr auto none = std::string_view::npos;
  auto const becomes_the_tag = name.find('{') == none && name.find('}') == none;  // each is one memchr
  key.clear();
  if (becomes_the_tag) key += '{';
  key.append(name).append(becomes_the_tag ? "}:" : "::").append(suffix);
}

}  // namespace holdfast::server
