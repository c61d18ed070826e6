/// The keys of the server in memory: values of four types, with their ttls.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/clock.hpp"
#include "memory/sorted_set.hpp"

namespace holdfast::memory {

/// A key is gone at the end of its ttl, by the time set last.
class stored_keys {
 public:
  using hash = std::map<std::string, std::string, std::less<>>;
  using list = std::vector<std::string>;
  struct value {
    std::variant<std::string, hash, sorted_set, list> data;
    time_point end = time_point::max();
  };
  /// Thrown where a key has another type than the command is about.
  struct wrong_type {};

  /// `notes_new`: take_new() is asked for.
  explicit stored_keys(bool notes_new) noexcept : notes_new_{notes_new} {}

  void go_on_to(time_point now) noexcept { now_ = now; }
  [[nodiscard]] time_point now() const noexcept { return now_; }

  [[nodiscard]] bool has(std::string_view key) { return find(key) != nullptr; }
  /// Null: there is no such key.
  [[nodiscard]] value* find(std::string_view key);
  /// Null: there is no such key. Throws wrong_type.
  template <class T>
  [[nodiscard]] T* find_as(std::string_view key);
  template <class T>
  [[nodiscard]] T& get_or_make(std::string_view key);
  /// The value of a key that isn't there yet.
  [[nodiscard]] value& make(std::string_view key) { return map_.emplace(key, value{}).first->second; }
  /// The text under a key; empty when there is no such key, or it has another type. It is valid until the
  /// data changes.
  [[nodiscard]] std::string_view text_of(std::string_view key);
  [[nodiscard]] std::vector<std::string> names();

  /// The key of a collection is deleted with its last element.
  template <class T>
  void drop_if_empty(std::string_view key);
  /// False: there was no such key.
  bool erase(std::string_view key);
  void clear() { map_.clear(); }

  /// A write is under way that brings something new.
  void note_new(std::string_view key, std::string_view word) {
    if (notes_new_) new_.emplace_back(key, word);
  }
  /// What was noted since the last call.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> take_new() {
    return std::exchange(new_, {});
  }

 private:
  std::map<std::string, value, std::less<>> map_;
  std::vector<std::pair<std::string, std::string>> new_;
  time_point now_{};
  bool notes_new_;
};

template <class T>
T* stored_keys::find_as(std::string_view key) {
  auto* const stored = find(key);
  if (stored == nullptr) return nullptr;
  auto* const data = std::get_if<T>(&stored->data);
  if (data == nullptr) throw wrong_type{};
  return data;
}

template <class T>
T& stored_keys::get_or_make(std::string_view key) {
  if (auto* const stored = find_as<T>(key); stored != nullptr) return *stored;
  return std::get<T>(map_.emplace(key, value{.data = T{}}).first->second.data);
}

template <class T>
void stored_keys::drop_if_empty(std::string_view key) {
  if (auto const* const data = find_as<T>(key); data != nullptr && data->empty()) erase(key);
}

}  // namespace holdfast::memory
