#include "judge/object.hpp"

#include <charconv>

namespace holdfast::judging {
namespace {

constexpr std::size_t most_fields = 64;

void append_utf8(std::string& to, unsigned code) {
  auto const byte = [&to](unsigned value) { to += static_cast<char>(value); };
  if (code < 0x80) {
    byte(code);
  } else if (code < 0x800) {
    byte(0xc0U | code >> 6U);
    byte(0x80U | (code & 0x3fU));
  } else {
    byte(0xe0U | code >> 12U);
    byte(0x80U | (code >> 6U & 0x3fU));
    byte(0x80U | (code & 0x3fU));
  }
}

}  // namespace

std::string_view object::read(std::string_view line) {
  rest_ = line;
  count_ = 0;
  if (!skip('{')) return "it is no object of JSON";
  do {
    if (count_ == most_fields) return "it has too many fields";
    if (!read_field()) return "its JSON is cut off, or none that a history has";
  } while (skip(','));
  if (!skip('}') || !rest_.empty()) return "its JSON is cut off, or none that a history has";
  return {};
}

object::field const* object::find(std::string_view key, type wanted) const noexcept {
  for (std::size_t i = 0; i != count_; ++i) {
    if (fields_[i].key == key) return fields_[i].type == wanted ? &fields_[i] : nullptr;
  }
  return nullptr;
}

bool object::skip(char expected) noexcept {
  while (rest_.starts_with(' ')) rest_.remove_prefix(1);
  if (!rest_.starts_with(expected)) return false;
  rest_.remove_prefix(1);
  while (rest_.starts_with(' ')) rest_.remove_prefix(1);
  return true;
}

bool object::read_field() {
  if (!skip('"')) return false;
  auto const end = rest_.find('"');
  if (end == std::string_view::npos) return false;
  if (count_ == fields_.size()) fields_.emplace_back();
  auto& to = fields_[count_];
  to.key = rest_.substr(0, end);
  rest_.remove_prefix(end + 1);
  if (!skip(':')) return false;
  ++count_;
  if (rest_.starts_with('"')) {
    to.type = type::text;
    return read_text(to.text);
  }
  if (rest_.starts_with('[')) {
    to.type = type::list;
    return read_list(to.list);
  }
  to.type = type::number;
  return read_number(to.number);
}

bool object::read_number(std::int64_t& to) noexcept {
  auto const [end, problem] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), to);
  if (problem != std::errc{}) return false;
  rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
  return true;
}

bool object::read_text(std::string& to) {
  rest_.remove_prefix(1);
  to.clear();
  for (;;) {
    auto const end = rest_.find_first_of("\"\\");
    if (end == std::string_view::npos) return false;
    to += rest_.substr(0, end);
    auto const ends = rest_[end] == '"';
    rest_.remove_prefix(end + 1);
    if (ends) return true;
    if (!read_escape(to)) return false;
  }
}

/// Behind the backslash. \udcXX is a byte: see history::lines.
bool object::read_escape(std::string& to) {
  if (rest_.empty()) return false;
  auto const c = rest_.front();
  rest_.remove_prefix(1);
  constexpr std::string_view letters{"\"\\/bfnrt"};
  constexpr std::string_view meanings{"\"\\/\b\f\n\r\t"};
  if (auto const at = letters.find(c); at != std::string_view::npos) {
    to += meanings[at];
    return true;
  }
  constexpr std::size_t digits = 4;
  if (c != 'u' || rest_.size() < digits) return false;
  unsigned code = 0;
  auto const number = rest_.substr(0, digits);
  auto const [end, problem] = std::from_chars(number.data(), number.data() + number.size(), code, 16);
  if (problem != std::errc{} || end != number.data() + number.size()) return false;
  rest_.remove_prefix(digits);
  if (code >= 0xdc80U && code <= 0xdcffU) {
    to += static_cast<char>(code & 0xffU);
  } else {
    append_utf8(to, code);
  }
  return true;
}

bool object::read_list(std::vector<std::string>& to) {
  rest_.remove_prefix(1);
  std::size_t size = 0;
  if (skip(']')) {
    to.clear();
    return true;
  }
  do {
    if (!rest_.starts_with('"')) return false;
    if (size == to.size()) to.emplace_back();
    if (!read_text(to[size++])) return false;
  } while (skip(','));
  to.resize(size);
  return skip(']');
}

}  // namespace holdfast::judging
