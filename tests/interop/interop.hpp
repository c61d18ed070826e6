/// Shared by the tests of this folder: a server that all processes reach, and views of its data.
#pragma once

#include "redisson.hpp"
#include "support/eventually.hpp"
#include "support/leftovers.hpp"
#include "support/redis_server.hpp"
#include "support/worker.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace holdfast::test {

/// For test titles, in which dashes are not allowed.
inline std::string name_of_peer(testing::TestParamInfo<std::string> const& info) {
  auto name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

inline constexpr auto not_prepared =
    "tools/prepare-peers has not built what this needs; ./check interop does";

/// Without Redisson's marks of an unlock, which last a moment or longer, and without the keys that Holdfast
/// keeps beside its locks.
[[nodiscard]] inline std::vector<std::string> leftover_keys_of_both(raw_redis& server) {
  auto all = leftover_keys(server);
  std::erase_if(all, [](auto const& key) { return key.starts_with("redisson_unlock_latch:"); });
  return all;
}

class interop : public testing::Test {
 protected:
  [[nodiscard]] std::map<std::string, std::string> hash(std::string const& key) {
    auto const all = raw_.command({"HGETALL", key}).elements;
    std::map<std::string, std::string> fields;
    for (std::size_t i = 0; i + 1 < all.size(); i += 2) fields.emplace(all[i].text, all[i + 1].text);
    return fields;
  }
  [[nodiscard]] std::vector<std::string> list(std::string const& key) {
    return texts({"LRANGE", key, "0", "-1"});
  }
  /// Members, lowest score first.
  [[nodiscard]] std::vector<std::string> sorted_set(std::string const& key) {
    return texts({"ZRANGE", key, "0", "-1"});
  }
  [[nodiscard]] std::int64_t subscribers(std::string const& channel) {
    return raw_.command({"PUBSUB", "NUMSUB", channel}).elements.at(1).integer;
  }
  [[nodiscard]] std::vector<std::string> keys() { return leftover_keys_of_both(raw_); }

  redis_server server_ = redis_server::with({.transport = server_transport::tcp});
  raw_redis raw_ = server_.raw();

 private:
  std::vector<std::string> texts(std::vector<std::string> const& arguments) {
    std::vector<std::string> all;
    for (auto const& element : raw_.command(arguments).elements) all.push_back(element.text);
    return all;
  }
};

/// Skipped if the peers with Redisson are not built.
class with_redisson : public interop, public testing::WithParamInterface<redisson_version> {
 protected:
  void SetUp() override {
    if (!peer::is_prepared(folder_of(GetParam()))) GTEST_SKIP() << not_prepared;
  }
};

inline std::string name_of_version(testing::TestParamInfo<redisson_version> const& info) {
  return info.param == redisson_version::current ? "current" : "v3_27_2";
}

}  // namespace holdfast::test
