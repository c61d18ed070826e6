#include "resp/parser.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "base/whole_number.hpp"

namespace holdfast::resp {
namespace {

constexpr std::size_t longest_line = 64u << 10;
constexpr std::size_t smallest_buffer = 4u << 10;
constexpr std::size_t large_buffer = 128u << 10;  // above this a mostly empty buffer is shrunk

/// A decimal number that is the whole text.
std::optional<std::int64_t> to_integer(std::string_view text) {
  if (text.starts_with('+') && text.size() > 1 && text[1] != '-') text.remove_prefix(1);
  return whole_number(text);
}

/// A length: digits only, or "-1" for null.
std::optional<std::int64_t> to_length(std::string_view text) {
  if (text == "-1") return -1;
  if (text.empty() || text[0] < '0' || text[0] > '9') return std::nullopt;
  return to_integer(text);
}

/// The first line of the data, for a message: at most 40 characters, with unprintable ones as dots.
std::string quoted(std::string_view data) {
  std::string text{data.substr(0, std::min({data.find('\r'), data.find('\n'), std::size_t{40}}))};
  std::ranges::replace_if(text, [](char c) { return c < ' ' || c > '~'; }, '.');
  return '"' + text + '"';
}

}  // namespace

parser::parser(limits most) : limits_{most} {}

std::span<char> parser::prepare(std::size_t at_least) {
  if (begin_ == end_) begin_ = end_ = 0;
  std::size_t const needed = live() + at_least;
  if (needed > capacity_) {
    resize(std::max({needed, capacity_ + capacity_ / 2, smallest_buffer}));
  } else if (capacity_ > large_buffer && needed < capacity_ / 4) {
    resize(std::max(needed, large_buffer / 2));
  } else if (capacity_ - end_ < at_least) {
    std::memmove(buffer_.get(), buffer_.get() + begin_, live());
    end_ -= begin_;
    begin_ = 0;
  }
  return {buffer_.get() + end_, capacity_ - end_};
}

void parser::commit(std::size_t n) {
  if (reason_.empty()) end_ += n;
}

parser::outcome parser::next(reply& out) {
  if (!reason_.empty()) return outcome::broken;
  for (;;) {
    bool const inside = !open_.empty();
    reply& slot = inside ? open_.back().array.elements.emplace_back() : out;
    step const taken = read(slot);
    if (taken == step::value) {
      if (!inside) break;
      if (--open_.back().missing > 0) continue;
    } else {
      // Removes the slot. When read() opened a frame above this one, the complete array replaces it later.
      if (inside) open_[open_.size() - (taken == step::opened ? 2 : 1)].array.elements.pop_back();
      if (taken == step::opened) continue;
      if (taken == step::broken) open_.clear();
      return taken == step::broken ? outcome::broken : outcome::incomplete;
    }
    // The innermost array is complete, and perhaps the arrays around it.
    while (open_.back().missing == 0) {
      reply whole = std::move(open_.back().array);
      open_.pop_back();
      if (open_.empty()) {
        out = std::move(whole);
        break;
      }
      open_.back().array.elements.push_back(std::move(whole));
      --open_.back().missing;
    }
    if (open_.empty()) break;
  }
  charged_ = 0;
  speaks_resp_ = true;
  return outcome::reply;
}

void parser::reset() {
  begin_ = end_ = scanned_ = charged_ = 0;
  speaks_resp_ = false;
  open_.clear();
  reason_.clear();
}

/// Reads one value, or the header of an array. Consumes nothing unless it is complete.
parser::step parser::read(reply& out) {
  if (live() == 0) return step::incomplete;
  char const type = buffer_[begin_];
  if (type != '$' && type != ':' && type != '*' && type != '+' && type != '-') return fail(unexpected());

  std::string_view text;
  if (step const found = read_line(text); found != step::value) return found;
  if (type == '$') return read_bulk(text, out);
  if (type == '*') return read_array(text, out);

  out.elements.clear();
  if (type == ':') {
    auto const number = to_integer(text);
    if (!number) return fail("protocol error: " + quoted(text) + " is not an integer");
    out.type = kind::integer;
    out.integer = *number;
    out.text.clear();
  } else {
    if (!charge(text.size())) return step::broken;
    out.type = type == '+' ? kind::text : kind::error;
    out.integer = 0;
    out.text = text;
  }
  begin_ += text.size() + 3;
  return step::value;
}

/// Reads the text between the type and the line end.
parser::step parser::read_line(std::string_view& out) {
  std::size_t const longest = std::min(longest_line, limits_.max_bytes);
  char const* const data = buffer_.get() + begin_;
  void const* const found = std::memchr(data + scanned_, '\n', live() - scanned_);
  std::size_t const size = found ? static_cast<std::size_t>(static_cast<char const*>(found) - data) : live();
  if (size > longest + 2) return fail("protocol error: a line of over " + std::to_string(longest) + " bytes");
  if (!found) {
    scanned_ = size;
    return step::incomplete;
  }
  scanned_ = 0;
  if (size < 2 || data[size - 1] != '\r') return fail("protocol error: a line doesn't end in CR LF");
  out = {data + 1, size - 2};
  return step::value;
}

parser::step parser::read_bulk(std::string_view header, reply& out) {
  auto const length = to_length(header);
  if (!length) return fail("protocol error: " + quoted(header) + " is not the length of a string");
  std::size_t const start = header.size() + 3;
  out.elements.clear();
  out.integer = 0;
  if (*length < 0) {
    out.type = kind::nil;
    out.text.clear();
    begin_ += start;
    return step::value;
  }
  auto const size = static_cast<std::size_t>(*length);
  if (size > limits_.max_bytes - charged_) {
    charge(size);
    return step::broken;
  }
  if (live() - start < size || live() - start - size < 2) return step::incomplete;
  char const* const data = buffer_.get() + begin_ + start;
  if (data[size] != '\r' || data[size + 1] != '\n') {
    return fail("protocol error: a string is longer than the " + std::to_string(size) + " bytes declared");
  }
  charge(size);
  out.type = kind::text;
  out.text.assign(data, size);
  begin_ += start + size + 2;
  return step::value;
}

parser::step parser::read_array(std::string_view header, reply& out) {
  auto const length = to_length(header);
  if (!length) return fail("protocol error: " + quoted(header) + " is not the length of an array");
  std::size_t const consumed = header.size() + 3;
  if (*length <= 0) {
    out = reply{.type = *length < 0 ? kind::nil : kind::array, .integer = 0, .text = {}, .elements = {}};
    begin_ += consumed;
    return step::value;
  }
  if (open_.size() >= static_cast<std::size_t>(std::max(limits_.max_depth, 0))) {
    return fail("protocol error: arrays nested over " + std::to_string(limits_.max_depth) + " deep");
  }
  // Charges sizeof(reply) for each element before the elements arrive, so "*2147483647" is refused at once.
  auto const count = static_cast<std::size_t>(*length);
  bool const fits = count <= limits_.max_bytes / sizeof(reply);
  if (!charge(fits ? count * sizeof(reply) : limits_.max_bytes + 1)) return step::broken;
  frame& opened = open_.emplace_back();
  opened.missing = count;
  opened.array.type = kind::array;
  opened.array.elements.reserve(count);
  begin_ += consumed;
  return step::opened;
}

bool parser::charge(std::size_t bytes) {
  if (bytes > limits_.max_bytes - charged_) {
    fail("protocol error: a reply of over " + std::to_string(limits_.max_bytes) + " bytes");
    return false;
  }
  charged_ += bytes;
  return true;
}

/// Moves the unparsed data to the front of a buffer of another size.
void parser::resize(std::size_t capacity) {
  auto fresh = std::make_unique_for_overwrite<char[]>(capacity);
  if (live() > 0) std::memcpy(fresh.get(), buffer_.get() + begin_, live());
  buffer_ = std::move(fresh);
  capacity_ = capacity;
  end_ -= begin_;
  begin_ = 0;
}

parser::step parser::fail(std::string reason) {
  reason_ = std::move(reason);
  begin_ = end_ = scanned_ = 0;
  return step::broken;
}

std::string parser::unexpected() const {
  std::string_view const data{buffer_.get() + begin_, live()};
  if (speaks_resp_ || !open_.empty()) return "protocol error: no reply begins with " + quoted(data);
  std::string reason = "not a Redis server: it answers " + quoted(data);
  if (data.starts_with("HTTP/")) reason += " (an HTTP server)";
  if (data[0] == '\x15' || data[0] == '\x16') reason += " (TLS, perhaps: try rediss://)";
  return reason;
}

}  // namespace holdfast::resp
