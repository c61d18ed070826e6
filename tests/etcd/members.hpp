/// Members that all tests of this program share.
#pragma once

#include "support/etcd_cluster.hpp"

namespace holdfast::test {

/// One member, which each test leaves without locks.
[[nodiscard]] inline etcd_cluster& shared_etcd() {
  static etcd_cluster all;
  return all;
}

/// The same of three members.
[[nodiscard]] inline etcd_cluster& three_etcds() {
  static etcd_cluster all{{.members = 3}};
  return all;
}

}  // namespace holdfast::test
