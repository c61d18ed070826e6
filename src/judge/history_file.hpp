/// Reads the history in one file.
#pragma once

#include <cstdint>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>

#include "judge/object.hpp"
#include "judge/record.hpp"

namespace holdfast::judging {

class history_file {
 public:
  /// Throws unreadable when it can't be opened.
  history_file(tables& known, std::string path);

  /// The next line; nullopt: there is none. Its time is that of the client's own clock. Throws unreadable.
  [[nodiscard]] std::optional<record> next();

 private:
  [[noreturn]] void refuse(std::string const& why) const;
  [[nodiscard]] std::int64_t number(std::string_view key, std::int64_t least, std::int64_t greatest) const;
  [[nodiscard]] std::int64_t number(std::string_view key) const;
  [[nodiscard]] std::int64_t number_or_0(std::string_view key) const;
  [[nodiscard]] std::int64_t time(std::string_view key) const;
  [[nodiscard]] std::int64_t count_or_0(std::string_view key) const;
  [[nodiscard]] std::int64_t milliseconds(std::string_view key) const;
  [[nodiscard]] std::string const& text(std::string_view key) const;
  /// False: there is none.
  [[nodiscard]] bool read_line();
  void read_header(record& to);
  [[nodiscard]] std::uint32_t lock_of_line(history::kind of);
  [[nodiscard]] part part_of(history::kind of, std::string const& name, std::string_view as);
  void read_client(record& to);
  void read_lock(record& to);
  void read_rest(record& to);

  tables& known_;
  std::string path_;
  std::ifstream file_;
  std::string line_;
  std::string buffer_;
  std::size_t used_ = 0;  ///< of the buffer
  std::string lock_key_;
  std::uint16_t index_;
  std::uint32_t count_ = 0;  ///< of lines
  object fields_;
};

}  // namespace holdfast::judging
