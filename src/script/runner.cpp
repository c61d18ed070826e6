#include "script/runner.hpp"

#include <utility>

namespace holdfast::scripting {
namespace {

/// EVALSHA to EVAL: keeps the header, replaces the verb and the SHA-1 with EVAL and the text.
std::string in_full(std::string const& bytes, void const* script_source) {
  auto const& source = *static_cast<script const*>(script_source);
  auto const header = bytes.find('\n') + 1;
  auto const tail = bytes.find(source.sha1) + source.sha1.size() + 2;
  constexpr std::string_view verb{"EVAL"};
  std::string result;
  result.reserve(header + resp::writer::room_for(verb.size()) + resp::writer::room_for(source.text.size()) +
                 bytes.size() - tail);
  result.append(bytes, 0, header);
  resp::append_bulk(result, verb);
  resp::append_bulk(result, source.text);
  result.append(bytes, tail);
  return result;
}

}  // namespace

net::request to_run(call script, callback<void(net::response&&)> done, send_options send) {
  auto const size = script.bytes.size();
  auto const behind = size - script.first_key_end;
  return {.bytes = std::move(script.bytes),
          .done = std::move(done),
          .in_full = in_full,
          .script = script.source,
          .in_steps = script.in_steps,
          .while_down = send.while_down,
          .give_up = send.give_up,
          .divisible = send.divisible,
          .key = {.from_end = static_cast<std::uint32_t>(behind + script.first_key_size),
                  .size = static_cast<std::uint32_t>(script.first_key_size)},
          .arguments = {.from_end = static_cast<std::uint32_t>(size - script.arguments_begin),
                        .count = static_cast<std::uint32_t>(script.arguments)},
          .role = send.role};
}

net::request to_run(transaction commands, callback<void(net::response&&)> done, send_options send) {
  auto const behind = commands.bytes.size() - commands.first_key_end;
  return {.bytes = std::move(commands.bytes),
          .done = std::move(done),
          .while_down = send.while_down,
          .give_up = send.give_up,
          .never_resend = true,
          .replies = commands.commands,
          .key = {.from_end = static_cast<std::uint32_t>(behind + commands.first_key_size),
                  .size = static_cast<std::uint32_t>(commands.first_key_size)},
          .role = send.role};
}

}  // namespace holdfast::scripting
