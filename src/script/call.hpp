/// A script call as bytes: made by a recipe, sent by a runner.
#pragma once

#include "resp/command.hpp"
#include "script/names.hpp"

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

namespace holdfast {

/// A Lua script, embedded by the build from scripts/<family>/<verb>.lua.
struct script {
  std::string_view name;
  std::string_view sha1;
  std::string_view text;
};

/// A Redis key, as a type of its own.
struct key {
  std::string_view text;
  names::side side{};  ///< other than none: that key beside `text`
};

/// As a bulk string. Returns the size of the key.
inline std::size_t append_key(std::string& out, key const& key) {
  if (key.side == names::side::none) {
    resp::append_bulk(out, key.text);
    return key.text.size();
  }
  auto const parts = names::parts_beside(key.text, names::suffix_of(key.side));
  resp::append_bulk(out, parts);
  std::size_t size = 0;
  for (auto const part : parts) size += part.size();
  return size;
}

/// A script argument: text, or a number as decimal text.
struct arg {
  arg(std::string_view value) : text{value} {}
  arg(std::string const& value) : text{value} {}
  arg(char const* value) : text{value} {}
  template <std::integral T>
  arg(T value) : number{static_cast<std::int64_t>(value)}, is_number{true} {}

  std::string_view text{};
  std::int64_t number = 0;
  bool is_number = false;
};

/// One script with its keys and arguments, encoded.
struct call {
  call(script const& script, std::initializer_list<key> keys, std::initializer_list<arg> args,
       std::span<key const> more_keys = {}, std::span<arg const> more_args = {})
      : source{&script} {
    auto const key_count = keys.size() + more_keys.size();
    parts = 3 + key_count + args.size() + more_args.size();
    bytes.reserve(3 * around_each + script.sha1.size() + room_of_all(keys) + room_of_all(args) +
                  room_of_all(more_keys) + room_of_all(more_args));
    append_head();
    resp::append_integer_bulk(bytes, static_cast<std::int64_t>(key_count));
    for (auto const& key : keys) append(key);
    for (auto const& key : more_keys) append(key);
    for (auto const& arg : args) append(arg);
    for (auto const& arg : more_args) append(arg);
  }

  script const* source;
  std::size_t parts;  ///< of the whole command: EVALSHA, the script, the number of keys, keys and arguments
  std::string bytes;  ///< the whole command
  std::size_t tail_begin = 0;     ///< where in `bytes` the number of keys begins
  std::size_t first_key_end = 0;  ///< where in `bytes` the text of the first key ends; 0: it has none
  std::size_t first_key_size = 0;
  bool in_steps = true;  ///< see net::request

  /// What is the same, however the script is named: the number of keys, the keys and the arguments.
  [[nodiscard]] std::string_view tail() const noexcept { return std::string_view{bytes}.substr(tail_begin); }

 private:
  /// At most so many bytes around a key or an argument, or of a number with these.
  static constexpr std::size_t around_each = 28;
  [[nodiscard]] static std::size_t room_of(key const& key) noexcept {
    return key.text.size() + names::suffix_of(key.side).size() + around_each;
  }
  [[nodiscard]] static std::size_t room_of(arg const& arg) noexcept { return arg.text.size() + around_each; }
  template <class Parts>
  [[nodiscard]] static std::size_t room_of_all(Parts const& parts) noexcept {
    std::size_t room = 0;
    for (auto const& part : parts) room += room_of(part);
    return room;
  }

  void append_head() {
    resp::append_array_header(bytes, parts);
    resp::append_bulk(bytes, "EVALSHA");
    resp::append_bulk(bytes, source->sha1);
    tail_begin = bytes.size();
  }
  void append(key const& key) {
    auto const size = append_key(bytes, key);
    if (first_key_end != 0) return;
    first_key_end = bytes.size() - 2;  // before the CR LF
    first_key_size = size;
  }
  void append(arg const& arg) {
    if (arg.is_number) {
      resp::append_integer_bulk(bytes, arg.number);
    } else {
      resp::append_bulk(bytes, arg.text);
    }
  }
};

/// Plain commands in one write that take effect together, or not at all: MULTI, EXEC, and those between.
struct transaction {
  std::string bytes;
  std::uint8_t commands = 0;      ///< with MULTI and EXEC; each is answered
  std::size_t first_key_end = 0;  ///< where in `bytes` the text of the first key ends
  std::size_t first_key_size = 0;
};

}  // namespace holdfast
