#include "sync/shared_counter.hpp"

#include <utility>

#include "engine/failure.hpp"
#include "scripts/redisson_number.hpp"
#include "sync/options_check.hpp"

namespace holdfast::sync {

void check_length(std::string_view kind, std::string const& name) {
  auto const a_kind = "a " + std::string{kind};
  check(!name.empty(), a_kind + " needs a name: it is empty");
  check(name.size() <= longest_name,
        "the name of " + a_kind + " has at most 65536 bytes, not " + std::to_string(name.size()));
}

void check_name(std::string_view kind, std::string const& name) {
  check_length(kind, name);
  check_redisson_name(name);
}

void check_number(std::string_view quantity, std::string const& name, std::int64_t number, std::int64_t least,
                  std::int64_t most) {
  check(number >= least && number <= most, std::string{quantity} + " \"" + name + "\" must be from " +
                                               std::to_string(least) + " to " + std::to_string(most) +
                                               ", not " + std::to_string(number));
}

shared_counter::shared_counter(std::shared_ptr<engine::core> core, std::string name,
                               std::string_view expected, std::string channel, std::string marks)
    : expected_{expected}, channel_{std::move(channel)} {
  auto prefix = marks.empty() ? names::redisson::suffixed(name, "holdfast_done:") : std::move(marks);
  state_ = std::make_shared<shared_state>(
      shared_state{.core = std::move(core), .name = std::move(name), .prefix = std::move(prefix)});
}

std::optional<std::int64_t> shared_counter::read() {
  auto const response = ask(scripts::redisson_number::read{.counter = {name()}, .description = expected_}());
  if (response.reply.is_nil()) return std::nullopt;
  return response.reply.integer;
}

bool shared_counter::try_set(std::int64_t number, std::int64_t message) {
  return change(scripts::redisson_number::try_set{.counter = {name()},
                                                  .done = {},
                                                  .answered = {},
                                                  .number = number,
                                                  .message = message,
                                                  .publish = publish(),
                                                  .channel = channel_,
                                                  .done_ms = idempotency_marks::kept_ms,
                                                  .description = expected_}) == 1;
}

net::response shared_counter::ask(call const& script) {
  auto response = state_->core->requests().ask_until_ready(script, {.while_down = net::retry_policy::moving});
  state_->check(response);
  return response;
}

void shared_counter::shared_state::check(net::response const& response) const {
  if (!response.reply.is_error()) return;
  auto const reason = engine::explain(response.reply.text, name, core->constants());
  // A script that looks at the key has looked for the effect of an earlier copy before.
  if (!response.resent || reason->code() == errc::wrong_type) throw error{*reason};
  throw error{errc::unreachable, std::string{reason->what()} +
                                     "; the connection broke, and an earlier copy of the request may have "
                                     "been carried out: look before you try again"};
}

shared_counter::request_marks::request_marks(shared_state& of)
    : own{of.prefix + of.core->constants().uuid + ":r" + std::to_string(next_request_number())},
      answered{of.answered.take_answered()} {}

std::int64_t shared_counter::shared_state::settle(net::response const& response, request_marks&& of) {
  if (response.reply.integer == 0) {
    for (auto& key : of.answered) answered.add_answered(std::move(key));
  } else if (!response.resent) {
    answered.add_answered(std::move(of.own));
  }
  return response.reply.integer;
}

}  // namespace holdfast::sync
