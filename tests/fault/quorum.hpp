/// What the tests of several masters share.
#pragma once

#include "fault.hpp"
#include "support/independent_servers.hpp"

#include <holdfast/quorum_mutex.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::test {

/// Five masters. Those that are ended are started again before anything is looked for in them.
class five_masters : public testing::Test {
 protected:
  explicit five_masters(server_options how = {}) : masters_{5, std::move(how)} {}

  [[nodiscard]] std::size_t holding(std::string const& name, std::string const& owner) {
    std::size_t votes = 0;
    for (auto const& one : masters_) {
      auto raw = one->raw();
      if (raw.get(name) == owner) ++votes;
    }
    return votes;
  }
  [[nodiscard]] std::vector<std::string> residue() {
    std::vector<std::string> left;
    for (auto const& one : masters_) {
      for (auto& key : one->raw().keys()) {
        if (!outlives_locks(key)) left.push_back(one->url() + " " + key);
      }
    }
    return left;
  }
  /// Well before any ttl is over. As fault::comes_clean.
  [[nodiscard]] bool comes_clean() {
    if (eventually([this] { return residue().empty() && residue().empty(); })) return true;
    for (auto const& key : residue()) ADD_FAILURE() << "left behind: " << key;
    return false;
  }

  independent_servers masters_;
};

/// Five masters, each behind a network of its own.
class five_networks : public five_masters {
 protected:
  five_networks() {
    std::string hosts;
    for (auto const& one : masters_) {
      networks_.push_back(std::make_unique<flaky_proxy>(one->socket_path()));
      hosts += (hosts.empty() ? "" : ",") + networks_.back()->address();
    }
    url_ = "redis+quorum://" + hosts;
  }

  std::vector<std::unique_ptr<flaky_proxy>> networks_;
  std::string url_;
};

}  // namespace holdfast::test
