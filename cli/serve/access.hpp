/// Who may ask `holdfast serve` for what: tokens, sessions of browsers, and requests that another page has
/// made a browser send. No I/O but the random numbers.
#pragma once

#include "serve/http_message.hpp"
#include "serve/token_tries.hpp"

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::cli {

/// Where a browser sends a token.
constexpr std::string_view login_path = "/api/v1/login";

struct named_token {
  std::string user{};
  std::string token{};
};

/// The lines of a file: USER TOKEN, or one TOKEN alone, whose user is "admin"; a # that begins a word begins
/// a comment. Throws failure, with `place`, for another line, and a token of less than 16 characters.
[[nodiscard]] std::vector<named_token> read_tokens(std::string_view text, std::string_view place);

/// Who asks.
struct visitor {
  std::string user{};  ///< by token, or by certificate; empty: nobody has to say who it is
  std::string csrf{};  ///< what a page of ours sends with an act; empty: not a browser
};

/// Not thread-safe.
class access_control {
 public:
  using time = std::chrono::nanoseconds;  ///< of any steady clock

  /// `hosts`: further names by which browsers may call this server.
  access_control(std::vector<named_token> tokens, std::vector<std::string> hosts);

  /// Refuses a request that isn't for us (DNS rebinding), or that the page of another site has sent. Nullopt:
  /// it is fine.
  [[nodiscard]] std::optional<http_response> check_origin(http_request const& request) const;
  /// Nullopt: the request has neither a token nor a session that is known.
  [[nodiscard]] std::optional<visitor> recognize(http_request const& request, time now);
  /// A session for the browser that sends this token; its cookie, which goes back over TLS only if `secure`.
  /// Nullopt: no such token.
  [[nodiscard]] std::optional<std::string> log_in(http_request const& request, std::string_view token,
                                                  time now);
  /// The cookie that takes the place of the session's.
  std::string log_out(http_request const& request);
  /// Whether an act was sent by a page of ours, or by a program with a token.
  [[nodiscard]] static bool is_meant(http_request const& request, visitor const& by);

  /// 401, and slowly, for a token that is wrong or missing. A wrong one is counted.
  [[nodiscard]] http_response refuse_token(http_request const& request, time now);
  /// 429 for a request with a token, right or wrong, from an address that has sent too many wrong ones: one
  /// that isn't looked at can't be found by trying. Nullopt: it is fine. Sessions go on.
  [[nodiscard]] std::optional<http_response> refuse_to_try(http_request const& request, time now);

  [[nodiscard]] bool asks_for_tokens() const noexcept { return !tokens_.empty(); }
  [[nodiscard]] std::uint64_t wrong_tokens() const noexcept { return wrong_tokens_; }
  /// Those that nobody has looked at.
  [[nodiscard]] std::uint64_t refused_tokens() const noexcept { return refused_tokens_; }

 private:
  struct session {
    std::string id{};
    std::string user{};
    std::string csrf{};
    time ends{};
  };

  [[nodiscard]] named_token const* user_of(std::string_view token) const;
  [[nodiscard]] bool knows_host(std::string_view host) const;

  std::vector<named_token> tokens_;
  std::vector<std::string> hosts_;
  std::deque<session> sessions_{};  ///< the oldest first; a bounded number
  std::string own_csrf_;            ///< where nobody logs in
  token_tries tries_{};
  std::uint64_t wrong_tokens_ = 0;
  std::uint64_t refused_tokens_ = 0;
};

}  // namespace holdfast::cli
