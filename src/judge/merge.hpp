/// The lines of all files in the order of time.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "judge/history_file.hpp"

namespace holdfast::judging {

/// The lines of a client are in order in its file; those of several clients in one file are not quite, as
/// each is written a little later than it happens. So a number of lines is kept back.
class merge {
 public:
  /// What the clocks of several machines have in common is their wall clock.
  enum class hosts { one, several };

  merge(tables& known, std::vector<std::string> const& paths, std::size_t kept_back, hosts expected);

  /// nullopt: there are no more. Throws unreadable.
  [[nodiscard]] std::optional<record> next();
  [[nodiscard]] std::size_t count() const noexcept { return count_; }

 private:
  struct source {
    std::unique_ptr<history_file> file;
    instant newest = 0;
  };
  void read_one();
  void to_common_clock(record& line) const;

  tables& known_;
  std::size_t kept_back_;
  hosts expected_;
  std::vector<source> sources_;
  std::vector<record> heap_;
  instant newest_given_ = 0;
  std::size_t count_ = 0;  ///< of lines given
};

}  // namespace holdfast::judging
