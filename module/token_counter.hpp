/// The token counter of a lock of the plain wire, as scripts/include/take_tokens.lua has it.
#pragma once

#include "request.hpp"

#include <cstdint>
#include <optional>

namespace holdfast::server {

class token_counter {
 public:
  explicit token_counter(request& call) : call_{call} {}

  enum class state { sound, other_type, no_number };
  /// Before tokens are taken.
  [[nodiscard]] state look();
  /// It was lost, and is what the INCR of a fast request made of it: years behind the clock.
  [[nodiscard]] bool is_remade() const { return last_ && *last_ < 100'000'000'000'000; }
  /// As busy_reply.lua has it: it lasts a day.
  void mend() {
    if (is_remade()) key_->expire_at(call_.after(day));
  }
  /// As last_given() in scripts/shared/acquire.lua: one that was given half a day ago lasts for a day from
  /// now.
  void keep() {
    if (last_ && call_.now_us() - *last_ > day / 2 * 1000) key_->expire_at(call_.after(day));
  }
  /// Nothing: the server can't write it.
  [[nodiscard]] std::optional<token_block> take(std::int64_t wanted);
  /// The last token that was given; nothing where none is known.
  [[nodiscard]] std::optional<std::int64_t> last() const { return last_; }

 private:
  static constexpr std::int64_t day = 86'400'000;
  /// One that lives for longer isn't told again to live for a day, which costs more than to ask how long it
  /// does.
  static constexpr std::int64_t most_of_a_day = day - 3'600'000;

  request& call_;
  std::optional<stored_key> key_{};  ///< opened when it is needed: a release without waiters needs none
  std::optional<std::int64_t> last_{};
};

}  // namespace holdfast::server
