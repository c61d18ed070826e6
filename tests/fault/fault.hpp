/// What the fault tests share: a server, a network in between, and ways to say which request is meant.
#pragma once

#include "support/eventually.hpp"
#include "support/flaky_proxy.hpp"
#include "support/judge.hpp"
#include "support/redis_server.hpp"
#include "support/rounds.hpp"
#include "support/unhurried.hpp"
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

  [[nodiscard]] std::vector<std::string> residue() {
    std::vector<std::string> left;
    for (auto& key : raw_.keys()) {
      if (!outlives_locks(key)) left.push_back(std::move(key));
    }
    return left;
  }
  /// A request that was under way when its caller left may come between two looks, and is taken back when it
  /// is answered.
  [[nodiscard]] bool comes_clean() {
    if (eventually([this] { return residue().empty() && residue().empty(); })) return true;
    for (auto const& key : residue())
      ADD_FAILURE() << "left behind: " << key << " with ttl " << raw_.pttl(key);
    return false;
  }

  redis_server server_;
  raw_redis raw_ = server_.raw();
};

/// A waiting acquisition; see what came of it.
class waiter {
 public:
  explicit waiter(exclusive_lock& m, std::stop_token stop = {}) {
    m.async_acquire(
        [state = state_](std::optional<lease> got, std::exception_ptr failure) {
          std::scoped_lock const hold{state->guard};
          state->got = std::move(got);
          state->failure = std::move(failure);
          state->done = true;
        },
        std::move(stop));
  }
  [[nodiscard]] bool done() const { return state_->done; }
  lease take() {
    std::scoped_lock const hold{state_->guard};
    if (state_->failure) std::rethrow_exception(state_->failure);
    return state_->got ? *std::exchange(state_->got, std::nullopt) : lease{};
  }

 private:
  struct state {
    std::mutex guard;
    std::atomic<bool> done = false;
    std::optional<lease> got;
    std::exception_ptr failure;
  };
  std::shared_ptr<state> state_ = std::make_shared<state>();
};

/// What a failing call said.
struct failure {
  std::error_code code{};
  std::string what{};

  [[nodiscard]] bool says(std::string_view text) const { return what.find(text) != std::string::npos; }
  friend std::ostream& operator<<(std::ostream& out, failure const& f) {
    return out << f.code << ": " << f.what;
  }
};

template <class F>
failure failure_of(F f) {
  try {
    f();
  } catch (error const& e) {
    return {e.code(), e.what()};
  }
  return {};
}

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
    std::vector<std::string> some;
    for (auto const& [l, line] : lines_->all) {
      if (l == level) some.push_back(line);
    }
    return some;
  }

 private:
  struct lines {
    std::mutex guard;
    std::vector<std::pair<log_level, std::string>> all;
  };
  std::shared_ptr<lines> lines_ = std::make_shared<lines>();
};

/// Takes a lock that replicas have to acknowledge: again, where they take longer than the second that they
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

/// What can become of one request.
struct harm {
  char const* title;
  fate what;
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

/// What a request is, apart from its arguments: its name, and which script it runs.
inline std::string kind_of(request const& r) {
  return r.name == "EVALSHA" && r.words.size() > 1 ? r.words[1] : r.name;
}

/// The requests that acquire, renew and release, as the library happens to send them: learned by watching it.
struct operations {
  std::string acquire;
  std::string renew;
  std::string release;
};

inline operations learn(redis_server const& server) {
  flaky_proxy proxy{server.socket_path()};
  client redis{proxy.url()};
  mutex m{redis, "learning", {.ttl = 10s, .renew_every = 30ms}};
  operations found;
  for (auto round = 0; round < 2; ++round) {  // the first teaches the server the scripts
    proxy.forget();
    auto mine = m.acquire();
    found.acquire = kind_of(proxy.requests().back());
    proxy.forget();
    EXPECT_TRUE(eventually([&] { return proxy.requests().size() >= 2; }));
    found.renew = kind_of(proxy.requests().back());
    mine.release();
    found.release = kind_of(proxy.requests().back());
  }
  return found;
}

}  // namespace holdfast::test
