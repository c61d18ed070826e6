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

inbox::inbox(servers& whom, std::string const& uuid, events tell)
    : tell_{std::move(tell)}, whom_{whom}, channel_{names::inbox(uuid)} {}

void inbox::on_refused(std::string const& words) {
  refused_ = true;
  tell_.refused(words);
}

/// What can't be read is nothing to us: a newer Holdfast may send more kinds, and anybody may publish here.
void inbox::read(std::string_view message) const {
  auto const kind = word(message);
  std::uint64_t waiter = 0;
  granted what;
  if (kind == "woken") {
    if (number(message, waiter)) tell_.woken(waiter, message);
  } else if (kind == "asked") {
    if (number(message, waiter)) tell_.asked_to_stop(waiter);
  } else if (kind == "granted") {
    if (number(message, waiter) && number(message, what.token) && number(message, what.count)) {
      tell_.granted(waiter, what, message);
    }
  }
}

}  // namespace holdfast::engine
