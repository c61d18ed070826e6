#include "script/compare.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "resp/command.hpp"

namespace holdfast::scripting {
namespace {

/// The beginnings, or parts, of errors of a server that doesn't do it. All of them come before any effect.
constexpr std::array<std::string_view, 9> unsuited_words{"NOPERM",
                                                         "OOM ",
                                                         "unknown command",
                                                         "unknown subcommand",
                                                         "syntax error",
                                                         "permissions",
                                                         "wrong number of arguments",
                                                         "can't run this command",
                                                         "Unknown or disabled command"};

/// A key that holds another type: WRONGTYPE, and what Redis's DELEX says of a hash.
constexpr std::array<std::string_view, 2> other_type_words{"WRONGTYPE", "Key should be of string type"};

template <std::size_t N>
bool has_any(std::string_view text, std::array<std::string_view, N> const& words) noexcept {
  return std::ranges::any_of(words, [text](auto word) { return text.find(word) != std::string_view::npos; });
}

}  // namespace

void append_delete_if(std::string& out, dialect native, std::string_view key, std::string_view value) {
  switch (native) {
    case dialect::redis:
      resp::append_command(out, {"DELEX", key, "IFEQ", value});
      return;
    case dialect::valkey:
      resp::append_command(out, {"DELIFEQ", key, value});
      return;
    case dialect::tair:
      resp::append_command(out, {"CAD", key, value});
      return;
    case dialect::none:
      return;
  }
}

void append_expire_if(std::string& out, dialect native, std::string_view key, std::string_view value,
                      std::string_view ttl_ms) {
  append_set_if(out, native, key, value, value, ttl_ms);
}

void append_set_if(std::string& out, dialect native, std::string_view key, std::string_view expected,
                   std::string_view value, std::string_view ttl_ms) {
  std::vector<std::string_view> words;
  if (native == dialect::tair) {
    words = {"CAS", key, expected, value};
  } else {
    words = {"SET", key, value, "IFEQ", expected};
  }
  if (!ttl_ms.empty()) words.insert(words.end(), {"PX", ttl_ms});
  resp::append_command(out, words);
}

compared read_compared(resp::reply const& reply) noexcept {
  switch (reply.type) {
    case resp::kind::integer:
      if (reply.integer > 0) return compared::done;
      return reply.integer < 0 ? compared::gone : compared::differs;
    case resp::kind::text:
      return reply.is_text("OK") ? compared::done : compared::failed;
    case resp::kind::nil:
      return compared::differs;
    case resp::kind::error:
      if (has_any(reply.text, other_type_words)) return compared::other;
      return has_any(reply.text, unsuited_words) ? compared::unsuited : compared::failed;
    case resp::kind::array:
      break;
  }
  return compared::failed;
}

}  // namespace holdfast::scripting
