/// Histories written by hand, for the judge: docs/history.md.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "judge/judge.hpp"

namespace holdfast::test {

/// Lines of one file. Times are milliseconds.
class written_history {
 public:
  explicit written_history(std::string path) : path_{std::move(path)} {}

  /// Of a client, which has this name as its uuid.
  written_history& header(std::string_view client, int at = 0, std::string_view boot = "b1", int version = 1,
                          int wall = 1'000'000) {
    return add(R"({"e":"client","t":)" + ns(at) + R"(,"c":")" + std::string{client} + R"(","v":)" +
               std::to_string(version) + R"(,"host":"h","boot":")" + std::string{boot} +
               R"(","pid":7,"name":"n","label":"","wall":)" + ns(wall + at) +
               R"(,"uncertainty":0,"recheck":1000,"reply_timeout":2000})");
  }
  written_history& asked(int at, std::string_view client, int wait, std::string_view kind,
                         std::string_view name, std::string_view more = {}) {
    return add(begin("asked", at, client) + number("w", wait) + lock(kind, name) + R"(,"ttl":10000)" +
               std::string{more} + '}');
  }
  /// The lease has the number of the wait, and is valid for 9 s.
  written_history& granted(int at, std::string_view client, int wait, std::string_view kind,
                           std::string_view name, std::int64_t token, std::string_view more = {},
                           int valid = 9000) {
    return add(begin("granted", at, client) + number("w", wait) + number("l", wait) + lock(kind, name) +
               number("number", wait) + number("token", token) + R"(,"until":)" + ns(at + valid) +
               R"(,"ttl":10000)" + std::string{more} + '}');
  }
  /// A lease that was another one before, with its number.
  written_history& granted_instead(int at, std::string_view client, int number_of_both, int lease,
                                   std::string_view kind, std::string_view name, std::int64_t token) {
    return add(begin("granted", at, client) + number("w", 0) + number("l", lease) + lock(kind, name) +
               number("number", number_of_both) + number("token", token) + R"(,"until":)" + ns(at + 9000) +
               R"(,"ttl":10000})");
  }
  written_history& taken(int at, std::string_view client, int wait, std::string_view kind,
                         std::string_view name, int token = 0) {
    return add(begin("taken", at, client) + number("w", wait) + lock(kind, name) + number("number", wait) +
               number("token", token) + '}');
  }
  written_history& renewed(int at, std::string_view client, int lease, int valid = 9000) {
    return add(begin("renewed", at, client) + number("l", lease) + R"(,"until":)" + ns(at + valid) + '}');
  }
  /// An event of a wait or a lease alone.
  written_history& of_wait(std::string_view event, int at, std::string_view client, int wait) {
    return add(begin(event, at, client) + number("w", wait) + '}');
  }
  written_history& of_lease(std::string_view event, int at, std::string_view client, int lease,
                            std::string_view more = {}) {
    return add(begin(event, at, client) + number("l", lease) + std::string{more} + '}');
  }
  written_history& lost(int at, std::string_view client, int lease, std::string_view cause) {
    return of_lease("lost", at, client, lease, R"(,"cause":")" + std::string{cause} + '"');
  }
  written_history& numbered(std::string_view event, int at, std::string_view client, std::string_view kind,
                            std::string_view name, int n) {
    return add(begin(event, at, client) + lock(kind, name) + number("n", n) + '}');
  }
  written_history& trouble(int at, std::string_view client, std::string_view why = "moved") {
    return add(begin("trouble", at, client) + R"(,"why":")" + std::string{why} + "\"}");
  }
  /// Each half second.
  written_history& alive(int from, int to, std::string_view client) {
    for (auto at = from; at <= to; at += 500) add(begin("alive", at, client) + R"(,"up":1})");
    return *this;
  }
  written_history& away(int at, std::string_view client) {
    return add(begin("alive", at, client) + R"(,"up":0})");
  }
  written_history& unheard(int at, std::string_view client) {
    return add(begin("alive", at, client) + R"(,"up":1,"heard":0})");
  }
  written_history& closed(int at, std::string_view client) { return add(begin("closed", at, client) + '}'); }
  written_history& add(std::string line) {
    text_ += line + '\n';
    return *this;
  }

  [[nodiscard]] std::string& text() noexcept { return text_; }
  /// Writes the file, whose path is the result.
  [[nodiscard]] std::string const& written() const {
    std::ofstream{path_} << text_;
    return path_;
  }

 private:
  static std::string ns(int ms) { return std::to_string(ms) + "000000"; }
  static std::string number(std::string_view key, std::int64_t value) {
    return ",\"" + std::string{key} + "\":" + std::to_string(value);
  }
  static std::string begin(std::string_view event, int at, std::string_view client) {
    return R"({"e":")" + std::string{event} + R"(","t":)" + ns(at) + R"(,"c":")" + std::string{client} + '"';
  }
  static std::string lock(std::string_view kind, std::string_view name) {
    return R"(,"kind":")" + std::string{kind} + R"(","names":[")" + std::string{name} + "\"]";
  }

  std::string path_;
  std::string text_;
};

/// "S1 S1 L3": what was broken, or "fine"; with what was documented behind a bar.
inline std::string verdict_on(std::vector<std::string> const& paths,
                              judging::options const& tolerances = {}) {
  judging::judge all{paths, tolerances};
  all.run();
  auto const words = [](judging::findings const& found) {
    std::string text;
    found.for_each_promise([&](judging::promise broken, std::size_t count, judging::finding const&) {
      for (auto n = count; n != 0; --n)
        text += (text.empty() ? "" : " ") + std::string{judging::word_of(broken)};
    });
    return text.empty() ? "fine" : text;
  };
  auto const documented = words(all.result().documented);
  return words(all.result().violations) + (documented == "fine" ? "" : " | " + documented);
}

}  // namespace holdfast::test
