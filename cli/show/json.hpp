/// A JSON value that is put together and printed as one line. nlohmann's library is included by json.cpp
/// only, since it takes long to compile.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::cli {

/// The text that an object has under this name. Nullopt: `document` is no JSON, no object, or has no such
/// text.
[[nodiscard]] std::optional<std::string> text_in(std::string_view document, std::string_view name);

/// null until something is set. The members of an object keep their order.
class json {
 public:
  json();
  explicit json(std::string_view text);
  explicit json(std::vector<std::string> const& texts);
  json(json&&) noexcept;
  json& operator=(json&&) noexcept;
  ~json();

  [[nodiscard]] static json list();

  /// A member of an object. Null becomes an object with the first.
  json& set(std::string_view name, json value);
  json& set(std::string_view name, std::string_view text);
  json& set(std::string_view name, char const* text) { return set(name, std::string_view{text}); }
  json& set(std::string_view name, double number);
  json& set(std::string_view name, std::same_as<bool> auto flag) { return set_flag(name, flag); }
  template <std::integral Number>
    requires(!std::same_as<Number, bool>)
  json& set(std::string_view name, Number number) {
    return set_number(name, static_cast<std::int64_t>(number));
  }
  /// null for an empty text.
  json& set_unless_empty(std::string_view name, std::string_view text);
  /// null for 0.
  json& set_unless_zero(std::string_view name, std::int64_t number);
  /// All members of another object.
  json& set_all(json const& object);
  /// An element of a list.
  json& add(json value);

  /// One line. Invalid UTF-8 becomes U+FFFD. Characters that affect a terminal become \uNNNN, which means the
  /// same, so that the line is safe to display.
  [[nodiscard]] std::string line() const;

 private:
  struct impl;
  json& set_flag(std::string_view name, bool flag);
  json& set_number(std::string_view name, std::int64_t number);
  std::unique_ptr<impl> impl_;
};

}  // namespace holdfast::cli
