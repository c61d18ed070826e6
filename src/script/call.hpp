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
  names::side_key beside{};  ///< other than none: that key beside `text`
};

/// As a bulk string. Returns the size of the key.
inline std::size_t write_key(resp::writer& to, key const& key) noexcept {
  if (key.beside == names::side_key::none) {
    to.bulk(key.text);
    return key.text.size();
  }
  auto const parts = names::parts_beside(key.text, names::suffix_of(key.beside));
  to.bulk(parts);
  std::size_t size = 0;
  for (auto const part : parts) size += part.size();
  return size;
}
/// The most that this takes.
[[nodiscard]] constexpr std::size_t room_for(key const& key) noexcept {
  constexpr std::size_t most_around_a_name = 3;
  return resp::writer::room_for(key.text.size() + names::suffix_of(key.beside).size() + most_around_a_name);
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

[[nodiscard]] inline std::size_t room_for(arg const& arg) noexcept {
  return resp::writer::room_for(arg.text.size());
}

/// One script with its keys and arguments, encoded.
struct call {
  call(script const& script, std::initializer_list<key> keys, std::initializer_list<arg> args,
       std::span<key const> more_keys = {}, std::span<arg const> more_args = {})
      : source{&script}, arguments{args.size() + more_args.size()} {
    auto const key_count = keys.size() + more_keys.size();
    parts = 3 + key_count + arguments;
    bytes.resize(3 * resp::writer::room_for(0) + verb.size() + script.sha1.size() + room_of(keys) +
                 room_of(args) + room_of(more_keys) + room_of(more_args));
    resp::writer to{bytes.data()};
    to.array_header(parts);
    to.encoded(verb);
    to.bulk(source->sha1);
    tail_begin = to.size();
    to.integer(static_cast<std::int64_t>(key_count));
    for (auto const& key : keys) write(to, key);
    for (auto const& key : more_keys) write(to, key);
    arguments_begin = to.size();
    for (auto const& arg : args) write(to, arg);
    for (auto const& arg : more_args) write(to, arg);
    bytes.resize(to.size());
  }

  script const* source;
  std::size_t parts;  ///< of the whole command: EVALSHA, the script, the number of keys, keys and arguments
  std::string bytes;  ///< the whole command
  std::size_t tail_begin = 0;     ///< where in `bytes` the number of keys begins
  std::size_t first_key_end = 0;  ///< where in `bytes` the text of the first key ends; 0: it has none
  std::size_t first_key_size = 0;
  std::size_t arguments;            ///< how many
  std::size_t arguments_begin = 0;  ///< where in `bytes` the first of them begins
  bool in_steps = true;             ///< see net::request

  /// What is the same, however the script is named: the number of keys, the keys and the arguments.
  [[nodiscard]] std::string_view tail() const noexcept { return std::string_view{bytes}.substr(tail_begin); }

 private:
  static constexpr std::string_view verb{"$7\r\nEVALSHA\r\n"};

  template <class Parts>
  [[nodiscard]] static std::size_t room_of(Parts const& parts) noexcept {
    std::size_t room = 0;
    for (auto const& part : parts) room += room_for(part);
    return room;
  }
  void write(resp::writer& to, key const& key) noexcept {
    auto const size = write_key(to, key);
    if (first_key_end != 0) return;
    first_key_end = to.size() - 2;  // before the CR LF
    first_key_size = size;
  }
  static void write(resp::writer& to, arg const& arg) noexcept {
    if (arg.is_number) {
      to.integer(arg.number);
    } else {
      to.bulk(arg.text);
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
