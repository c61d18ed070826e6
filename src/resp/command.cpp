#include "resp/command.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <system_error>

namespace holdfast::resp {
namespace {

constexpr std::string_view line_end{"\r\n"};
constexpr std::size_t most_digits = std::numeric_limits<std::uint64_t>::digits10 + 1;

/// Appends what `write` writes, which takes at most `room`.
template <class Write>
void append(std::string& out, std::size_t room, Write write) {
  auto const begin = out.size();
  out.resize(begin + room);
  writer to{out.data() + begin};
  write(to);
  out.resize(begin + to.size());
}

/// Takes a line off the front. Nothing: it isn't of that type, or not there to its end.
std::optional<std::size_t> take_line(char type, std::string_view& commands) {
  if (commands.empty() || commands.front() != type) return std::nullopt;
  std::size_t number = 0;
  auto const* const end = commands.data() + commands.size();
  auto const read = std::from_chars(commands.data() + 1, end, number);
  if (read.ec != std::errc{} || !std::string_view{read.ptr, end}.starts_with(line_end)) return std::nullopt;
  commands = {read.ptr + line_end.size(), end};
  return number;
}

}  // namespace

void writer::put(std::string_view text) noexcept {
  if (!text.empty()) std::memcpy(at_, text.data(), text.size());
  at_ += text.size();
}

void writer::line(char type, std::size_t n) noexcept {
  *at_++ = type;
  if (n < 10) {  // most are
    *at_++ = static_cast<char>('0' + n);
  } else {
    at_ = std::to_chars(at_, at_ + most_digits, n).ptr;
  }
  put(line_end);
}

void writer::array_header(std::size_t n) noexcept { line('*', n); }

void writer::bulk(std::span<std::string_view const> parts) noexcept {
  std::size_t size = 0;
  for (auto const part : parts) size += part.size();
  line('$', size);
  for (auto const part : parts) put(part);
  put(line_end);
}

void writer::integer(std::int64_t value) noexcept {
  std::array<char, most_digits> text;
  auto const* const end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  bulk({text.data(), static_cast<std::size_t>(end - text.data())});
}

void append_array_header(std::string& out, std::size_t n) {
  append(out, writer::room_for(0), [n](writer& to) { to.array_header(n); });
}

void append_bulk(std::string& out, std::string_view value) { append_bulk(out, std::span{&value, 1}); }

void append_bulk(std::string& out, std::span<std::string_view const> parts) {
  auto room = writer::room_for(0);
  for (auto const part : parts) room += part.size();
  append(out, room, [parts](writer& to) { to.bulk(parts); });
}

void append_integer_bulk(std::string& out, std::int64_t value) {
  append(out, writer::room_for(0), [value](writer& to) { to.integer(value); });
}

void append_command(std::string& out, std::span<std::string_view const> arguments) {
  append_array_header(out, arguments.size());
  for (auto const argument : arguments) append_bulk(out, argument);
}

std::size_t take_array_header(std::string_view& command) { return take_line('*', command).value_or(0); }

std::string_view take_bulk(std::string_view& command) {
  auto const size = take_line('$', command).value_or(0);
  auto const argument = command.substr(0, size);
  command.remove_prefix(std::min(size + 2, command.size()));
  return argument;
}

std::vector<std::string_view> take_command(std::string_view& commands) {
  std::vector<std::string_view> arguments;
  (void)take_whole_command(commands, arguments);
  return arguments;
}

bool take_whole_command(std::string_view& commands, std::vector<std::string_view>& arguments) {
  auto left = commands;
  auto size = take_line('*', left);
  if (!size) return false;
  arguments.resize(*size);
  for (auto& argument : arguments) {
    size = take_line('$', left);
    if (!size || left.size() < *size + line_end.size()) return false;
    argument = left.substr(0, *size);
    left.remove_prefix(*size + line_end.size());
  }
  commands = left;
  return true;
}

std::vector<std::string_view> arguments_of(std::string_view command) { return take_command(command); }

}  // namespace holdfast::resp
