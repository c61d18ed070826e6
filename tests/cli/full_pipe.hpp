/// A pipe whose reader has stopped, as behind ^S.
#pragma once

#include "support/eventually.hpp"
#include "support/process.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <string>

namespace holdfast::test {

/// A named pipe that takes no more until it is read.
class full_pipe {
 public:
  explicit full_pipe(std::string const& path) {
    if (mkfifo(path.c_str(), 0600) == 0) file_ = open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
    for (std::string filling(4096, ' '); !filling.empty(); filling.resize(filling.size() / 2)) {
      while (write(file_, filling.data(), filling.size()) > 0) {
      }
    }
  }
  ~full_pipe() { close(file_); }
  full_pipe(full_pipe const&) = delete;
  full_pipe& operator=(full_pipe const&) = delete;

  [[nodiscard]] std::string read_until_end_of(process& writer) const {
    return read_until([&writer](std::string const&) { return writer.exit_code().has_value(); });
  }

  /// Reads until `is_all` is true of what was read before. The result has what came since, too.
  template <class Predicate>
  [[nodiscard]] std::string read_until(Predicate is_all) const {
    std::string text;
    EXPECT_TRUE(eventually([&] {
      bool const ended = is_all(text);
      std::array<char, 4096> buffer{};
      for (ssize_t size = 0; (size = read(file_, buffer.data(), buffer.size())) > 0;)
        text.append(buffer.data(), static_cast<std::size_t>(size));
      return ended;
    }));
    return text;
  }

 private:
  int file_ = -1;
};

}  // namespace holdfast::test
