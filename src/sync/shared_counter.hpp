/// The number under the name of a semaphore or latch.
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <holdfast/move_only_function.hpp>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "engine/core.hpp"
#include "script/names_redisson.hpp"
#include "sync/async_answer.hpp"
#include "sync/idempotency_marks.hpp"

namespace holdfast::sync {

/// The greatest int of Java.
inline constexpr std::int64_t most_permits = 2'147'483'647;

/// The type of key that errors name as expected.
inline constexpr std::string_view permits_of_a_semaphore = "the number of permits of a semaphore";
inline constexpr std::string_view count_of_a_latch = "the count of a latch";

/// Throws std::errc::invalid_argument for a name that is empty, or too long.
void check_length(std::string_view kind, std::string const& name);

/// The same, also for a name with unusable braces.
void check_name(std::string_view kind, std::string const& name);

/// Throws std::errc::invalid_argument unless least <= number <= most; `quantity`: "the permits to release
/// to".
void check_number(std::string_view quantity, std::string const& name, std::int64_t number, std::int64_t least,
                  std::int64_t most);

/// Reads and changes the number, outside the engine. All functions throw when the server can't be reached or
/// refuses. For any thread.
class shared_counter {
 public:
  /// `marks`: what the names of its marks begin with; empty: as on Redisson's wire.
  shared_counter(std::shared_ptr<engine::core> core, std::string name, std::string_view expected,
                 std::string channel, std::string marks = {});

  [[nodiscard]] std::string const& name() const noexcept { return state_->name; }
  [[nodiscard]] std::string const& channel() const noexcept { return channel_; }
  /// The command with which scripts publish on the channel.
  [[nodiscard]] std::string_view publish() const { return engine::word_of(state_->core->publishing_now()); }

  /// nullopt when there is no number.
  [[nodiscard]] std::optional<std::int64_t> read();
  /// Sets the number unless there is one. Publishes `message` to the waiters.
  bool try_set(std::int64_t number, std::int64_t message);

  /// Runs any script of which a second copy has no effect. While the server isn't ready it is sent again, for
  /// a bounded time. Throws errc::unreachable also when it was refused behind a copy that may have been
  /// carried out.
  net::response ask(call const& script);

  /// Runs a script that sets a mark `done` and deletes the `answered` marks; both are filled in here. The
  /// reply is 0 when the script changed nothing.
  template <class Script>
  std::int64_t change(Script script) {
    request_marks own{*state_};
    own.put_into(script);
    return state_->settle(ask(script()), std::move(own));  // when asking throws, they expire after their hour
  }
  /// How long a change is tried that nobody waits for.
  enum class effort : std::uint8_t {
    usual,    ///< as by ask()
    insists,  ///< also through an outage and refusals, while a mark of an earlier copy is there for certain
  };
  /// The same without waiting. This object may be destroyed meanwhile.
  template <class Script>
  void async_change(Script script,
                    move_only_function<void(std::optional<std::int64_t>, std::exception_ptr)> done,
                    effort how = effort::usual) {
    request_marks own{*state_};
    own.put_into(script);
    auto read = [state = state_, own = std::move(own)](net::response const& response) mutable {
      state->check(response);
      return state->settle(response, std::move(own));
    };
    auto handler = reading<std::int64_t>(std::move(read), std::move(done));
    auto& calls = state_->core->async_server_calls();
    if (how == effort::insists) {
      calls.insist(script(), std::move(handler),
                   boot_clock::now() + std::chrono::minutes{idempotency_marks::kept} / 2);
    } else {
      calls.ask_until_ready(script(), std::move(handler), {.while_down = net::retry_policy::moving});
    }
  }

 private:
  struct request_marks;

  /// What requests need that outlive this object.
  struct shared_state {
    std::shared_ptr<engine::core> core;
    std::string name;
    std::string prefix;  ///< of the marks
    idempotency_marks answered{};

    /// Throws unless the script has run.
    void check(net::response const& response) const;
    [[nodiscard]] std::int64_t settle(net::response const& response, request_marks&& of);
  };

  /// The marks of one request.
  struct request_marks {
    explicit request_marks(shared_state& of);
    /// They must outlive the making of the call.
    template <class Script>
    void put_into(Script& script) const {
      script.done = {own};
      for (auto const& key : answered) script.answered.push_back({key});
    }
    std::string own;
    std::vector<std::string> answered;
  };

  std::shared_ptr<shared_state> state_;
  std::string_view expected_;
  std::string channel_;
};

}  // namespace holdfast::sync
