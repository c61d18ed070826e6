/// A request that comes through a proxy, and what becomes of it.
#pragma once

#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::test {

/// One request as the proxy received it.
struct request {
  std::string name{};                ///< upper case: "EVALSHA"
  std::vector<std::string> words{};  ///< with the name
  int connection = 0;                ///< counts from 1

  /// Whether `text` is one of the words, such as a script's SHA-1.
  [[nodiscard]] bool has(std::string_view text) const {
    return std::find(words.begin(), words.end(), text) != words.end();
  }
};

/// What the proxy does with one request.
struct fate {
  enum class kind {
    pass,
    answer,         ///< the server never gets it; the client gets `text`
    rewrite,        ///< the server gets `text`, another command with one reply, in its place
    cut_before,     ///< the connection ends; the server never gets the request
    cut_after,      ///< the server gets and runs it; the connection ends before the reply
    swallow,        ///< the server never gets it, and the connection stays silent from now on
    swallow_reply,  ///< the server gets and runs it, and the connection stays silent from now on
    delay_reply,    ///< this reply and the later ones are delayed by `delay`
    keep,           ///< this and all later requests of the connection are kept: see deliver()
    hold_back,      ///< the same, and the connection ends for the client; delivered after `delay`, if set
  };
  kind type = kind::pass;
  std::string text{};
  std::chrono::milliseconds delay{};

  static fate pass() { return {}; }
  static fate answer(std::string line) { return {kind::answer, std::move(line), {}}; }
  static fate rewrite(std::string command) { return {kind::rewrite, std::move(command), {}}; }
  static fate error(std::string refusal) { return answer("-" + std::move(refusal) + "\r\n"); }
  static fate cut_before() { return {kind::cut_before, {}, {}}; }
  static fate cut_after() { return {kind::cut_after, {}, {}}; }
  static fate swallow() { return {kind::swallow, {}, {}}; }
  static fate swallow_reply() { return {kind::swallow_reply, {}, {}}; }
  static fate keep() { return {kind::keep, {}, {}}; }
  static fate hold_back() { return {kind::hold_back, {}, std::chrono::milliseconds::max()}; }
  static fate hold_back(std::chrono::milliseconds delay) { return {kind::hold_back, {}, delay}; }
  static fate delay_reply(std::chrono::milliseconds delay) { return {kind::delay_reply, {}, delay}; }
};

}  // namespace holdfast::test
