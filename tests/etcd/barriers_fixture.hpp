/// What the tests of barriers have in common.
#pragma once

#include "arrivals.hpp"
#include "clients_of_etcd.hpp"

#include <chrono>
#include <cstddef>
#include <future>
#include <string>

namespace holdfast::test {

/// A broken or opened generation is told by watches alone: see clients_of_etcd::options().
class etcd_barrier : public clients_of_etcd {
 protected:
  etcd_barrier() : clients_of_etcd{"barriers", "barrier-here-"} {}

  [[nodiscard]] bool have_arrived(std::string const& name, std::size_t count) const {
    return come_to_be(name, count);
  }
  [[nodiscard]] static bool is_done(arrival const& waiting) {
    return waiting.wait_for(0s) == std::future_status::ready;
  }
};

}  // namespace holdfast::test
