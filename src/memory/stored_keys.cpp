#include "memory/stored_keys.hpp"

namespace holdfast::memory {

stored_keys::value* stored_keys::find(std::string_view key) {
  auto const found = map_.find(key);
  if (found == map_.end()) return nullptr;
  if (found->second.end <= now_) {
    map_.erase(found);
    return nullptr;
  }
  return &found->second;
}

bool stored_keys::erase(std::string_view key) {
  auto const found = map_.find(key);
  if (found == map_.end()) return false;
  auto const was_valid = found->second.end > now_;
  map_.erase(found);
  return was_valid;
}

std::string_view stored_keys::text_of(std::string_view key) {
  auto const* const stored = find(key);
  auto const* const text = stored == nullptr ? nullptr : std::get_if<std::string>(&stored->data);
  return text == nullptr ? std::string_view{} : *text;
}

std::vector<std::string> stored_keys::names() {
  std::erase_if(map_, [this](auto const& entry) { return entry.second.end <= now_; });
  std::vector<std::string> all;
  all.reserve(map_.size());
  for (auto const& [key, stored] : map_) all.push_back(key);
  return all;
}

}  // namespace holdfast::memory
