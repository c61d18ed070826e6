/// A request and its answer, as the routes of `holdfast serve` see them. No I/O.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::cli {

/// Bytes that several connections may send at the same time.
using shared_text = std::shared_ptr<std::string const>;

struct http_request {
  std::string method{};
  std::string path{};   ///< as it was sent, without the query
  std::string query{};  ///< what follows the `?`
  std::map<std::string, std::string, std::less<>>
      headers{};  ///< by names in lower case; of several the last, of hosts none
  std::string body{};
  std::string peer{};         ///< the address of the client; "unix" for a socket in the file system
  std::string certificate{};  ///< whose the certificate of the client is, which was verified; empty: none was
                              ///< asked for
  bool secure = false;        ///< it came over TLS

  void set_target(std::string_view target);
  void add_header(std::string_view name, std::string_view value);
  /// Empty: there is none.
  [[nodiscard]] std::string_view header(std::string_view name) const;
  /// A parameter of the query, decoded. Nullopt: there is none, or it isn't well-formed.
  [[nodiscard]] std::optional<std::string> parameter(std::string_view name) const;
  /// The value of a cookie; empty: there is none.
  [[nodiscard]] std::string_view cookie(std::string_view name) const;
};

/// Of ASCII's letters.
[[nodiscard]] std::string in_lower_case(std::string_view text);

/// `%41` becomes `A`, `+` a space. Nullopt for a % that two hexadecimal digits don't follow.
[[nodiscard]] std::optional<std::string> percent_decoded(std::string_view text);

struct http_response {
  int status = 200;
  std::string_view type = "application/json";
  shared_text body{};  ///< empty: none
  std::vector<std::pair<std::string, std::string>> headers{};
  std::chrono::milliseconds after{};  ///< it is held back for so long
  /// The connection stays, and gets all events that are published after this one. Nullopt: it is an answer.
  std::optional<std::uint64_t> events_after{};
  /// Of such a connection: whether its client still may have events. Asked in the thread of the server;
  /// empty: it may for ever.
  std::function<bool()> allowed{};
};

[[nodiscard]] http_response answer_with(std::string text, std::string_view type = "application/json");
/// An object with `error`, a text.
[[nodiscard]] http_response refuse(int status, std::string_view why);

/// Headers of all answers: a page of ours loads nothing from elsewhere, runs no script but its own, and isn't
/// shown inside another one.
[[nodiscard]] std::span<std::pair<std::string_view, std::string_view> const> safe_headers() noexcept;

/// Takes the answer to a request, from any thread, once.
using responder = std::function<void(http_response)>;
/// Called in the thread of the server; it must not wait.
using http_handler = std::function<void(http_request const&, responder)>;

}  // namespace holdfast::cli
