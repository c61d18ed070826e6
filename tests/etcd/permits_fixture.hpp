/// What the tests of permits have in common.
#pragma once

#include "clients_of_etcd.hpp"
#include "support/failure_of.hpp"

#include <holdfast/client.hpp>
#include <holdfast/expiring_semaphore.hpp>

#include <atomic>
#include <stop_token>
#include <string>
#include <thread>

namespace holdfast::test {

class etcd_permits : public clients_of_etcd {
 protected:
  etcd_permits() : clients_of_etcd{"permits", "permit-"} {}

  client third_ = another();
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
