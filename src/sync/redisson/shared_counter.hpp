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

namespace holdfast::sync::redisson {

/// As many as Java can count.
inline constexpr std::int64_t most_permits = 2'147'483'647;

/// What is expected under the name, in errors.
inline constexpr std::string_view permits_of_a_semaphore = "the number of permits of a semaphore";
inline constexpr std::string_view count_of_a_latch = "the count of a latch";

/// The channel of both kinds of semaphore, for their recipes.
[[nodiscard]] std::vector<std::string> semaphore_channels(std::string_view name, std::string_view owner);

/// Throws std::errc::invalid_argument for a name that is empty, too long, or whose braces don't fit.
void check_name(std::string_view kind, std::string const& name);

/// Throws std::errc::invalid_argument unless least <= number <= most; `what`: "the permits to release to".
void check_number(std::string_view what, std::string const& name, std::int64_t number, std::int64_t least,
                  std::int64_t most);

/// Asks and changes the number, beside the engine. All throw when the server can't be asked, and what it
/// refuses. For any thread.
class shared_counter {
 public:
  shared_counter(std::shared_ptr<engine::core> core, std::string name, std::string_view what,
                 std::string channel);

  [[nodiscard]] std::string const& name() const noexcept { return name_; }
  [[nodiscard]] std::string const& channel() const noexcept { return channel_; }
  /// How scripts tell those who listen to it.
  [[nodiscard]] std::string_view publish() const { return engine::word_of(core_->publishing_now()); }

  /// Nothing when there is none.
  [[nodiscard]] std::optional<std::int64_t> read();
  /// Unless there is one. Those who wait are told `message`.
  bool try_set(std::int64_t number, std::int64_t message);

  /// Any script.
  net::response ask(call const& what);

  /// One that has a note `done` and clears away the `answered` ones, which are filled in here. It replies 0
  /// when it changed nothing.
  template <class Script>
  std::int64_t change(Script script) {
    auto note = names::redisson::done(name_, core_->uuid() + ":r" + std::to_string(next_request()));
    auto answered = notes_.take_answered();
    script.done = {note};
    for (auto const& one : answered) script.answered.push_back({one});
    auto const how = ask(script());  // when this throws, what was to be cleared away goes with its hour
    if (how.reply.integer == 0) {
      for (auto& one : answered) notes_.add_answered(std::move(one));
    } else if (!how.resent) {
      notes_.add_answered(std::move(note));
    }
    return how.reply.integer;
  }

 private:
  std::shared_ptr<engine::core> core_;
  std::string name_;
  std::string_view what_;
  std::string channel_;
  idempotency_marks notes_;
};

}  // namespace holdfast::sync::redisson
