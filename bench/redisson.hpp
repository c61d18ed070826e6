/// Redisson itself, the Java library, under load: the floor of the rows that compare with it.
#pragma once

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include "process.hpp"

namespace holdfast::bench {

/// What its program measured, for itself.
struct redisson_rates {
  double cycles = 0;    ///< per second
  double handoffs = 0;  ///< per second, to another thread
  double cpu_us = 0;    ///< per cycle: user and system time of the JVM
};

/// A JVM with one Redisson client. It lives through all rounds, since a new one would be slow again: what is
/// compared with is a program that has run for a while.
class redisson {
 public:
  /// Its program is there.
  [[nodiscard]] static bool is_in(std::filesystem::path const& folder);

  /// `folder`: where tools/prepare-peers has put its program.
  redisson(std::filesystem::path const& folder, int port);

  /// So many threads that lock and unlock, all one name, or each one of its own.
  [[nodiscard]] redisson_rates one_name(int threads, std::chrono::duration<double> time);
  [[nodiscard]] redisson_rates different_names(int threads, std::chrono::duration<double> time);

 private:
  struct close {
    void operator()(std::FILE*) const noexcept;
  };
  [[nodiscard]] redisson_rates ask(std::string const& request, std::chrono::duration<double> time);

  children jvm_;
  std::unique_ptr<std::FILE, close> to_;
  std::unique_ptr<std::FILE, close> from_;
};

}  // namespace holdfast::bench
