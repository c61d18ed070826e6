/// What the tests of permits have in common.
#pragma once

#include "members.hpp"
#include "support/eventually.hpp"

#include <gtest/gtest.h>

#include <holdfast/client.hpp>
#include <holdfast/expiring_semaphore.hpp>

#include <atomic>
#include <stop_token>
#include <string>
#include <thread>

namespace holdfast::test {

std::string text_of(auto const& f) {
  try {
    f();
  } catch (error const& failure) {
    return failure.what();
  }
  return {};
}

class etcd_permits : public testing::Test {
 protected:
  /// The re-check is too rare to wake anybody in a test.
  static client_options options() { return {.patience = wait_limit, .recheck = 30s}; }
  static std::size_t places(std::string const& name) {
    return three_etcds().keys("permits/" + name + "/permit-").size();
  }
  static bool come_to_be(std::string const& name, std::size_t count) {
    return eventually([&] { return places(name) == count; });
  }

  client first_{three_etcds().url("permits"), options()};
  client second_{three_etcds().url("permits"), options()};
  client third_{three_etcds().url("permits"), options()};
};

/// A caller of its own, with a client of its own.
class caller {
 public:
  caller(std::string const& name, std::int64_t size, std::int64_t amount)
      : thread_{[this, name, size, amount](std::stop_token const& stop) {
          client etcd{three_etcds().url("permits"), {.patience = wait_limit, .recheck = 30s}};
          expiring_semaphore slots{etcd, name, size};
          try {
            auto held = slots.acquire(amount, stop);
            token_ = held.token();
            (void)eventually([&] { return stop.stop_requested(); });
            (void)held.release();
          } catch (error const&) {
            failed_ = true;
          }
        }} {}
  [[nodiscard]] bool holds() const { return token_ != 0; }
  [[nodiscard]] std::int64_t token() const { return token_; }
  [[nodiscard]] bool failed() const { return failed_; }
  void leave() {
    thread_.request_stop();
    thread_.join();
  }

 private:
  std::atomic<std::int64_t> token_ = 0;
  std::atomic<bool> failed_ = false;
  std::jthread thread_;
};

}  // namespace holdfast::test
