#include "resp/command.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>

namespace holdfast::resp {
namespace {

constexpr std::string_view line_end{"\r\n"};
/// A size has fewer.
constexpr std::ptrdiff_t most_digits = std::numeric_limits<std::size_t>::digits10;

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
std::optional<std::size_t> take_line(char type, std::string_view& commands) noexcept {
  auto const* at = commands.data();
  auto const* const end = at + commands.size();
  if (at == end || *at != type) return std::nullopt;
  auto const* const digits = ++at;
  std::size_t number = 0;
  for (; at != end && *at >= '0' && *at <= '9'; ++at)
    number = 10 * number + static_cast<std::size_t>(*at - '0');
  auto const count = at - digits;
  if (count == 0 || count > most_digits || end - at < 2 || at[0] != '\r' || at[1] != '\n')
    return std::nullopt;
  commands = {at + 2, end};
  return number;
}

}  // namespace

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
