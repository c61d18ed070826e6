/// A network namespace for one test, in which packets can be dropped.
#pragma once

#include <cstdint>
#include <string>

namespace holdfast::test {

/// While the object lives, this thread, and the threads and processes that it starts, are in the namespace:
/// they reach only its 127.0.0.1. For the constructing thread alone.
class private_network {
 public:
  /// Why no namespace can be made (it requires root, `ip` and `nft`); empty if one can.
  [[nodiscard]] static std::string lacking();

  private_network();
  ~private_network();
  private_network(private_network const&) = delete;
  private_network& operator=(private_network const&) = delete;

  /// From now on drops `percent` of the packets to this port; packets in the other direction pass.
  void lose(int percent, std::uint16_t to_port) { drop(percent, "dport", to_port); }
  /// The other direction.
  void lose_from(int percent, std::uint16_t from_port) { drop(percent, "sport", from_port); }
  void drop_nothing();

 private:
  void drop(int percent, std::string const& where, std::uint16_t port);

  int original_namespace_ = -1;
};

}  // namespace holdfast::test
