/// Writes requests: RESP arrays of bulk strings, appended to a buffer.
#pragma once

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::resp {

/// Writes into memory that is there, and is large enough: see room_for. Here in full, since each request is a
/// dozen of these calls.
class writer {
 public:
  explicit writer(char* begin) noexcept : begin_{begin}, at_{begin} {}

  /// `*n\r\n`: n arguments follow.
  void array_header(std::size_t n) noexcept { line('*', n); }
  /// `$size\r\nvalue\r\n`; any bytes.
  void bulk(std::string_view value) noexcept {
    line('$', value.size());
    put(value);
    end_line();
  }
  /// The parts, one behind the other, as one bulk string.
  void bulk(std::span<std::string_view const> parts) noexcept {
    std::size_t size = 0;
    for (auto const part : parts) size += part.size();
    line('$', size);
    for (auto const part : parts) put(part);
    end_line();
  }
  /// A number as a bulk string.
  void integer(std::int64_t value) noexcept {
    std::array<char, most_digits> text;
    auto const* const end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
    bulk({text.data(), static_cast<std::size_t>(end - text.data())});
  }

  /// Bulk strings that are encoded already.
  void encoded(std::string_view bulks) noexcept { put(bulks); }

  /// Of all that was written.
  [[nodiscard]] std::size_t size() const noexcept { return static_cast<std::size_t>(at_ - begin_); }

  /// The most that a value of this size takes; a header or a number: of size 0.
  [[nodiscard]] static constexpr std::size_t room_for(std::size_t size) noexcept { return size + 30; }

 private:
  static constexpr std::size_t most_digits = std::numeric_limits<std::uint64_t>::digits10 + 1;

  void line(char type, std::size_t n) noexcept {
    *at_++ = type;
    if (n < 10) {  // most are
      *at_++ = static_cast<char>('0' + n);
    } else if (n < 100) {
      *at_++ = static_cast<char>('0' + n / 10);
      *at_++ = static_cast<char>('0' + n % 10);
    } else {
      at_ = std::to_chars(at_, at_ + most_digits, n).ptr;
    }
    end_line();
  }
  void put(std::string_view text) noexcept {
    if (!text.empty()) std::memcpy(at_, text.data(), text.size());
    at_ += text.size();
  }
  void end_line() noexcept {
    *at_++ = '\r';
    *at_++ = '\n';
  }

  char const* begin_;
  char* at_;
};

// The same, appended to a buffer.
void append_array_header(std::string& out, std::size_t n);
void append_bulk(std::string& out, std::string_view value);
void append_bulk(std::string& out, std::span<std::string_view const> parts);
void append_integer_bulk(std::string& out, std::int64_t value);

/// A whole command.
void append_command(std::string& out, std::span<std::string_view const> arguments);
inline void append_command(std::string& out, std::initializer_list<std::string_view> arguments) {
  append_command(out, std::span{arguments.begin(), arguments.size()});
}

/// Takes the header off a command that was encoded as above, and returns how many arguments follow.
[[nodiscard]] std::size_t take_array_header(std::string_view& command);

/// Takes the next argument off its front.
std::string_view take_bulk(std::string_view& command);

/// Takes the first off several commands that were encoded as above, and returns its arguments, in place.
[[nodiscard]] std::vector<std::string_view> take_command(std::string_view& commands);

/// The same for bytes of which the end may not have come yet. False: the first isn't whole, and nothing is
/// taken.
[[nodiscard]] bool take_whole_command(std::string_view& commands, std::vector<std::string_view>& arguments);

/// The arguments of the first, or only, one.
[[nodiscard]] std::vector<std::string_view> arguments_of(std::string_view command);

}  // namespace holdfast::resp
