/// Clients of three members, for the tests of one kind of lock.
#pragma once

#include "members.hpp"
#include "support/eventually.hpp"

#include <gtest/gtest.h>

#include <holdfast/client.hpp>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::test {

class clients_of_etcd : public testing::Test {
 protected:
  /// `word`: what the places below a name begin with.
  explicit clients_of_etcd(std::string prefix, std::string word = {})
      : prefix_{std::move(prefix)}, word_{std::move(word)} {}

  /// The re-check is too rare to wake anybody in a test.
  static client_options options() { return {.patience = wait_limit, .recheck = 30s}; }
  [[nodiscard]] client another() const { return client{three_etcds().url(prefix_), options()}; }
  [[nodiscard]] std::vector<std::string> keys_of(std::string const& name) const {
    return three_etcds().keys(prefix_ + "/" + name + "/" + word_);
  }
  [[nodiscard]] std::size_t places(std::string const& name) const { return keys_of(name).size(); }
  [[nodiscard]] bool come_to_be(std::string const& name, std::size_t count) const {
    return eventually([&] { return places(name) == count; });
  }

  std::string const prefix_;  ///< of their URL
  std::string const word_;
  client first_ = another();
  client second_ = another();
};

}  // namespace holdfast::test
