#include "script/runner.hpp"

#include <utility>

namespace holdfast::scripting {
namespace {

std::string encode(std::size_t parts, std::string_view verb, std::string_view script, std::string_view tail) {
  std::string bytes;
  bytes.reserve(script.size() + tail.size() + 48);
  resp::append_array_header(bytes, parts);
  resp::append_bulk(bytes, verb);
  resp::append_bulk(bytes, script);
  bytes += tail;
  return bytes;
}

/// EVALSHA to EVAL: the header stays, the verb and the SHA-1 make way for the text.
std::string in_full(std::string const& bytes, void const* what) {
  auto const& source = *static_cast<script const*>(what);
  auto const header = bytes.find('\n') + 1;
  auto const tail = bytes.find(source.sha1) + source.sha1.size() + 2;
  std::string result{bytes, 0, header};
  resp::append_bulk(result, "EVAL");
  resp::append_bulk(result, source.text);
  result.append(bytes, tail);
  return result;
}

}  // namespace

net::request to_run(call const& what, callback<void(net::response&&)> done, send_options how) {
  return {.bytes = encode(what.parts, "EVALSHA", what.source->sha1, what.tail),
          .done = std::move(done),
          .in_full = in_full,
          .script = what.source,
          .while_down = how.while_down,
          .give_up = how.give_up,
          .divisible = how.divisible,
          .key = {.from_end =
                      static_cast<std::uint32_t>(what.tail.size() - what.first_key_end + what.first_key_size),
                  .size = static_cast<std::uint32_t>(what.first_key_size)}};
}

}  // namespace holdfast::scripting
