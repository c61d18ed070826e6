#include "show/json.hpp"

#include "base/printable.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace holdfast::cli {

std::optional<std::string> text_in(std::string_view const document, std::string_view const name) {
  auto const object = nlohmann::json::parse(document, nullptr, false);
  if (!object.is_object()) return std::nullopt;
  auto const found = object.find(name);
  if (found == object.end() || !found->is_string()) return std::nullopt;
  return found->get<std::string>();
}

struct json::impl {
  nlohmann::ordered_json value{};
};

json::json() : impl_{std::make_unique<impl>()} {}
json::json(std::string_view const text) : json{} { impl_->value = text; }
json::json(std::vector<std::string> const& texts) : json{} { impl_->value = texts; }
json::json(json&&) noexcept = default;
json& json::operator=(json&&) noexcept = default;
json::~json() = default;

json json::list() {
  json result;
  result.impl_->value = nlohmann::ordered_json::array();
  return result;
}

json& json::set(std::string_view const name, json value) {
  impl_->value[std::string{name}] = std::move(value.impl_->value);
  return *this;
}

json& json::set(std::string_view const name, std::string_view const text) {
  impl_->value[std::string{name}] = text;
  return *this;
}

json& json::set(std::string_view const name, double const number) {
  impl_->value[std::string{name}] = number;
  return *this;
}

json& json::set_flag(std::string_view const name, bool const flag) {
  impl_->value[std::string{name}] = flag;
  return *this;
}

json& json::set_number(std::string_view const name, std::int64_t const number) {
  impl_->value[std::string{name}] = number;
  return *this;
}

json& json::set_unless_empty(std::string_view const name, std::string_view const text) {
  return text.empty() ? set(name, json{}) : set(name, text);
}

json& json::set_unless_zero(std::string_view const name, std::int64_t const number) {
  return number == 0 ? set(name, json{}) : set(name, number);
}

json& json::set_all(json const& object) {
  impl_->value.update(object.impl_->value);
  return *this;
}

json& json::add(json value) {
  impl_->value.push_back(std::move(value.impl_->value));
  return *this;
}

std::string json::line() const {
  auto const all = impl_->value.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  std::string line;
  line.reserve(all.size());
  for (std::string_view rest{all}; !rest.empty();) {
    // Nearly all of it is ASCII, and at once.
    auto const other = std::ranges::find_if(rest, [](char const c) { return c < ' ' || c > '~'; });
    auto const plain = static_cast<std::size_t>(other - rest.begin());
    line += rest.substr(0, plain);
    rest.remove_prefix(plain);
    if (rest.empty()) break;
    auto const [size, code] = detail::first_of(rest);
    auto const bytes = std::max<std::size_t>(size, 1);
    if (size != 0 && detail::has_effects(code)) {
      line += fmt::format("\\u{:04x}", static_cast<std::uint32_t>(code));
    } else {
      line += rest.substr(0, bytes);
    }
    rest.remove_prefix(bytes);
  }
  return line;
}

}  // namespace holdfast::cli
