/// A client whose requests are said as a server allows.
#pragma once

#include "script/translator.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "resp/command.hpp"
#include "script/runner.hpp"
#include "scripts/exclusive.hpp"
#include "scripts/fair.hpp"
#include "scripts/permits.hpp"

namespace holdfast::scripting::translator_test {

namespace lua = scripts::exclusive;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;
using kind = net::meaning::kind;

inline resp::reply nil() { return {}; }

/// The reply to COMMAND INFO of a server that has these commands.
inline resp::reply info_of(std::vector<std::string_view> const& names) {
  std::vector<resp::reply> all;
  auto const probe = probe_of(script_trial::unwanted);
  auto const asked = resp::arguments_of(probe.bytes);
  for (std::size_t i = 2; i < asked.size() && asked[i] != "TIME"; ++i) {
    if (asked[i].starts_with('*')) break;
    all.push_back(std::ranges::find(names, asked[i]) == names.end()
                      ? nil()
                      : array_reply({text_reply(std::string{asked[i]}), integer_reply(-3), array_reply({}),
                                     integer_reply(1), integer_reply(1), integer_reply(1)}));
  }
  return array_reply(std::move(all));
}

/// A client, and one server of it.
class translating : public testing::Test {
 protected:
  void connect(std::vector<std::string_view> const& commands, command_translator::choice choice = {},
               bool scripts = true) {
    translator_ = std::make_unique<command_translator>(choice, lua::abandon::source, counts_,
                                                       [this](log_level level, std::string const& text) {
                                                         if (level == log_level::warning)
                                                           warnings_.push_back(text);
                                                       });
    std::vector<resp::reply> replies{info_of(commands), array_reply({text_reply("1000"), text_reply("5")})};
    if (choice.scripts == script_trial::wanted)
      replies.push_back(
          scripts ? integer_reply(1)
                  : error_reply("NOPERM User default has no permissions to run the 'eval' command"));
    server_ = translator_->learn(replies);
  }

  static net::request release() {
    return to_run(lua::release{.lock = {"orders"},
                               .counter = {"{orders}:holdfast_token"},
                               .queue = {"{orders}:holdfast_queue"},
                               .owner = "me",
                               .starvation_us = 100'000,
                               .grant_ms = 2'000,
                               .publish = "PUBLISH"}(),
                  {});
  }
  static net::request acquire() {
    return to_run(lua::acquire{.lock = {"orders"},
                               .counter = {"{orders}:holdfast_token"},
                               .queue = {"{orders}:holdfast_queue"},
                               .owner = "me",
                               .ttl_ms = 30'000,
                               .tokens = 65,
                               .mode = "join",
                               .ticket = ""}(),
                  {});
  }
  static net::request renew() {
    return to_run(lua::renew{.locks = {{"orders"}}, .ttl_ms = 30'000, .owners = {"me"}}(), {});
  }
  static net::request take_permit() {
    return to_run(scripts::permits::acquire{.lock = {"orders"},
                                            .counter = {"{orders}:holdfast_token"},
                                            .queue = {"{orders}:holdfast_permit_queue"},
                                            .size = {"{orders}:holdfast_permits"},
                                            .owner = "me",
                                            .amount = 1,
                                            .ttl_ms = 30'000,
                                            .offered = 3,
                                            .mode = "join",
                                            .ticket = "",
                                            .waited_us = 0,
                                            .grant_ms = 2'000,
                                            .publish = "PUBLISH"}(),
                  {});
  }
  /// The command, or the first of several.
  static std::string words_of(net::exchange const& now) {
    std::string all;
    for (auto const word : resp::arguments_of(now.bytes)) all.append(all.empty() ? "" : " ").append(word);
    return all;
  }
  net::exchange begin(net::request const& request, bool resent) {
    net::exchange now;
    server_->begin(request, resent, now);
    return now;
  }
  net::meaning read(net::request const& request, net::exchange const& now, std::vector<resp::reply> replies,
                    bool resent = false) {
    return server_->read(request, now, replies, resent);
  }

  client_stats counts_;
  std::vector<std::string> warnings_;
  std::unique_ptr<command_translator> translator_;
  std::unique_ptr<net::translation> server_;
};

}  // namespace holdfast::scripting::translator_test
