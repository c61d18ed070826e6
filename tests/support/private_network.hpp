/// A network namespace of a test's own, in which packets can be lost.
#pragma once

#include <cstdint>
#include <string>

namespace holdfast::test {

/// While it lives, this thread, and the threads and processes that it starts, are in the namespace: they
/// reach 127.0.0.1 of it, and nothing else. For the thread that made it alone.
class private_network {
 public:
  /// Why there can be none (it takes root, `ip` and `nft`); empty: there can.
  [[nodiscard]] static std::string lacking();

  private_network();
  ~private_network();
  private_network(private_network const&) = delete;
  private_network& operator=(private_network const&) = delete;

  /// So many of a hundred packets to this port are lost from now on: all in one direction, none in the other.
  void lose(int percent, std::uint16_t to_port);
  void lose_nothing();

 private:
  int before_ = -1;
};

}  // namespace holdfast::test
