/// When a request that the server wasn't ready for is sent again.
#pragma once

#include <algorithm>
#include <chrono>
#include <holdfast/options.hpp>
#include <optional>
#include <random>

#include "base/backoff.hpp"
#include "base/clock.hpp"
#include "base/ids.hpp"
#include "engine/failure.hpp"
#include "net/pipeline.hpp"

namespace holdfast::engine {

/// Decides it for one request of which a second copy has no effect. No I/O, no clock.
class readiness {
 public:
  /// After each refusal that passes (LOADING, BUSY…), for at most reply_timeout + connect_timeout after the
  /// first one.
  explicit readiness(client_options const& options)
      : limit_{options.reply_timeout + options.connect_timeout} {}
  /// Until `end`, after failures, too, and after each refusal but one about what the key holds.
  explicit readiness(time_point end)
      : insists_{true}, between_{std::chrono::milliseconds{200}, std::chrono::seconds{5}}, end_{end} {}

  /// When the next copy is sent; nullopt: this response is the outcome. It tells of all copies then whether
  /// an earlier one may have been carried out.
  [[nodiscard]] std::optional<time_point> next_copy(net::response& response, time_point now) {
    resent_ = resent_ || response.resent;
    response.resent = resent_;
    if (!(insists_ ? may_succeed(response) : is_refused_for_now(response))) return std::nullopt;
    if (!insists_) end_ = std::min<time_point>(end_, now + limit_);
    if (now >= end_) return std::nullopt;
    return std::min<time_point>(now + between_.next(random_), end_);
  }

 private:
  [[nodiscard]] static bool is_refused_for_now(net::response const& response) noexcept {
    return !response.failure && response.reply.is_error() && is_transient(response.reply.text);
  }
  [[nodiscard]] static bool may_succeed(net::response const& response) noexcept {
    if (response.failure) return response.failure->code() != errc::closed;
    if (!response.reply.is_error()) return false;
    auto const code = first_word(response.reply.text);
    return code != "MISFIT" && code != "WRONGTYPE";
  }

  bool insists_ = false;
  std::chrono::milliseconds limit_{};
  std::minstd_rand random_{static_cast<std::minstd_rand::result_type>(random_seed())};
  backoff between_{std::chrono::milliseconds{20}, std::chrono::milliseconds{200}};
  time_point end_ = time_point::max();
  bool resent_ = false;
};

}  // namespace holdfast::engine
