#include "call_words.hpp"

namespace holdfast::server {
namespace {

/// An object of ours keeps where a key's value is, so no two may have the same.
bool are_different(std::span<abi::string* const> const keys) {
  for (std::size_t i = 1; i < keys.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (text_of(keys[i]) == text_of(keys[j])) return false;
    }
  }
  return true;
}

}  // namespace

std::size_t number_of_keys(std::span<abi::string* const> const words) {
  if (words.size() <= first_key) return 0;
  auto const number = parse_number(text_of(words[1]));
  if (!number || *number < 1 || *number > static_cast<std::int64_t>(words.size() - first_key)) return 0;
  return static_cast<std::size_t>(*number);
}

word_fault split(call_shape const& shape, std::span<abi::string* const> const words, call_words& parts) {
  if (words.size() < shape.least_words()) return word_fault::arity;
  auto const key_count = shape.has_number() ? number_of_keys(words) : 1;
  if (key_count == 0 || (!shape.one_owner_a_lock && key_count != shape.keys_of_a_lock))
    return word_fault::key_number;
  parts.keys = words.subspan(shape.before_keys(), key_count);
  parts.arguments = words.subspan(shape.before_keys() + key_count);
  auto const has_side_keys =
      shape.keys == key_shape::lock_with_side || shape.keys == key_shape::lock_with_more;
  if (has_side_keys && !are_different(parts.keys)) return word_fault::same_keys;
  if (parts.arguments.size() < shape.arguments) return word_fault::arity;
  auto const others = parts.arguments.size() - shape.arguments;
  if (shape.one_owner_a_lock)
    return others * shape.keys_of_a_lock == key_count ? word_fault::none : word_fault::owner_number;
  return others <= shape.optional || shape.open_end ? word_fault::none : word_fault::arity;
}

char const* explanation(call_shape const& shape, word_fault const fault) {
  switch (fault) {
    case word_fault::same_keys:
      return "ERR all keys must be different";
    case word_fault::owner_number:
      return "ERR there must be one owner for each lock";
    default:
      break;
  }
  switch (shape.keys) {
    case key_shape::lock_with_side:
      return "ERR the number of keys must be 3: lock, counter and queue";
    case key_shape::lock_with_more:
      return "ERR the number of keys must be 4: lock, counter, queue, and readers or number of permits";
    case key_shape::many:
      return "ERR the number of keys must be that of the locks";
    case key_shape::many_with_queues:
      return "ERR the number of keys must be twice that of the locks: each with its queue";
    case key_shape::many_with_readers:
      return "ERR the number of keys must be twice that of the locks: all locks, then the readers of each";
    default:
      return "ERR the number of keys must be 1: the lock";
  }
}

}  // namespace holdfast::server
