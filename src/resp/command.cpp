#include "resp/command.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

namespace holdfast::resp {
namespace {

/// The decimal digits of a number, without an allocation.
class decimal {
 public:
  template <class Integer>
  explicit decimal(Integer value) {
    auto const end = std::to_chars(text_.data(), text_.data() + text_.size(), value).ptr;
    size_ = static_cast<std::size_t>(end - text_.data());
  }

  [[nodiscard]] std::string_view view() const { return {text_.data(), size_}; }

 private:
  std::array<char, std::numeric_limits<std::uint64_t>::digits10 + 2> text_;  // all digits and a sign
  std::size_t size_ = 0;
};

void append_line(std::string& out, char type, std::size_t n) {
  out += type;
  out += decimal{n}.view();
  out += "\r\n";
}

/// Takes a line off the front; 0: it isn't of that type.
std::size_t take_number(char type, std::string_view& commands) {
  std::size_t number = 0;
  auto const line_end = commands.find('\r');
  if (commands.empty() || commands.front() != type || line_end == std::string_view::npos) return number;
  std::from_chars(commands.data() + 1, commands.data() + line_end, number);
  commands.remove_prefix(line_end + 2);
  return number;
}

}  // namespace

void append_array_header(std::string& out, std::size_t n) { append_line(out, '*', n); }

void append_bulk(std::string& out, std::string_view value) {
  append_line(out, '$', value.size());
  out += value;
  out += "\r\n";
}

void append_integer_bulk(std::string& out, std::int64_t value) { append_bulk(out, decimal{value}.view()); }

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
