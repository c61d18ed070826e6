/// A line of JSON as fields. No I/O.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::judging {

/// One object whose values are integers, texts and lists of texts: what histories have. It is read again and
/// again, and keeps its memory.
class object {
 public:
  enum class type : std::uint8_t { number, text, list };
  struct field {
    std::string_view key;  ///< in the line
    object::type type = type::number;
    std::int64_t number = 0;
    std::string text{};
    std::vector<std::string> list{};
  };

  /// The line has to live as long as the fields. Empty: it was read. Otherwise what is wrong with it.
  [[nodiscard]] std::string_view read(std::string_view line);

  /// Null: there is no such field of that type.
  [[nodiscard]] field const* find(std::string_view key, type wanted) const noexcept;

 private:
  [[nodiscard]] bool skip(char expected) noexcept;
  [[nodiscard]] bool read_field();
  [[nodiscard]] bool read_number(std::int64_t& to) noexcept;
  [[nodiscard]] bool read_text(std::string& to);
  [[nodiscard]] bool read_escape(std::string& to);
  [[nodiscard]] bool read_list(std::vector<std::string>& to);

  std::string_view rest_;
  std::vector<field> fields_;
  std::size_t count_ = 0;
};

}  // namespace holdfast::judging
