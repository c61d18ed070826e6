/// The file of a history.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <system_error>

namespace holdfast::history {

/// Several processes may write to the same file: each write goes to its end as a whole.
class file {
 public:
  /// Opens the file, and makes it if there is none. Throws std::system_error.
  explicit file(std::string const& path);
  ~file();
  file(file const&) = delete;
  file& operator=(file const&) = delete;

  /// One write(2). Nothing is written a second time: others may have written behind a part of it. Of what
  /// could be written in part the whole lines stay.
  [[nodiscard]] std::error_code write(std::string_view bytes) noexcept;

  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }

 private:
  void take_back(std::size_t bytes) noexcept;

  int descriptor_;
};

}  // namespace holdfast::history
