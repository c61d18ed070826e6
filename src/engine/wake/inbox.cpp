#include "engine/wake/inbox.hpp"

#include <charconv>
#include <utility>

#include "script/names.hpp"

namespace holdfast::engine {
namespace {

/// Takes the text up to the next space off the front.
std::string_view word(std::string_view& text) {
  auto const end = std::min(text.find(' '), text.size());
  auto const result = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return result;
}

template <class Number>
bool number(std::string_view& text, Number& out) {
  auto const digits = word(text);
  auto const [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), out);
  return failure == std::errc{} && end == digits.data() + digits.size();
}

}  // namespace

std::optional<turn> read_turn(std::string_view message) {
  auto const kind = word(message);
  turn what;
  if (!number(message, what.number)) return std::nullopt;
  if (kind == "granted") {
    granted grant;
    if (!number(message, grant.token) || !number(message, grant.count)) return std::nullopt;
    what.grant = grant;
  } else if (kind != "woken") {
    return std::nullopt;
  }
  what.name = message;
  return what;
}

inbox::inbox(lock_backend& whom, std::string const& uuid, events tell)
    : tell_{std::move(tell)}, whom_{whom}, channel_{names::inbox(uuid)} {}

void inbox::on_refused(std::string const& words) {
  refused_ = true;
  tell_.refused(words);
}

void inbox::on_message(std::string_view message) {
  std::uint64_t holder = 0;
  if (word(message) == "asked" && number(message, holder)) tell_.asked(holder);
}

}  // namespace holdfast::engine
