/// An election among three clients.
#pragma once

#include "waiters.hpp"

#include <holdfast/election.hpp>

#include <string>

namespace holdfast::test {

class electing : public testing::Test {
 protected:
  [[nodiscard]] client connect(client_options options = {.recheck = 30s}) const {
    return client{server_.url(), with_long_timeouts(std::move(options))};
  }
  [[nodiscard]] bool has_candidates(std::size_t count) {
    return test::has_waiters(raw_, "e", names::queue("e"), count);
  }
  /// The second waits to lead with the value "b", and behind it the third with "c".
  [[nodiscard]] bool both_campaign(pending& second, pending& third) {
    second_.async_campaign("b", second.handler());
    if (!has_candidates(1)) return false;
    third_.async_campaign("c", third.handler());
    return has_candidates(2);
  }
  [[nodiscard]] std::string value_of(election& e) {
    auto const leader = e.leader();
    return leader ? leader->value : "-";
  }
  [[nodiscard]] std::string id_of(client const& candidate) {
    for (auto const& each : first_.candidates()) {
      if (each.owner.substr(0, 36) == candidate.uuid()) return each.owner;
    }
    return {};
  }

  deployment_under_test server_{};
  raw_servers raw_ = server_.raw();
  client first_client_ = connect({.label = "the first", .recheck = 30s});
  client second_client_ = connect();
  client third_client_ = connect();
  election first_{first_client_, "e"};
  election second_{second_client_, "e"};
  election third_{third_client_, "e"};
};

}  // namespace holdfast::test
