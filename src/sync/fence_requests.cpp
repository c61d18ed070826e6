#include "sync/fence_requests.hpp"

#include "base/hash_slot.hpp"
#include "base/quoted.hpp"
#include "base/whole_number.hpp"
#include "engine/failure.hpp"
#include "script/names.hpp"
#include "scripts/fence.hpp"
#include "sync/options_check.hpp"

#include <string>
#include <utility>

namespace holdfast::sync {
namespace {

/// The number of arguments that Lua can pass to a command is limited.
constexpr std::size_t most_arguments = 4000;

}  // namespace

void fence_requests::check(fence_token token) const {
  sync::check(token.value() > 0, "a fencing token is greater than 0, but the one for " +
                                     quoted(of_.resource) + " is " + std::to_string(token.value()));
}

std::string fence_requests::new_done() const {
  return names::fence_done(of_.resource, of_.core->constants().uuid, next_request_number());
}

/// Throws the error that corresponds to the server's error reply.
void fence_requests::refuse(net::response const& response, std::string_view command,
                            std::string_view key) const {
  auto const& text = response.reply.text;
  auto const subject = std::string{of_.core->constants().url} + ": " + std::string{command} + " of the key " +
                       quoted(key) + ", fenced by " + quoted(of_.resource) + ", ";
  auto const warning = response.resent
                           ? "; the connection broke, and an earlier copy of the request may have been "
                             "carried out: look before you try again"
                           : "";
  if (response.reply.is_error("WRONGTYPE")) {
    throw error{errc::wrong_type, subject + "was not carried out: the key holds another type (" + text +
                                      "); choose another key, or delete it if nothing needs it" + warning};
  }
  if (engine::about_rights(text)) {
    throw error{response.resent ? errc::unreachable : errc::unauthorized,
                subject + "is not allowed: " + text +
                    "; a fence needs the rights +eval +evalsha and, inside its scripts, +get "
                    "+set +del +" +
                    std::string{command} + "; keys ~" + std::string{key} + " ~" + of_.mark + "*" + warning};
  }
  auto const advice = engine::advice_for(text);
  throw error{response.resent ? errc::unreachable : errc::refused,
              subject + "was refused by the server: " + text + (advice.empty() ? "" : "; ") +
                  std::string{advice} + warning};
}

void fence_requests::refuse_mark() const {
  throw error{errc::wrong_type, of_.core->constants().url + ": the key " + quoted(of_.mark) +
                                    " of the fence " + quoted(of_.resource) +
                                    " holds no token: something else uses it; delete it if nothing needs it, "
                                    "or choose another name for the resource"};
}

fence_result fence_requests::read(net::response const& response, std::string_view command,
                                  std::string_view key) const {
  if (response.reply.is_error("BADMARK")) refuse_mark();
  if (response.reply.is_error()) refuse(response, command, key);
  return response.reply.integer == 1 ? fence_result::written : fence_result::refused_stale;
}

void fence_requests::check(fence_token token, std::string_view command, std::string_view key,
                           std::span<std::string_view const> arguments) const {
  check(token);
  sync::check(!command.empty() && !key.empty(),
              "a write fenced by " + quoted(of_.resource) + " needs a command and a key: one is empty");
  sync::check(
      of_.core->constants().slot_of(key) == of_.core->constants().slot_of(of_.mark),
      "the key " + quoted(key) + " and the fence " + quoted(of_.resource) +
          " are in different slots of the cluster, which changes them together only in one: give both "
          "the same tag, as in " +
          quoted("{" + std::string{hash_tag(of_.resource)} + "}" + std::string{key}));
  sync::check(key != of_.mark, quoted(key) + " is the mark of the fence itself: write to another key");
  sync::check(arguments.size() <= most_arguments, "a write fenced by " + quoted(of_.resource) +
                                                      " has at most 4000 arguments, not " +
                                                      std::to_string(arguments.size()));
}

/// The request of a checked write, which leaves the mark `done`.
call fence_requests::write(fence_token token, std::string_view command, std::string_view key,
                           std::span<std::string_view const> arguments, std::string_view done) {
  check(token, command, key, arguments);
  auto const answered = request_marks_.take_answered();  // when this fails, they expire after their hour
  scripts::fence::write script{.mark = {of_.mark},
                               .target = {key},
                               .done = {done},
                               .answered = {},
                               .token = token.value(),
                               .remember_ms = of_.remember_ms,
                               .done_ms = idempotency_marks::kept_ms,
                               .command = command,
                               .rest = {}};
  for (auto const& other : answered) script.answered.push_back({other});
  for (auto const argument : arguments) script.rest.emplace_back(argument);
  return script();
}

fence_result fence_requests::written(net::response const& response, std::string_view command,
                                     std::string_view key, std::string done) {
  auto const result = read(response, command, key);
  if (!response.resent) request_marks_.add_answered(std::move(done));
  return result;
}

call fence_requests::claim(fence_token token) const {
  check(token);
  return scripts::fence::claim{.mark = {of_.mark}, .token = token.value(), .remember_ms = of_.remember_ms}();
}

std::int64_t fence_requests::newest(net::response const& response) const {
  if (response.reply.is_nil()) return 0;
  if (response.reply.is_error("WRONGTYPE")) refuse_mark();
  if (response.reply.is_error()) refuse(response, "GET", of_.mark);
  auto const token = whole_number(response.reply.text);
  if (!token) refuse_mark();
  return *token;
}

}  // namespace holdfast::sync
