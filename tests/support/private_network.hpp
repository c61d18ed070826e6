/// A network namespace for one test, in which packets can be dropped.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace holdfast::test {

/// While the object lives, this thread, and the threads and processes that it starts, are in the namespace:
/// they reach only its 127.0.0.1. For the constructing thread alone.
class private_network {
 public:
  /// Why no namespace can be made (it requires root, `ip` and `nft`); empty if one can.
  [[nodiscard]] static std::string lacking();
  /// Why part() isn't possible; empty if it is.
  [[nodiscard]] static std::string lacking_to_part();

  private_network();
  ~private_network();
  private_network(private_network const&) = delete;
  private_network& operator=(private_network const&) = delete;

  /// From now on drops `percent` of the packets to this port; packets in the other direction pass.
  void lose(int percent, std::uint16_t to_port) { drop(percent, "dport", to_port); }
  /// The other direction.
  void lose_from(int percent, std::uint16_t from_port) { drop(percent, "sport", from_port); }
  void drop_nothing();

  /// Connections that processes of this group make are its own from here on, see part(). To be called before
  /// any of them starts.
  void know(unsigned group);
  /// From now on drops all packets, both ways, of connections that this group has made to `others`, and of
  /// those that known groups have made to `own`: who listens there hears nothing of those others, nor they of
  /// it. Its clients, whom know() wasn't told of, still reach it.
  void part(unsigned group, std::vector<std::uint16_t> const& own, std::vector<std::uint16_t> const& others);

 private:
  void drop(int percent, std::string const& where, std::uint16_t port);
  void drop(std::string const& rules);

  int original_namespace_ = -1;
};

}  // namespace holdfast::test
