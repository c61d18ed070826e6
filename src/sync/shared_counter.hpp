/// The number under the name of a semaphore or latch.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "engine/core.hpp"
#include "script/names_redisson.hpp"
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

  [[nodiscard]] std::string const& name() const noexcept { return name_; }
  [[nodiscard]] std::string const& channel() const noexcept { return channel_; }
  /// The command with which scripts publish on the channel.
  [[nodiscard]] std::string_view publish() const { return engine::word_of(core_->publishing_now()); }

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
    auto mark = marks_ + core_->constants().uuid + ":r" + std::to_string(next_request_number());
    auto answered = request_marks_.take_answered();
    script.done = {mark};
    for (auto const& key : answered) script.answered.push_back({key});
    auto const response = ask(script());  // when this throws, the answered marks expire after their hour
    if (response.reply.integer == 0) {
      for (auto& key : answered) request_marks_.add_answered(std::move(key));
    } else if (!response.resent) {
      request_marks_.add_answered(std::move(mark));
    }
    return response.reply.integer;
  }

 private:
  std::shared_ptr<engine::core> core_;
  std::string name_;
  std::string_view expected_;
  std::string channel_;
  std::string marks_;
  idempotency_marks request_marks_;
};

}  // namespace holdfast::sync
