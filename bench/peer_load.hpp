/// Other people's libraries under load: the floor of the rows that compare with them.
#pragma once

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "process.hpp"

namespace holdfast::bench {

/// What a peer measured, for itself.
struct peer_rates {
  double cycles = 0;    ///< per second
  double handoffs = 0;  ///< per second, to another thread
  double cpu_us = 0;    ///< per cycle: user and system time of its process
};

/// A program of tests/interop/peers that locks and unlocks as fast as its library can. It lives through all
/// rounds, since some are slow at first: what is compared with is a program that has run for a while.
class peer_load {
 public:
  explicit peer_load(std::vector<std::string> const& command);

  /// So many threads that lock and unlock for that long. `load` is the program's word for the load.
  [[nodiscard]] peer_rates run(std::string_view load, int threads, std::chrono::duration<double> time);

 private:
  struct close {
    void operator()(std::FILE*) const noexcept;
  };

  children process_;
  std::string name_;
  std::unique_ptr<std::FILE, close> to_;
  std::unique_ptr<std::FILE, close> from_;
};

/// Where tools/prepare-peers has put a library's program, and how that is started.
struct redisson_program {
  [[nodiscard]] static bool is_in(std::filesystem::path const& folder);
  [[nodiscard]] static std::vector<std::string> command(std::filesystem::path const& folder, int port);
};
struct redsync_program {
  [[nodiscard]] static bool is_in(std::filesystem::path const& folder);
  [[nodiscard]] static std::vector<std::string> command(std::filesystem::path const& folder,
                                                        std::vector<int> const& ports);
};

}  // namespace holdfast::bench
