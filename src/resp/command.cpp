#include "resp/command.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <limits>

namespace holdfast::resp {
namespace {

/// A number, or a line that begins with a type and ends a line of RESP, written from its end: without an
/// allocation, and so cheap because a request has twenty of them.
class digits {
 public:
  explicit digits(std::int64_t value) noexcept {
    auto const unsigned_value = static_cast<std::uint64_t>(value);
    put(value < 0 ? 0 - unsigned_value : unsigned_value);
    if (value < 0) *--begin_ = '-';
  }
  digits(char type, std::size_t n) noexcept {
    *--begin_ = '\n';
    *--begin_ = '\r';
    put(n);
    *--begin_ = type;
  }
  digits(digits const&) = delete;
  digits& operator=(digits const&) = delete;
  ~digits() = default;

  [[nodiscard]] std::string_view view() const noexcept {
    return {begin_, static_cast<std::size_t>(text_.data() + text_.size() - begin_)};
  }

 private:
  void put(std::uint64_t value) noexcept {
    do {
      *--begin_ = static_cast<char>('0' + value % 10);
      value /= 10;
    } while (value != 0);
  }

  std::array<char, std::numeric_limits<std::uint64_t>::digits10 + 4> text_;  // all digits, a type, CR LF
  char* begin_ = text_.data() + text_.size();
};

constexpr std::string_view line_end{"\r\n"};

/// Returns where it ends.
char* put(char* at, std::string_view text) noexcept {
  if (!text.empty()) std::memcpy(at, text.data(), text.size());
  return at + text.size();
}

/// Takes a line off the front; 0: it isn't of that type.
std::size_t take_number(char type, std::string_view& commands) {
  std::size_t number = 0;
  if (commands.empty() || commands.front() != type) return number;
  std::size_t end = 1;
  while (end != commands.size() && commands[end] >= '0' && commands[end] <= '9')
    number = 10 * number + static_cast<std::size_t>(commands[end++] - '0');
  if (end == commands.size() || commands[end] != '\r') end = commands.find('\r', end);
  if (end == std::string_view::npos) return 0;
  commands.remove_prefix(std::min(end + line_end.size(), commands.size()));
  return number;
}

}  // namespace

void append_array_header(std::string& out, std::size_t n) { out += digits{'*', n}.view(); }

void append_bulk(std::string& out, std::string_view value) { append_bulk(out, std::span{&value, 1}); }

/// The string grows once, and is then written to: three appends would cost twice as much.
void append_bulk(std::string& out, std::span<std::string_view const> parts) {
  std::size_t size = 0;
  for (auto const part : parts) size += part.size();
  digits const header{'$', size};
  auto const begin = out.size();
  out.resize(begin + header.view().size() + size + line_end.size());
  auto* at = put(out.data() + begin, header.view());
  for (auto const part : parts) at = put(at, part);
  put(at, line_end);
}

void append_integer_bulk(std::string& out, std::int64_t value) { append_bulk(out, digits{value}.view()); }

void append_command(std::string& out, std::span<std::string_view const> arguments) {
  append_array_header(out, arguments.size());
  for (auto const argument : arguments) append_bulk(out, argument);
}

std::size_t take_array_header(std::string_view& command) { return take_number('*', command); }

std::string_view take_bulk(std::string_view& command) {
  auto const size = take_number('$', command);
  auto const argument = command.substr(0, size);
  command.remove_prefix(std::min(size + 2, command.size()));
  return argument;
}

std::vector<std::string_view> take_command(std::string_view& commands) {
  std::vector<std::string_view> arguments(take_array_header(commands));
  for (auto& argument : arguments) argument = take_bulk(commands);
  return arguments;
}

std::vector<std::string_view> arguments_of(std::string_view command) { return take_command(command); }

}  // namespace holdfast::resp
