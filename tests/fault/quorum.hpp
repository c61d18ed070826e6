/// Shared by the tests of several masters.
#pragma once

#include "fault.hpp"
#include "support/independent_servers.hpp"
#include "support/leftovers.hpp"

#include <holdfast/quorum_mutex.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::test {

/// Five masters. A test restarts the masters that it has ended before it looks into them.
class five_masters : public testing::Test {
 protected:
  explicit five_masters(server_options options = {}) : masters_{5, std::move(options)} {}

  [[nodiscard]] std::size_t votes_for(std::string const& name, std::string const& owner) {
    std::size_t votes = 0;
    for (auto const& master : masters_) {
      auto raw = master->raw();
      if (raw.get(name) == owner) ++votes;
    }
    return votes;
  }
  [[nodiscard]] std::vector<std::string> leftovers() {
    std::vector<std::string> all;
    for (auto const& master : masters_) {
      auto raw = master->raw();
      for (auto const& key : leftover_keys(raw)) all.push_back(master->url() + " " + key);
    }
    return all;
  }
  /// Well before any ttl ends.
  [[nodiscard]] bool nothing_left_behind() {
    return test::nothing_left_behind([this] { return leftovers(); });
  }

  independent_servers masters_;
};

/// Five masters, each behind a network of its own.
class five_networks : public five_masters {
 protected:
  five_networks() {
    std::string hosts;
    for (auto const& master : masters_) {
      networks_.push_back(std::make_unique<flaky_proxy>(master->socket_path()));
      hosts += (hosts.empty() ? "" : ",") + networks_.back()->address();
    }
    url_ = "redis+quorum://" + hosts;
  }

  std::vector<std::unique_ptr<flaky_proxy>> networks_;
  std::string url_;
};

}  // namespace holdfast::test
