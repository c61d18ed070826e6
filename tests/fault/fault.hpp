/// Shared by the fault tests: a server, the network before it, and helpers that identify requests.
#pragma once

#include "support/eventually.hpp"
#include "support/failure_of.hpp"
#include "support/flaky_proxy.hpp"
#include "support/judge.hpp"
#include "support/leftovers.hpp"
#include "support/long_timeouts.hpp"
#include "support/pending.hpp"
#include "support/redis_server.hpp"
#include "support/rounds.hpp"
#include "support/state_of.hpp"
#include "support/worker.hpp"

#include <holdfast/client.hpp>
#include <holdfast/mutex.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::test {

class fault : public testing::Test {
 protected:
  explicit fault(server_options options = {}) : server_{redis_server::with(std::move(options))} {}

  [[nodiscard]] bool nothing_left_behind() { return test::nothing_left_behind(raw_); }

  redis_server server_;
  raw_redis raw_ = server_.raw();
};

/// The lines of a client's log hook.
class log_lines {
 public:
  log_hook hook() {
    return [lines = lines_](log_level level, std::string_view message) {
      std::scoped_lock const hold{lines->guard};
      lines->all.emplace_back(level, message);
    };
  }
  [[nodiscard]] std::vector<std::string> of(log_level level) const {
    std::scoped_lock const hold{lines_->guard};
    std::vector<std::string> matching;
    for (auto const& [line_level, line] : lines_->all) {
      if (line_level == level) matching.push_back(line);
    }
    return matching;
  }

 private:
  struct lines {
    std::mutex guard;
    std::vector<std::pair<log_level, std::string>> all;
  };
  std::shared_ptr<lines> lines_ = std::make_shared<lines>();
};

/// Acquires a lock that replicas must acknowledge. Retries when they take longer than the second that they
/// are given.
inline lease acknowledged(mutex& m) {
  for (auto tries = 20;; --tries) {
    try {
      return m.acquire();
    } catch (error const& e) {
      if (tries == 0 || e.code() != errc::unreplicated) throw;
    }
  }
}

/// A disturbance of one request.
struct harm {
  char const* title;
  fate effect;
};
inline std::vector<harm> const harms{
    {"cut before the server has it", fate::cut_before()},
    {"cut between request and reply", fate::cut_after()},
    {"request swallowed", fate::swallow()},
    {"reply swallowed", fate::swallow_reply()},
    {"reply delayed", fate::delay_reply(250ms)},
    {"reply delayed beyond the time-out", fate::delay_reply(800ms)},
    {"request delivered when the connection is long gone", fate::hold_back(100ms)},
};

/// The kind of a request, without its arguments: the SHA-1 of the script that it runs, or else its name.
inline std::string kind_of(request const& r) {
  return r.name == "EVALSHA" && r.words.size() > 1 ? r.words[1] : r.name;
}

/// The kinds of the requests with which the library acquires, renews and releases by script, as observed on
/// the wire.
struct operations {
  std::string acquire;
  std::string renew;
  std::string release;
};

inline operations learn(redis_server const& server) {
  flaky_proxy proxy{server.socket_path()};
  client redis{proxy.url(), {.cas = cas::lua}};
  mutex m{redis, "learning", {.ttl = 10s, .renew_every = 30ms}};
  operations learned;
  for (auto round = 0; round < 2; ++round) {  // the first loads the scripts into the server
    proxy.forget();
    auto lease = m.acquire();
    learned.acquire = kind_of(proxy.requests().back());
    proxy.forget();
    EXPECT_TRUE(eventually([&] { return proxy.requests().size() >= 2; }));
    learned.renew = kind_of(proxy.requests().back());
    lease.release();
    learned.release = kind_of(proxy.requests().back());
  }
  return learned;
}

}  // namespace holdfast::test
