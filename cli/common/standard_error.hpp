/// stderr, whose reader may be slow or stopped (^S, a full pipe).
#pragma once

#include <mutex>
#include <string>
#include <string_view>

namespace holdfast::cli {

/// Thread-safe.
class standard_error {
 public:
  ~standard_error();

  /// Returns when the text is written. Between begin_to_keep() and end_to_keep() it never waits: what can't
  /// be written at once is kept, and what is too much to be kept is dropped.
  void write(std::string_view text);

  /// Writes of what is kept as much as is possible at once. False: some is left.
  bool write_kept();

  void begin_to_keep();
  void end_to_keep();  ///< writes what was kept

 private:
  /// Writes as much as is possible without waiting. Needs the lock.
  void write_without_waiting();
  /// The bytes that were written; less than 0 with errno: none.
  [[nodiscard]] long write_some_at_once(std::string_view text) const;

  std::mutex guard_;
  std::string kept_;
  bool keeps_ = false;
  // stderr, opened again: the original's O_NONBLOCK would be the command's, too. -1: that isn't possible.
  int without_waiting_ = -1;
};

}  // namespace holdfast::cli
