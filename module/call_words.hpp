/// Splits the words of a call into keys and arguments, and refuses what doesn't fit the command.
#pragma once

#include "command_table.hpp"

#include <algorithm>
#include <cstddef>
#include <span>

namespace holdfast::server {

/// Behind the name of the command and the number of its keys.
inline constexpr std::size_t first_key = 2;

/// What a row of the table says about the words of a call.
struct call_shape {
  key_shape keys;
  std::size_t keys_of_a_lock;
  std::size_t arguments;  ///< that each call has, without those that may repeat
  std::size_t optional;   ///< that may follow
  bool one_owner_a_lock;
  bool open_end;

  [[nodiscard]] constexpr bool has_number() const {
    return keys != key_shape::one && keys != key_shape::name;
  }
  [[nodiscard]] constexpr std::size_t before_keys() const { return has_number() ? first_key : 1; }
  /// The fewest that a call has, its name included.
  [[nodiscard]] constexpr std::size_t least_words() const {
    return before_keys() + keys_of_a_lock + arguments + (one_owner_a_lock ? 1 : 0);
  }
};

[[nodiscard]] constexpr call_shape shape_of(command_row const& row) {
  auto const names = static_cast<std::size_t>(std::ranges::count(row.arguments, ' ') + 1);
  auto const optional = static_cast<std::size_t>(std::ranges::count(row.arguments, '?'));
  auto const repeats = row.arguments.ends_with("...");
  auto const two = row.keys == key_shape::many_with_queues || row.keys == key_shape::many_with_readers;
  auto const many = row.keys == key_shape::many || two;
  auto const keys = row.keys == key_shape::lock_with_more   ? 4U
                    : row.keys == key_shape::lock_with_side ? 3U
                    : two                                   ? 2U
                                                            : 1U;
  return {.keys = row.keys,
          .keys_of_a_lock = keys,
          .arguments = names - optional - (repeats ? 1 : 0),
          .optional = optional,
          .one_owner_a_lock = many,
          .open_end = repeats && !many};
}

struct call_words {
  std::span<abi::string* const> keys{};
  std::span<abi::string* const> arguments{};
};

enum class word_fault { none, arity, key_number, same_keys, owner_number };

/// The number that stands before the keys; 0 if it isn't one, or there are fewer words.
[[nodiscard]] std::size_t number_of_keys(std::span<abi::string* const> words);

[[nodiscard]] word_fault split(call_shape const& shape, std::span<abi::string* const> words,
                               call_words& parts);

/// The error to reply.
[[nodiscard]] char const* explanation(call_shape const& shape, word_fault fault);

}  // namespace holdfast::server
